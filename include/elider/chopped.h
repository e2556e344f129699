// Chopped procedures with bodies: what elider/chopping.h declares and analyzes, to be installed in
// a database and called (DBX-TC).
//
//   struct Transfer { Key from, to; int64_t cents; int64_t left; };   // arguments and results
//
//   ChoppedProcedures procedures;
//   const Chopped<Transfer> transfer = procedures.add(
//       ChoppedProcedure<Transfer>("transfer")
//           .operation(Operation("names").reads("account", {"name"}).rolls_back(), names)
//           .operation(Operation("balances").reads("account", {"cents"})
//                                           .writes("account", {"cents"}), move_money)
//           .operation(Operation("journal").inserts("journal").fresh().needs({"balances"}), note));
//   Status status = db->install(procedures);
//   ...
//   Transfer call{.from = 1, .to = 2, .cents = 100};
//   status = db->run_chopped(transfer, call);
//
// A body is called as body(Transaction&, Call&) and returns a Status, or nothing. It may be called
// several times: it must begin from what the operations before it have left in the Call, and
// overwrite its own results rather than add to them. What it reads stays valid until the call ends;
// an update by a view that another operation has read looks the row up again.
// Under Protocol::kChopped pieces may commit one by one, and operations of different pieces then
// have different Transactions; a body must keep no reference to one. Under the other protocols the
// whole call is one transaction. Results are the same.
//
// Within a body no other transaction of the database may begin or commit (kInvalidArgument), which
// taking a number from a Sequence may need, too: take what is needed before the call.
//
// Until the piece that orders the call has committed (chopping::Piece::conflicting), a body that
// returns an error or throws ends the call, and nothing of it took effect. Behind it a body must
// succeed, for other calls have seen what came before: declare what may fail with rolls_back(). If
// it fails all the same, the database stops: every later transaction gets that error, and nothing
// more becomes durable, so that opening its folders again finds the state before the call.
//
// Thread safety: ChoppedProcedures belongs to one thread until it is installed; bodies are called
// by all threads at once.
#pragma once

#include "elider/language.h"

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "elider/chopping.h"
#include "elider/status.h"
#include "elider/touches.h"
#include "elider/transaction.h"

namespace elider {

namespace detail {
// Which procedure a Chopped names. The identity is the procedure's own in this process, and never
// 0; so neither a handle of another set nor one of another type runs it.
struct ChoppedHandle {
  uint32_t position = ~uint32_t{0};  // in its set
  uint32_t name_id = 0;              // for messages (intern_name)
  uint64_t identity = 0;             // 0: it names no procedure
};
struct ProcedureWithBodies {
  uint64_t identity = 0;
  chopping::Procedure declared;
  std::vector<std::function<Status(Transaction&, void*)>> bodies;  // by operation
  std::function<void(const void*, Touches&)> touch;                // or none
};
// A call of some procedure, and its Call.
struct AnyChoppedCall {
  ChoppedHandle procedure;
  void* arguments;
};
}  // namespace detail

template <class Call>
class ChoppedProcedure {
 public:
  explicit ChoppedProcedure(std::string name) { its_.declared.name = std::move(name); }
  // The next operation, and its body.
  template <class Body>
    requires std::is_invocable_v<Body&, Transaction&, Call&>
  ChoppedProcedure& operation(chopping::Operation declared, Body body) {
    its_.declared.operations.push_back(std::move(declared));
    its_.bodies.emplace_back([body = std::move(body)](Transaction& txn, void* call) mutable -> Status {
      if constexpr (std::is_void_v<std::invoke_result_t<Body&, Transaction&, Call&>>) return body(txn, *static_cast<Call*>(call)), Status();
      else return body(txn, *static_cast<Call*>(call));
    });
    return *this;
  }
  // What a call will look at, as far as its arguments tell (elider/touches.h): for
  // Database::run_chopped_group. Called as touch(const Call&, Touches&), by all threads at once; it
  // may give the call another procedure_id. Whether the call only reads, the declaration says.
  template <class Touch>
    requires std::is_invocable_v<const Touch&, const Call&, Touches&>
  ChoppedProcedure& touches(Touch touch) {
    its_.touch = [touch = std::move(touch)](const void* call, Touches& touched) { touch(*static_cast<const Call*>(call), touched); };
    return *this;
  }

 private:
  friend class ChoppedProcedures;
  detail::ProcedureWithBodies its_;
};

// A procedure that was added, for Database::run_chopped. It may be called in each database in which
// its set, or a copy of that, is installed; other databases refuse it.
template <class Call>
class Chopped {
 public:
  Chopped() = default;  // none

 private:
  friend class ChoppedProcedures;
  friend class Database;
  friend class ChoppedCall;
  explicit Chopped(const detail::ChoppedHandle& handle) : handle_(handle) {}
  detail::ChoppedHandle handle_;
};

// A procedure and what it is called with, whatever the type: one of many, for
// Database::run_chopped_group. The Call lives until that returns.
class ChoppedCall {
 public:
  template <class Call>
  ChoppedCall(Chopped<Call> procedure, Call& call) : its_{procedure.handle_, &call} {}
  const detail::AnyChoppedCall& its() const { return its_; }  // for the engine

 private:
  detail::AnyChoppedCall its_;
};

// All procedures that change the tables that they name.
class ChoppedProcedures {
 public:
  template <class Call>
  Chopped<Call> add(ChoppedProcedure<Call> procedure) {
    return Chopped<Call>(add_any(std::move(procedure.its_)));
  }

 private:
  friend class Database;
  detail::ChoppedHandle add_any(detail::ProcedureWithBodies procedure);
  std::vector<detail::ProcedureWithBodies> procedures_;
};

struct ChoppedOptions {
  // Deferral is off by default. With it, a call that conflicts with a deferring procedure answers
  // only once the deferred effects that it may build on have appeared. That costs more than most
  // conflicts do.
  chopping::Choices choices = {.deferring = false};
  // Where choices.deferring: a call that has seen what a deferring call did at once does not wait
  // until that one's deferred effects have appeared. Calls are then serializable, but not strictly,
  // not even those of one thread: a later call that reads deferred effects may miss these, and is
  // ordered before the earlier one. Read-only and ordinary transactions that begin after the answer
  // see them. Should the deferred effects fail, and the database stop, the answer stays given, and
  // is not durable.
  bool answers_at_once = false;
  // Whether every access is compared with what its operation declares: one that is not declared is
  // kInvalidArgument, and the message names procedure, operation, table and column. In builds with
  // assertions it always is.
  bool check_accesses = false;
  // Under Protocol::kChopped a call is one commit until it meets another; then it commits piece by
  // piece, and where calls meet often, so do the next ones of its thread. This way every call does.
  bool always_in_pieces = false;
};

}  // namespace elider
