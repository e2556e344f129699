// Core: an open database as the Python objects share it, and how failures become exceptions.
//
// Python's global lock (the GIL) protects the members. Functions that release it say so.
// Thread safety: call the functions with the GIL, unless they say otherwise.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "elider/elider.h"

namespace elider::python {

namespace nb = nanobind;

class Child;

struct Core : std::enable_shared_from_this<Core> {
  ~Core();

  Database db;
  std::string path;          // empty: in memory
  bool open = true;
  bool group = false;        // commits wait for the disk, unless the call says otherwise
  bool keeps_lock = true;    // procedures run without releasing the GIL: threads do not wait for turns
  uint32_t generation = 0;   // of the process, see process_generation()
  int running = 0;           // procedures that are running
  int blocks = 0;            // `with` blocks that are open
  std::atomic<int> unlocked = 0;  // calls that use the database, also without the GIL
  std::mutex mutex;          // protects `children`
  std::set<Child*> children;

  bool forked() const;
};

// An object that must end before its database closes: an open transaction, an iterator, a stream.
class Child {
 public:
  explicit Child(std::shared_ptr<Core> core);
  virtual ~Child();
  virtual void end() noexcept = 0;  // also called by Core, without the mutex
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  std::shared_ptr<Core> core;
};

// Counts the forks before this process. A child process must not use its parent's databases.
uint32_t process_generation();

// Raise an exception unless the database can be used.
void check_open(const Core& core);
// Also raises one if the calling thread is inside a transaction of the database, because an
// operation outside of it would be a transaction of its own. `what` names the operation.
void check_outside(Core& core, const char* what);

// Marks that this thread runs a procedure of the database.
class RunsHere {
 public:
  explicit RunsHere(Core& core);
  ~RunsHere();
  RunsHere(const RunsHere&) = delete;
  RunsHere& operator=(const RunsHere&) = delete;
  static bool inside(const Core& core);

 private:
  Core& core_;
  RunsHere* const outer_;
};

// Marks that a call uses the database, so that Python code that the call runs cannot close it.
class InUse {
 public:
  explicit InUse(Core& core) : core_(core) {
    if (core.forked() || !core.open) [[unlikely]] check_open(core);
    core.unlocked.fetch_add(1, std::memory_order_relaxed);
  }
  ~InUse() { core_.unlocked.fetch_sub(1, std::memory_order_relaxed); }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  Core& core_;
};

// Releases the GIL. The database cannot be closed meanwhile.
class Unlocked {
 public:
  explicit Unlocked(Core& core) : core_(core) { core.unlocked.fetch_add(1); state_ = PyEval_SaveThread(); }
  ~Unlocked() {
    PyEval_RestoreThread(state_);
    core_.unlocked.fetch_sub(1);
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  Core& core_;
  PyThreadState* state_;
};

// The context variable that holds the transaction of the innermost `with` block.
nb::object block_variable();

struct Place {  // what an error concerns; empty members are unknown
  std::string_view table = {}, column = {}, index = {};
  nb::handle key = {};  // as the program knows it
};
// Raise the exception of a status, or of an argument that is refused here.
[[noreturn]] void raise(const Status& status, const Place& place = {});
[[noreturn]] void raise(Code code, const std::string& message, const Place& place = {});
inline void check(const Status& status, const Place& place = {}) {
  if (!status.ok()) [[unlikely]] raise(status, place);
}
// Raises what Python code has raised meanwhile: Ctrl-C.
void check_signals();
std::string shown(nb::handle object);         // never raises
std::string type_text(nb::handle object);    // "int"
inline nb::object steal(PyObject* object) {
  if (object == nullptr) [[unlikely]] throw nb::python_error();
  return nb::steal(object);
}

// Waits for the disk if `durability`, or else the database, asks for it.
void settle(Core& core, SnapshotNumber number, Durability durability);
Durability durability_of(nb::handle name);  // None: kDefault

}  // namespace elider::python
