// The member functions of Database and Engine that concern procedures. All engines share them.
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "engine/engine.h"
#include "txn/any_table.h"

namespace elider {

namespace detail {
namespace {

Status refuse_installation(const ProcedureDefinition& procedure, std::string why) {
  return Status::invalid_argument("procedure '" + procedure.name + "' " + std::move(why));
}

// Performs the checks that do not depend on other procedures.
Status check(const ProcedureDefinition& procedure) {
  if (procedure.name.empty()) return Status::invalid_argument("a procedure needs a name");
  const bool in_operations = !procedure.operations.empty();
  if (!procedure.body && !in_operations) return refuse_installation(procedure, "does not have a body");
  if (procedure.body && in_operations) return refuse_installation(procedure, "has a body and operations; it can have only one of them");
  if (procedure.read_only && in_operations)
    return refuse_installation(procedure, "has operations, which declare whether it only reads, so it cannot be marked read_only()");
  return {};
}

}  // namespace

Engine::~Engine() = default;

Status Engine::install(std::vector<ProcedureDefinition> procedures, const InstallOptions& options, chopping::Plan* plan) {
  const std::lock_guard lock(install_mutex_);
  std::vector<ProcedureDefinition*> in_operations;
  for (size_t i = 0; i < procedures.size(); ++i) {
    ProcedureDefinition& procedure = procedures[i];
    if (Status status = check(procedure); !status.ok()) return status;
    bool taken = procedures_.find(procedure.name) != nullptr;
    for (size_t before = 0; before < i; ++before) taken = taken || procedures[before].name == procedure.name;
    if (taken) return refuse_installation(procedure, "is already installed, or the set contains two procedures of this name");
    if (!procedure.operations.empty()) in_operations.push_back(&procedure);
  }
  std::unique_ptr<txn::Execution> execution;
  if (!in_operations.empty()) {
    if (execution_made_ != nullptr)
      return refuse_installation(*in_operations.front(),
                                 "has operations, but procedures with operations are already installed; install all of them in one "
                                 "call");
    execution = std::make_unique<txn::Execution>();
    if (Status status = txn::make_execution(in_operations, tables(), options, execution.get()); !status.ok()) return status;
    for (const TableRef& table : tables())
      if (static_cast<const txn::AnyTable&>(*table.base()).has_new_index() &&
          !txn::procedure_that_uses(*execution, table.base()->id()).empty())
        return refuse_installation(*in_operations.front(), "or another procedure of the set declares table '" + table.schema().name +
                                                               "', of which an index is being created; install it when create_index() "
                                                               "has returned");
    if (const ElisionPolicy* const policy = elision()) txn::add_sites(*policy, execution.get());
  }
  std::vector<std::unique_ptr<const InstalledProcedure>> installed;
  size_t position = 0;
  for (ProcedureDefinition& procedure : procedures) {
    auto one = std::make_unique<InstalledProcedure>();
    if (!procedure.operations.empty()) one->pieces = &execution->procedures[position++];
    one->id = procedure_id(procedure.name);
    one->its = std::move(procedure);
    installed.push_back(std::move(one));
  }
  if (execution != nullptr) {
    if (plan != nullptr) *plan = execution->plan;
    execution_made_ = std::move(execution);
    execution_.store(execution_made_.get(), std::memory_order_release);
  } else if (plan != nullptr) {
    *plan = {};
  }
  procedures_.add(std::move(installed));
  return {};
}

std::vector<ProcedureInfo> Engine::procedures() const {
  const std::lock_guard lock(install_mutex_);
  std::vector<ProcedureInfo> all;
  for (const auto& procedure : procedures_.all()) {
    const ProcedureDefinition& its = procedure->its;
    all.push_back({its.name, its.parameters, its.results, its.takes_values || its.make_arguments != nullptr, procedure->pieces != nullptr,
                   procedure->on_snapshot()});
  }
  return all;
}

Status Engine::refuse_call(const ProcedureName& name) const {
  if (name.identity == 0) return Status::invalid_argument("the handle does not name a procedure; use one that Procedures::add() returned");
  constexpr size_t kNamesMax = 8;
  std::string words = "procedure '" + std::string(interned_name(name.name_id)) + "' of the handle is not installed in this database";
  const std::lock_guard lock(install_mutex_);
  const auto& all = procedures_.all();
  for (size_t i = 0; i < all.size() && i < kNamesMax; ++i) words += (i == 0 ? "; installed are '" : "', '") + all[i]->its.name;
  if (!all.empty()) words += all.size() > kNamesMax ? "' and others" : "'";
  return Status::invalid_argument(std::move(words));
}

Status Engine::call(const InstalledProcedure& procedure, void* arguments, const RunPolicy& policy) {
  RunPolicy named;
  const RunPolicy* its = &policy;
  if (policy.procedure_id == 0) {
    named = policy;
    named.procedure_id = procedure.id;
    its = &named;
  }
  if (procedure.pieces != nullptr) return call_in_pieces(*procedure.pieces, arguments, *its);
  return run([&](Transaction& txn) { return procedure.its.body(txn, arguments); }, *its, procedure.its.read_only);
}

// Converts the arguments of a call by name to the form that the procedure takes.
class NamedArguments {
 public:
  NamedArguments(const InstalledProcedure& procedure, std::span<const Value> values, std::vector<Value>* reply)
      : procedure_(procedure.its), reply_(reply) {
    if (procedure_.takes_values) {
      values_.emplace(values, reply != nullptr ? *reply : unwanted_);
      return;
    }
    made_ = procedure_.make_arguments();
    for (size_t i = 0; i < values.size(); ++i) procedure_.set_parameter[i](made_.get(), values[i]);
  }
  NamedArguments(const NamedArguments&) = delete;
  NamedArguments& operator=(const NamedArguments&) = delete;

  void* get() { return values_ ? static_cast<void*>(&*values_) : made_.get(); }
  // Stores the results in the reply. Called once, after the call has ended.
  void ended(const Status& status) {
    if (reply_ == nullptr) return;
    if (!status.ok()) reply_->clear();
    else if (!values_)
      for (const auto& get : procedure_.get_result) reply_->push_back(get(made_.get()));
  }

 private:
  const ProcedureDefinition& procedure_;
  std::vector<Value>* const reply_;
  std::vector<Value> unwanted_;
  std::optional<Values> values_;
  std::shared_ptr<void> made_;
};

static Status no_procedure(std::string_view name) {
  return Status(Code::kNotFound, "procedure '" + std::string(name) + "' does not exist");
}

}  // namespace detail

Status Database::install(Procedures procedures, const InstallOptions& options, chopping::Plan* plan) {
  if (Status status = refuse_unusable(); !status.ok()) return status;
  return engine_->install(std::move(procedures.all_), options, plan);
}
std::vector<ProcedureInfo> Database::procedures() const {
  return engine_->in_child() ? std::vector<ProcedureInfo>() : engine_->procedures();
}

Status Database::call_any(const detail::ProcedureName& name, void* arguments, const RunPolicy& policy) {
  const detail::InstalledProcedure* const procedure = engine_->find_procedure(name);
  if (procedure == nullptr) [[unlikely]] {
    Status unusable = refuse_unusable();
    return unusable.ok() ? engine_->refuse_call(name) : unusable;
  }
  if (!procedure->its.takes_values) [[likely]] return engine_->call(*procedure, arguments, policy);
  Values& values = *static_cast<Values*>(arguments);
  values.reply.clear();
  Status status = procedure->check(values.arguments);
  if (status.ok()) status = engine_->call(*procedure, arguments, policy);
  if (!status.ok()) values.reply.clear();
  return status;
}

Status Database::call(std::string_view name, std::span<const Value> arguments, std::vector<Value>* reply, const RunPolicy& policy) {
  if (reply != nullptr) reply->clear();
  if (Status status = refuse_unusable(); !status.ok()) return status;
  const detail::InstalledProcedure* const procedure = engine_->find_procedure(name);
  if (procedure == nullptr) return detail::no_procedure(name);
  if (Status status = procedure->check(arguments); !status.ok()) return status;
  detail::NamedArguments its(*procedure, arguments, reply);
  Status status = engine_->call(*procedure, its.get(), policy);
  its.ended(status);
  return status;
}

// -- groups ---------------------------------------------------------------------------------------

// The resolved calls in one call_group(): the procedure and the arguments of each call.
class Database::CallsOfGroup {
 public:
  // May throw std::bad_alloc.
  CallsOfGroup(const detail::Engine& engine, std::span<const ProcedureCall> calls) : engine_(engine), calls_(calls) {
    resolved_.reserve(calls.size());
    for (const ProcedureCall& call : calls) resolved_.push_back(resolve(call));
  }

  std::span<const detail::ResolvedCall> resolved() const { return resolved_; }
  bool any_in_pieces() const { return any_in_pieces_; }
  bool any_by_values() const { return !by_values_.empty(); }
  // Returns the reason why a call was not resolved.
  Status refusal(size_t i) const {
    const ProcedureCall& call = calls_[i];
    const detail::InstalledProcedure* const procedure = find(call);
    if (procedure != nullptr) return procedure->check(call.typed_ != nullptr ? values_of(call).arguments : call.values_);
    return call.typed_ != nullptr ? engine_.refuse_call(call.procedure_) : detail::no_procedure(call.name_);
  }
  // Stores the results of the calls in their replies. `outcomes` has one element per call.
  void ended(std::span<const Status> outcomes) {
    for (ByValues& one : by_values_) {
      if (one.named != nullptr) one.named->ended(outcomes[one.call]);
      else if (!outcomes[one.call].ok()) values_of(calls_[one.call]).reply.clear();
    }
  }

 private:
  // A call by name, or a typed call whose arguments are Values.
  struct ByValues {
    size_t call;
    std::unique_ptr<detail::NamedArguments> named;
  };

  static Values& values_of(const ProcedureCall& call) { return *static_cast<Values*>(call.typed_); }
  const detail::InstalledProcedure* find(const ProcedureCall& call) const {
    return call.typed_ != nullptr ? engine_.find_procedure(call.procedure_) : engine_.find_procedure(call.name_);
  }
  detail::ResolvedCall resolve(const ProcedureCall& call) {
    const detail::InstalledProcedure* const procedure = find(call);
    if (procedure == nullptr) return {};
    void* arguments = call.typed_;
    if (arguments == nullptr) {
      if (!procedure->check(call.values_).ok()) return {};
      by_values_.push_back({resolved_.size(), std::make_unique<detail::NamedArguments>(*procedure, call.values_, call.reply_)});
      arguments = by_values_.back().named->get();
    } else if (procedure->its.takes_values) {
      values_of(call).reply.clear();
      if (!procedure->check(values_of(call).arguments).ok()) return {};
      by_values_.push_back({resolved_.size(), nullptr});
    }
    any_in_pieces_ = any_in_pieces_ || procedure->pieces != nullptr;
    return {procedure, arguments};
  }

  const detail::Engine& engine_;
  const std::span<const ProcedureCall> calls_;
  std::vector<detail::ResolvedCall> resolved_;
  std::vector<ByValues> by_values_;
  bool any_in_pieces_ = false;
};

Status Database::call_group(std::span<const ProcedureCall> calls, std::span<Status> outcomes, const GroupPolicy& policy) {
  const auto refuse = [&](const Status& why) {
    for (Status& outcome : outcomes) outcome = why;
    return why;
  };
  for (const ProcedureCall& call : calls)
    if (call.reply_ != nullptr) call.reply_->clear();
  if (Status status = refuse_unusable(); !status.ok()) return refuse(status);
  std::optional<CallsOfGroup> its;
  std::vector<Status> own;  // the outcomes, if the caller does not request them
  try {
    its.emplace(*engine_, calls);
    if (outcomes.empty() && its->any_by_values()) own.resize(calls.size());
  } catch (const std::bad_alloc&) {
    return refuse(Status(Code::kMemoryLimit, Cause::kMemoryLimit));
  }
  const std::span<Status> all = own.empty() ? outcomes : std::span(own);
  const std::span<const detail::ResolvedCall> resolved = its->resolved();
  const txn::Execution* const execution = its->any_in_pieces() ? engine_->execution() : nullptr;
  const auto touch = [&](size_t i, Touches& touches) {
    const detail::InstalledProcedure& procedure = *resolved[i].procedure;
    if (policy.procedure_id == 0) touches.procedure_id(procedure.id);
    if (procedure.pieces == nullptr) touches.read_only(policy.read_only || procedure.its.read_only);
    if (procedure.its.touch) procedure.its.touch(resolved[i].arguments, touches);
    if (procedure.pieces != nullptr) touches.read_only(procedure.pieces->on_snapshot);
  };
  const auto run = [&](size_t i, Transaction& txn) -> Status {
    const detail::InstalledProcedure& procedure = *resolved[i].procedure;
    if (procedure.pieces != nullptr) return txn::run_whole(txn, *execution, *procedure.pieces, resolved[i].arguments);
    return procedure.its.body(txn, resolved[i].arguments);
  };
  const auto refusal = [&](size_t i) { return its->refusal(i); };
  const FunctionRef<Status(size_t)> refused(refusal);
  Status status = run_calls(detail::GroupCalls{calls.size(), touch, run, all, resolved, execution, &refused}, policy);
  if (all.size() == calls.size()) its->ended(all);
  return status;
}

}  // namespace elider
