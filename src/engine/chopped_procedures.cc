// Database's part for chopped procedures, the same for every combination.
#include <utility>

#include "engine/engine.h"

namespace elider {

namespace detail {

Status Engine::install(std::vector<ProcedureWithBodies> procedures, const ChoppedOptions& options, chopping::Plan* plan) {
  const std::lock_guard lock(install_mutex_);
  if (installed_ != nullptr)
    return Status::invalid_argument("chopped procedures are installed already: all of a database are installed at once");
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
  if (Status status = refuse_in_child(); !status.ok()) return status;
  return engine_->install(std::move(procedures.procedures_), options, plan);
}

Status Database::run_position(uint32_t position, void* call, const RunPolicy& policy) {
  const txn::Execution* const execution = engine_->execution();
  const txn::ExecutableProcedure* const procedure = execution == nullptr ? nullptr : execution->find(position);
  if (procedure == nullptr) return txn::refuse_call(execution != nullptr);
  if (policy.procedure_id != 0) return engine_->run_chopped(*procedure, call, policy);
  RunPolicy named = policy;
  named.procedure_id = procedure->id;
  return engine_->run_chopped(*procedure, call, named);
}

Status Database::run_chopped_group(std::span<const ChoppedCall> calls, std::span<Status> outcomes, const GroupPolicy& policy) {
  const txn::Execution* const execution = engine_->execution();
  if (execution == nullptr) {
    for (Status& outcome : outcomes) outcome = txn::refuse_call(false);
    return txn::refuse_call(false);
  }
  // Group::add() refuses those that are not installed.
  const auto touch = [&](size_t i, Touches& touches) {
    const txn::ExecutableProcedure& procedure = *execution->find(calls[i].its().position);
    if (policy.procedure_id == 0) touches.procedure_id(procedure.id);
    if (procedure.touch) procedure.touch(calls[i].its().arguments, touches);
    touches.read_only(procedure.on_snapshot);
  };
  const auto whole = [&](size_t i, Transaction& txn) {
    return txn::run_whole(txn, *execution, *execution->find(calls[i].its().position), calls[i].its().arguments);
  };
  return run_calls(detail::GroupCalls{calls.size(), touch, whole, outcomes, calls, execution}, policy);
}

}  // namespace elider
