#include "python/src/core.h"

#include <pthread.h>

namespace elider::python {

namespace {

std::atomic<uint32_t> forks{1};
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
thread_local RunsHere* innermost = nullptr;

nb::object errors() { return nb::module_::import_("elider._errors"); }

const char* class_of(Code code) {
  switch (code) {
    case Code::kNotFound: return "NotFound";
    case Code::kDuplicateKey: return "DuplicateKey";
    case Code::kConflict: return "Conflict";
    case Code::kInvalidArgument: return "InvalidArgument";
    case Code::kSchemaMismatch: return "SchemaMismatch";
    case Code::kMemoryLimit: return "MemoryLimit";
    case Code::kDeadline: return "Deadline";
    case Code::kRolledBack: return "RolledBack";
    case Code::kUnsupported: return "Unsupported";
    case Code::kFinished: return "Finished";
    case Code::kIoError: return "IoError";
    case Code::kCorrupt: return "Corrupt";
    default: return "Error";
  }
}

nb::object text(std::string_view bytes) {
  if (bytes.empty()) return nb::none();
  return steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "backslashreplace"));
}

[[noreturn]] void raise_as(const char* name, const std::string& message, const Place& place, nb::object key, Cause cause, bool retry) {
  nb::object error = errors().attr(name)(text(message));
  error.attr("table") = text(place.table);
  error.attr("column") = text(place.column);
  error.attr("index") = text(place.index);
  error.attr("key") = key;
  error.attr("cause") = cause == Cause::kNone ? nb::none() : text(name_of(cause));
  error.attr("retry") = retry;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

}  // namespace

uint32_t process_generation() { return forks.load(std::memory_order_relaxed); }

bool Core::forked() const { return generation != process_generation(); }

Core::~Core() {
  // A child process leaves its parent's database alone. This may run without the GIL, when the last
  // owner is a stream.
  if (forked()) new Database(std::move(db));
}

Child::Child(std::shared_ptr<Core> its_core) : core(std::move(its_core)) {
  const std::lock_guard lock(core->mutex);
  core->children.insert(this);
}

Child::~Child() {
  const std::lock_guard lock(core->mutex);
  core->children.erase(this);
}

void check_open(const Core& core) {
  if (core.forked()) [[unlikely]]
    raise_as("Forked",
             "the database was opened before fork(), so this child process cannot use it. Open it after the fork, or start processes "
             "with multiprocessing's \"spawn\" method",
             {}, nb::none(), Cause::kNone, false);
  if (!core.open) [[unlikely]] raise_as("Closed", "the database is closed", {}, nb::none(), Cause::kNone, false);
}

nb::object block_variable() {
  static PyObject* const variable = nb::module_::import_("contextvars").attr("ContextVar")("elider_block").release().ptr();
  return nb::borrow(variable);
}

void check_outside(Core& core, const char* what) {
  check_open(core);
  bool inside = RunsHere::inside(core);
  if (!inside && core.blocks > 0) [[unlikely]] {
    nb::object block = block_variable().attr("get")(nb::none());
    inside = !block.is_none() && nb::cast<bool>(block.attr("_is_of")(reinterpret_cast<uintptr_t>(&core)));
  }
  if (inside) [[unlikely]]
    raise(Code::kInvalidArgument, std::string(what) +
                                      " was called inside a transaction of this database, but would be a transaction of its own. "
                                      "Use the transaction: txn[table], or txn.get(table, key) and the like");
}

RunsHere::RunsHere(Core& core) : core_(core), outer_(innermost) { innermost = this, ++core.running; }
RunsHere::~RunsHere() { innermost = outer_, --core_.running; }
bool RunsHere::inside(const Core& core) {
  for (const RunsHere* run = innermost; run != nullptr; run = run->outer_)
    if (&run->core_ == &core) return true;
  return false;
}

void raise(const Status& status, const Place& place) {
  Place where = place;
  if (where.table.empty()) where.table = status.table();
  nb::object key = nb::none();
  if (where.key.is_valid()) key = nb::borrow(where.key);
  else if (status.has_key_bytes()) key = nb::bytes(status.key_bytes().data(), status.key_bytes().size());
  else if (status.has_key()) key = steal(PyLong_FromUnsignedLongLong(status.key()));
  std::string message = status.message();
  if (where.key.is_valid() && !status.has_key()) {
    message += " (";
    if (!where.table.empty() && message.find("'" + std::string(where.table) + "'") == std::string::npos)
      message += "table '" + std::string(where.table) + "', ";
    message += "key " + shown(where.key) + ")";
  }
  raise_as(class_of(status.code()), message, where, key, status.cause(), status.retryable());
}

void raise(Code code, const std::string& message, const Place& place) { raise(Status(code, message), place); }

void check_signals() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

std::string shown(nb::handle object) {
  PyObject* const words = PyObject_Repr(object.ptr());
  if (words == nullptr) return PyErr_Clear(), "<" + type_text(object) + ">";
  nb::object owned = nb::steal(words);
  Py_ssize_t size = 0;
  const char* const utf8 = PyUnicode_AsUTF8AndSize(words, &size);
  if (utf8 == nullptr) return PyErr_Clear(), "<" + type_text(object) + ">";
  std::string result(utf8, static_cast<size_t>(size));
  return result.size() > 100 ? result.substr(0, 100) + "..." : result;
}

std::string type_text(nb::handle object) { return nb::cast<std::string>(object.type().attr("__name__")); }

void settle(Core& core, SnapshotNumber number, Durability durability) {
  const bool waits = durability == Durability::kDefault ? core.group : durability == Durability::kGroup;
  if (!waits) return;
  Status status;
  {
    const Unlocked unlocked(core);
    status = core.db.wait_durable(number);
  }
  check(status);
}

Durability durability_of(nb::handle name) {
  if (!name.is_valid() || name.is_none()) return Durability::kDefault;
  Durability durability = Durability::kDefault;
  if (!nb::isinstance<nb::str>(name) || !parse(nb::cast<std::string>(name), &durability) || durability == Durability::kDefault)
    raise(Code::kInvalidArgument, "durability must be \"none\", \"async\" or \"group\", not " + shown(name));
  return durability;
}

}  // namespace elider::python
