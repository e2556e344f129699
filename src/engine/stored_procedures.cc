#include "engine/engine.h"

namespace elider {

std::string_view name_of(ValueType type) {
  switch (type) {
    case ValueType::kInt64: return "int64";
    case ValueType::kUInt64: return "uint64";
    case ValueType::kDouble: return "double";
    case ValueType::kText: return "text";
  }
  return "?";
}

namespace detail {

Engine::~Engine() = default;

Status Engine::register_procedure(Procedure procedure) {
  if (procedure.name.empty()) return Status::invalid_argument("a stored procedure needs a name");
  if (!procedure.body) return Status::invalid_argument("stored procedure '" + procedure.name + "' does not have a body");
  std::unique_lock lock(procedures_mutex_);
  std::string name = procedure.name;
  if (!procedures_.try_emplace(name, std::make_shared<const Procedure>(std::move(procedure))).second)
    return Status::invalid_argument("stored procedure '" + name + "' is already registered");
  return {};
}

std::shared_ptr<const Procedure> Engine::find_procedure(std::string_view name) const {
  std::shared_lock lock(procedures_mutex_);
  auto found = procedures_.find(std::string(name));
  return found == procedures_.end() ? nullptr : found->second;
}

std::vector<std::pair<std::string, std::vector<Parameter>>> Engine::procedures() const {
  std::shared_lock lock(procedures_mutex_);
  std::vector<std::pair<std::string, std::vector<Parameter>>> all;
  for (const auto& [name, procedure] : procedures_) all.emplace_back(name, procedure->parameters);
  return all;
}

}  // namespace detail

namespace {
Status check_arguments(const Procedure& procedure, std::span<const Value> arguments) {
  const std::string named = "stored procedure '" + procedure.name + "': ";
  for (size_t i = 0; i < procedure.parameters.size(); ++i) {
    const Parameter& parameter = procedure.parameters[i];
    if (i >= arguments.size()) return Status::invalid_argument(named + "argument '" + parameter.name + "' is missing");
    const auto given = static_cast<ValueType>(arguments[i].index());
    if (given != parameter.type)
      return Status::invalid_argument(named + "argument '" + parameter.name + "' is of type " + std::string(name_of(given)) + ", not " +
                                      std::string(name_of(parameter.type)));
  }
  if (arguments.size() > procedure.parameters.size())
    return Status::invalid_argument(named + std::to_string(arguments.size()) + " arguments were given, but it takes " +
                                    std::to_string(procedure.parameters.size()));
  return {};
}
}  // namespace

Status Database::register_procedure(Procedure procedure) {
  Status status = refuse_unusable();
  return status.ok() ? engine_->register_procedure(std::move(procedure)) : status;
}
std::vector<std::pair<std::string, std::vector<Parameter>>> Database::procedures() const {
  return engine_->in_child() ? std::vector<std::pair<std::string, std::vector<Parameter>>>() : engine_->procedures();
}

Status Database::call(std::string_view name, std::span<const Value> arguments, std::vector<Value>* reply, RunPolicy policy) {
  if (reply != nullptr) reply->clear();
  if (Status status = refuse_unusable(); !status.ok()) return status;
  const std::shared_ptr<const Procedure> procedure = engine_->find_procedure(name);
  if (procedure == nullptr) return Status(Code::kNotFound, "stored procedure '" + std::string(name) + "' does not exist");
  if (Status status = check_arguments(*procedure, arguments); !status.ok()) return status;
  if (policy.procedure_id == 0) policy.procedure_id = engine_->procedure_id(name);
  std::vector<Value> unwanted;
  std::vector<Value>& results = reply != nullptr ? *reply : unwanted;
  auto body = [&](Transaction& txn) {
    results.clear();
    return procedure->body(txn, arguments, results);
  };
  Status status = engine_->run(body, policy, procedure->read_only);
  if (!status.ok()) results.clear();
  return status;
}

namespace {
// A call of a group: what it runs, or why it does not.
struct NamedCall {
  std::shared_ptr<const Procedure> procedure;
  uint32_t id = 0;
  Status refused;
};
}  // namespace

Status Database::call_group(std::span<const ProcedureCall> calls, std::span<Status> outcomes, const GroupPolicy& policy) {
  for (const ProcedureCall& call : calls)
    if (call.reply != nullptr) call.reply->clear();
  if (Status status = refuse_unusable(); !status.ok()) {
    for (Status& outcome : outcomes) outcome = status;
    return status;
  }
  std::vector<NamedCall> named(calls.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    // Most often many calls of one procedure follow each other.
    if (i != 0 && calls[i].name == calls[i - 1].name) {
      named[i].procedure = named[i - 1].procedure;
      named[i].id = named[i - 1].id;
    } else if ((named[i].procedure = engine_->find_procedure(calls[i].name)) != nullptr) {
      named[i].id = policy.procedure_id != 0 ? policy.procedure_id : engine_->procedure_id(calls[i].name);
    }
    named[i].refused = named[i].procedure == nullptr
                           ? Status(Code::kNotFound, "stored procedure '" + std::string(calls[i].name) + "' does not exist")
                           : check_arguments(*named[i].procedure, calls[i].arguments);
  }
  std::vector<Status> own(outcomes.empty() ? calls.size() : 0);
  const std::span<Status> all = outcomes.empty() ? std::span<Status>(own) : outcomes;
  const auto touch = [&](size_t i, Touches& touches) {
    if (!named[i].refused.ok()) return;
    touches.procedure_id(named[i].id);
    touches.read_only(policy.read_only || named[i].procedure->read_only);
    if (named[i].procedure->touch) named[i].procedure->touch(touches, calls[i].arguments);
  };
  std::vector<Value> unwanted;
  const auto run = [&](size_t i, Transaction& txn) -> Status {
    if (!named[i].refused.ok()) return named[i].refused;
    std::vector<Value>& results = calls[i].reply != nullptr ? *calls[i].reply : unwanted;
    results.clear();
    return named[i].procedure->body(txn, calls[i].arguments, results);
  };
  Status status = run_group(calls.size(), touch, run, all, policy);
  for (size_t i = 0; i < calls.size() && i < all.size(); ++i)
    if (!all[i].ok() && calls[i].reply != nullptr) calls[i].reply->clear();
  return status;
}

}  // namespace elider
