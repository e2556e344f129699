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
  return engine_->install(std::move(procedures.procedures_), options, plan);
}

namespace {

const txn::ExecutableProcedure* find_procedure(const txn::Execution* execution, uint32_t position) {
  return execution == nullptr ? nullptr : execution->find(position);
}
// Why there is none.
Status refuse_procedure(const txn::Execution* execution) {
  return Status::invalid_argument(execution == nullptr ? "run_chopped: no procedures are installed (Database::install)"
                                                       : "run_chopped: the procedure is none that was installed");
}

}  // namespace

Status Database::run_position(uint32_t position, void* call, const RunPolicy& policy) {
  const txn::Execution* const execution = engine_->execution();
  const txn::ExecutableProcedure* const procedure = find_procedure(execution, position);
  if (procedure == nullptr) return refuse_procedure(execution);
  if (policy.procedure_id != 0) return engine_->run_chopped(*procedure, call, policy);
  RunPolicy named = policy;
  named.procedure_id = procedure->id;
  return engine_->run_chopped(*procedure, call, named);
}

Status Database::run_chopped_group(std::span<const ChoppedCall> calls, std::span<Status> outcomes, const GroupPolicy& policy) {
  const txn::Execution* const execution = engine_->execution();
  const auto touch = [&](size_t i, Touches& touches) {
    const txn::ExecutableProcedure* const procedure = find_procedure(execution, calls[i].its().position);
    touches.read_only(procedure != nullptr && procedure->on_snapshot);
    if (procedure == nullptr) return;
    touches.procedure_id(policy.procedure_id != 0 ? policy.procedure_id : procedure->id);
    if (procedure->touch) procedure->touch(calls[i].its().arguments, touches);
  };
  const auto whole = [&](size_t i, Transaction& txn) -> Status {
    const txn::ExecutableProcedure* const procedure = find_procedure(execution, calls[i].its().position);
    return procedure == nullptr ? refuse_procedure(execution) : txn::run_whole(txn, *execution, *procedure, calls[i].its().arguments);
  };
  return run_calls(calls.size(), touch, whole, outcomes, policy, calls);
}

}  // namespace elider
