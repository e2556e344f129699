// A Procedure is a transaction with a name. Procedures are installed in a database and then called.
//
//   struct Transfer { Key from, to; int64_t cents; int64_t left; };   // arguments, and a result
//
//   elider::Procedures procedures;
//   const elider::ProcedureHandle<Transfer> transfer = procedures.add(
//       elider::Procedure<Transfer>("transfer")
//           .body([=](elider::Transaction& txn, Transfer& call) -> elider::Status { ... })
//           .parameter("from", &Transfer::from)        // these four lines are needed only for
//           .parameter("to", &Transfer::to)            // calls by name
//           .parameter("cents", &Transfer::cents)
//           .result("left", &Transfer::left));
//   elider::Status status = db.install(procedures);
//
//   Transfer call{.from = 1, .to = 2, .cents = 100};
//   status = db.call(transfer, call);                  // a typed call; call.left is the result
//
//   std::vector<elider::Value> arguments = {uint64_t{1}, uint64_t{2}, int64_t{100}}, reply;
//   status = db.call("transfer", arguments, &reply);   // the same by name; reply[0] is `left`
//
// A call is one transaction, as Database::run() runs it. In addition, a procedure has a name for
// statistics, can be called by that name, and can describe to the engine in advance what its calls
// do:
//   - touch() names the rows that a call will access. In a group of calls (Database::call_group),
//     the cache misses of these rows overlap (elider/touches.h, docs/groups.md).
//   - operation(), which is used instead of body(), adds one part of the procedure and declares the
//     tables and columns that this part accesses. Under Protocol::kChopped, a call may then run in
//     pieces (elider/chopping.h, docs/chopping.md). Under other protocols, a call is one
//     transaction. The results are the same.
//
// Bodies. A body is called once per attempt, so it may run several times in one call. A body may
// modify only the transaction and its arguments. It must set its results rather than add to them,
// because an earlier attempt may have left values in them. A body returns a Status or nothing. If
// it returns an error or throws, the call ends and its writes are undone.
//
// Bodies of operations. The bodies of a call share its arguments, and run in an order that respects
// Operation::needs(). In addition to the rules above:
//   - Operations of different pieces have different Transactions, so a body must not keep a
//     reference to its transaction. Views stay valid until the call ends.
//   - No other transaction of the database may begin or commit within an operation
//     (kInvalidArgument). Sequence::next() may need a transaction of its own, so take numbers
//     before the call.
//   - After the piece that orders the call has committed (chopping::Piece::conflicting), a body
//     must not fail, because other calls may have seen the earlier pieces. An operation that may
//     fail declares it with rolls_back(). If a body fails at this point nevertheless, the call
//     returns kCorrupt and the database stops. Later transactions return that error, and no further
//     commit becomes durable. Opening the data folders again restores the state before the call.
//
// Thread safety: Procedure and Procedures belong to one thread. A ProcedureHandle is a value. After
// install(), all threads may call procedures concurrently, so bodies and touch functions must be
// thread-safe. The database keeps copies of these functions until it is closed.
#pragma once

#include "elider/language.h"

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "elider/chopping.h"
#include "elider/status.h"
#include "elider/touches.h"
#include "elider/transaction.h"

namespace elider {

enum class ValueType : uint8_t { kInt64, kUInt64, kDouble, kText };
using Value = std::variant<int64_t, uint64_t, double, std::string>;  // in the order of ValueType
std::string_view name_of(ValueType type);

struct Parameter {
  std::string name;
  ValueType type;
};

// Replaces the argument struct in a Procedure<Values>, whose parameters are known only at run time,
// as in a server or a language binding.
struct Values {
  std::span<const Value> arguments;  // one for each parameter, of its type
  // Empty when a body() begins. The operations of a call share one reply, which is empty when the
  // call begins. Each operation must set its own elements of the reply, even if an earlier attempt
  // has already set them.
  std::vector<Value>& reply;
};

namespace detail {

template <class T>
consteval ValueType value_type_of() {
  if constexpr (std::same_as<T, int64_t>) return ValueType::kInt64;
  else if constexpr (std::same_as<T, uint64_t>) return ValueType::kUInt64;
  else if constexpr (std::same_as<T, double>) return ValueType::kDouble;
  else {
    static_assert(std::same_as<T, std::string>, "a parameter or result must be an int64_t, uint64_t, double or std::string");
    return ValueType::kText;
  }
}

// Identifies the procedure that a handle calls. The identity is unique in this process, so a handle
// cannot call another procedure, which would expect arguments of another type.
struct ProcedureName {
  uint64_t identity = 0;  // 0: none
  uint32_t name_id = 0;   // the id of its name (intern_name), for messages
};

// A type-erased procedure, to which arguments are passed as a void pointer.
struct ProcedureDefinition {
  using Body = std::function<Status(Transaction&, void*)>;

  uint64_t identity = 0;
  std::string name;
  Body body;                                            // empty if the procedure has operations
  std::vector<chopping::Operation> operations;
  std::vector<Body> bodies;                             // one for each operation
  std::function<void(const void*, Touches&)> touch;     // may be empty
  bool read_only = false;
  // The members below are used for calls by name.
  bool takes_values = false;                            // the type is Values
  std::vector<Parameter> parameters, results;
  std::shared_ptr<void> (*make_arguments)() = nullptr;  // if null, the procedure cannot be called by name, unless it takes Values
  std::vector<std::function<void(void*, const Value&)>> set_parameter;
  std::vector<std::function<Value(const void*)>> get_result;
};

}  // namespace detail

// Describes a procedure. Call the functions below, and then add the object to a Procedures object.
// `Arguments` is the struct that a typed call passes, whose members are the parameters and the
// results, or Values.
template <class Arguments>
class Procedure {
  static_assert(std::is_class_v<Arguments>, "the arguments of a procedure must be a struct, or Values");

 public:
  explicit Procedure(std::string name) {
    its_.name = std::move(name);
    its_.takes_values = kValues;
  }

  // Sets the function that a call runs: body(Transaction&, Arguments&).
  template <class Body>
    requires std::is_invocable_v<Body&, Transaction&, Arguments&>
  Procedure& body(Body body) {
    its_.body = erase<kValues>(std::move(body));
    return *this;
  }
  // Adds the next operation and the function that runs it. A procedure has either operations or a
  // body().
  template <class Body>
    requires std::is_invocable_v<Body&, Transaction&, Arguments&>
  Procedure& operation(chopping::Operation declared, Body body) {
    its_.operations.push_back(std::move(declared));
    its_.bodies.push_back(erase<false>(std::move(body)));
    return *this;
  }
  // Runs each call on the newest snapshot, as run_read_only() does. Such a call never conflicts,
  // and its writes are refused. Use read_only() only with body(), because the declarations of
  // operations already say whether they write.
  Procedure& read_only() {
    its_.read_only = true;
    return *this;
  }
  // Sets touch(const Arguments&, Touches&), which names the rows that a call in a group will
  // access, as far as the keys follow from the arguments. Database::call() does not run touch(). If
  // touch() throws, the call does not run and fails with kProcedureThrew.
  template <class Touch>
    requires std::is_invocable_v<const Touch&, const Arguments&, Touches&>
  Procedure& touch(Touch touch) {
    its_.touch = [touch = std::move(touch)](const void* call, Touches& touches) { touch(*static_cast<const Arguments*>(call), touches); };
    return *this;
  }

  // -- calls by name ------------------------------------------------------------------------------

  // parameter() adds the next parameter, and result() adds the next element of the reply. Both take
  // a member of type int64_t, uint64_t, double or std::string. A call by name begins with
  // value-initialized arguments, sets the parameters, and copies the results into the reply. A
  // procedure without parameters and results can be called only through its handle.
  template <class T>
  Procedure& parameter(std::string name, T Arguments::*member) {
    its_.parameters.push_back({std::move(name), detail::value_type_of<T>()});
    its_.set_parameter.push_back([member](void* call, const Value& value) { static_cast<Arguments*>(call)->*member = std::get<T>(value); });
    its_.make_arguments = make;
    return *this;
  }
  template <class T>
  Procedure& result(std::string name, T Arguments::*member) {
    its_.results.push_back({std::move(name), detail::value_type_of<T>()});
    its_.get_result.push_back([member](const void* call) -> Value { return static_cast<const Arguments*>(call)->*member; });
    its_.make_arguments = make;
    return *this;
  }
  // Adds the next parameter of a Procedure<Values>. The reply of such a procedure may have any
  // number of elements of any ValueType.
  Procedure& parameter(std::string name, ValueType type)
    requires std::same_as<Arguments, Values>
  {
    its_.parameters.push_back({std::move(name), type});
    return *this;
  }

 private:
  friend class Procedures;
  static constexpr bool kValues = std::same_as<Arguments, Values>;

  template <bool kClearsReply, class Body>
  static detail::ProcedureDefinition::Body erase(Body body) {
    return [body = std::move(body)](Transaction& txn, void* arguments) mutable -> Status {
      Arguments& call = *static_cast<Arguments*>(arguments);
      if constexpr (kClearsReply) call.reply.clear();
      if constexpr (std::is_void_v<std::invoke_result_t<Body&, Transaction&, Arguments&>>) return body(txn, call), Status();
      else return body(txn, call);
    };
  }
  static std::shared_ptr<void> make() { return std::make_shared<Arguments>(); }

  detail::ProcedureDefinition its_;
};

// Names a procedure for Database::call and ProcedureCall. The handle is valid in each database in
// which the Procedures object that returned it, or a copy of that object, was installed. In every
// other database, a call through the handle returns kInvalidArgument without running anything.
template <class Arguments>
class ProcedureHandle {
 public:
  ProcedureHandle() = default;  // an empty handle

 private:
  friend class Procedures;
  friend class Database;
  friend class ProcedureCall;
  explicit ProcedureHandle(const detail::ProcedureName& its) : its_(its) {}
  detail::ProcedureName its_;
};

// A set of procedures to install.
class Procedures {
 public:
  // Accepts any procedure; Database::install() checks it later.
  template <class Arguments>
  ProcedureHandle<Arguments> add(Procedure<Arguments> procedure) {
    return ProcedureHandle<Arguments>(add_any(std::move(procedure.its_)));
  }

 private:
  friend class Database;
  detail::ProcedureName add_any(detail::ProcedureDefinition procedure);
  std::vector<detail::ProcedureDefinition> all_;
};

// What Database::procedures returns for each installed procedure.
struct ProcedureInfo {
  std::string name;
  std::vector<Parameter> parameters, results;  // for calls by name
  bool by_name = false;                        // the procedure can be called by name
  bool in_operations = false;                  // the procedure has operations
  bool read_only = false;                      // calls run on a snapshot
};

// One call in a group, for Database::call_group. The caller owns the arguments and the reply, which
// must live until call_group() returns. Two calls in a group must not share arguments or a reply,
// unless no body modifies them.
class ProcedureCall {
 public:
  // A typed call.
  template <class Arguments>
  ProcedureCall(ProcedureHandle<Arguments> procedure, Arguments& arguments) : procedure_(procedure.its_), typed_(&arguments) {}
  // A call by name. `reply` may be null.
  ProcedureCall(std::string_view name, std::span<const Value> arguments, std::vector<Value>* reply = nullptr)
      : name_(name), values_(arguments), reply_(reply) {}

 private:
  friend class Database;
  detail::ProcedureName procedure_;
  void* typed_ = nullptr;  // null for a call by name
  std::string_view name_;
  std::span<const Value> values_;
  std::vector<Value>* reply_ = nullptr;
};

// Options for procedures with operations. Procedures with a body ignore these options.
struct InstallOptions {
  // The techniques that the analysis may use (elider/chopping.h). Deferral is off by default. If it
  // is on, a call that conflicts with a deferring procedure returns only after the deferred effects
  // that the call may depend on have become visible, and this wait costs more than most conflicts.
  chopping::Choices choices = {.deferring = false};
  // Applies only with choices.deferring. If true, a call that has seen the immediate effects of a
  // deferring call does not wait for the deferred effects. Calls are then serializable, but not
  // strictly serializable, even within one thread, because a later call may miss the deferred
  // effects and is then ordered before the earlier call. Read-only and ordinary transactions that
  // begin after the call has returned see the deferred effects. If the deferred effects fail, the
  // database stops, and the call that has already returned is not durable. Default: off.
  bool answers_at_once = false;
  // Compares every access with its operation's declaration. An undeclared access returns
  // kInvalidArgument, and the message names the procedure, the operation, the table and the column.
  // Default: only in builds with assertions.
  bool check_accesses = false;
  // Under Protocol::kChopped, a call is one commit unless it conflicts with another call. After a
  // conflict, the call is retried piece by piece. If conflicts are frequent, the thread's next
  // calls begin piece by piece as well. If this option is set, every call commits piece by piece.
  // This option is for tests. Default: off.
  bool always_in_pieces = false;
};

}  // namespace elider
