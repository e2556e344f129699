// Database's part for chopped procedures, the same for every combination.
#include <atomic>
#include <utility>

#include "engine/engine.h"

namespace elider {

detail::ChoppedHandle ChoppedProcedures::add_any(detail::ProcedureWithBodies procedure) {
  static std::atomic<uint64_t> last_identity{0};
  procedure.identity = last_identity.fetch_add(1) + 1;
  const detail::ChoppedHandle handle{static_cast<uint32_t>(procedures_.size()), intern_name(procedure.declared.name), procedure.identity};
  procedures_.push_back(std::move(procedure));
  return handle;
}

namespace detail {

Status Engine::install(std::vector<ProcedureWithBodies> procedures, const ChoppedOptions& options, chopping::Plan* plan) {
  const std::lock_guard lock(install_mutex_);
  if (installed_ != nullptr)
    return Status::invalid_argument("chopped procedures are already installed; a database installs all of them with one call");
  auto execution = std::make_unique<txn::Execution>();
  if (Status status = txn::make_execution(std::move(procedures), tables(), options, execution.get()); !status.ok()) return status;
  for (txn::ExecutableProcedure& procedure : execution->procedures) procedure.id = procedure_id(procedure.name);
  if (const ElisionPolicy* const policy = elision()) txn::add_sites(*policy, execution.get());
  if (plan != nullptr) *plan = execution->plan;
  installed_ = std::move(execution);
  execution_.store(installed_.get(), std::memory_order_release);
  return {};
}

}  // namespace detail

Status Database::install(ChoppedProcedures procedures, const ChoppedOptions& options, chopping::Plan* plan) {
  if (Status status = refuse_unusable(); !status.ok()) return status;
  return engine_->install(std::move(procedures.procedures_), options, plan);
}

Status Database::run_chopped_call(const detail::AnyChoppedCall& call, const RunPolicy& policy) {
  const txn::Execution* const execution = engine_->execution();
  const txn::ExecutableProcedure* const procedure = execution == nullptr ? nullptr : execution->find(call.procedure);
  if (procedure == nullptr) [[unlikely]] {
    Status unusable = refuse_unusable();
    return unusable.ok() ? txn::refuse_call(execution, call.procedure) : unusable;
  }
  if (policy.procedure_id != 0) return engine_->run_chopped(*procedure, call.arguments, policy);
  RunPolicy named = policy;
  named.procedure_id = procedure->id;
  return engine_->run_chopped(*procedure, call.arguments, named);
}

Status Database::run_chopped_group(std::span<const ChoppedCall> calls, std::span<Status> outcomes, const GroupPolicy& policy) {
  const txn::Execution* const execution = engine_->execution();
  if (execution == nullptr) {
    Status why = refuse_unusable();
    if (why.ok()) why = txn::refuse_call(nullptr, {});
    for (Status& outcome : outcomes) outcome = why;
    return why;
  }
  // Group::add() refuses those that are not installed.
  const auto touch = [&](size_t i, Touches& touches) {
    const txn::ExecutableProcedure& procedure = *execution->find(calls[i].its().procedure);
    if (policy.procedure_id == 0) touches.procedure_id(procedure.id);
    if (procedure.touch) procedure.touch(calls[i].its().arguments, touches);
    touches.read_only(procedure.on_snapshot);
  };
  const auto whole = [&](size_t i, Transaction& txn) {
    return txn::run_whole(txn, *execution, *execution->find(calls[i].its().procedure), calls[i].its().arguments);
  };
  return run_calls(detail::GroupCalls{calls.size(), touch, whole, outcomes, calls, execution}, policy);
}

}  // namespace elider
