#include "txn/chopping/execution.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/test_points.h"
#include "storage/table.h"

namespace elider::txn {

using chopping::Access;
using chopping::AccessKind;
using chopping::Declaration;
using chopping::Operation;
using chopping::PlannedProcedure;

namespace {

constexpr size_t kNowhere = ~size_t{0};

class Planner {
 public:
  Planner(std::span<const TableRef> tables, const Declaration& declaration) : tables_(tables), declaration_(declaration) {}

  // Returns the position of the core's first piece, and the number of the core's pieces.
  std::pair<size_t, size_t> core_of(size_t p, const PlannedProcedure& planned) const {
    size_t begin = kNowhere, end = 0;
    bool has_conflicting = false;
    for (size_t i = 0; i < planned.pieces.size(); ++i) {
      const chopping::Piece& piece = planned.pieces[i];
      if (piece.deferred) continue;
      const bool may_roll_back = std::any_of(piece.operations.begin(), piece.operations.end(), [&](uint32_t o) {
        const Operation& operation = declaration_.procedures[p].operations[o];
        return operation.may_roll_back || changes_index(operation);
      });
      if (begin == kNowhere && (piece.writes || piece.conflicting)) begin = i;
      // If one of these mutants is active, several pieces may conflict. The core then contains only
      // the first of these pieces, and the others run without validation.
      if (piece.conflicting && has_conflicting && (ELIDER_MUTANT(kLeaveCycle) || ELIDER_MUTANT(kForgetSibling))) break;
      has_conflicting = has_conflicting || piece.conflicting;
      // A piece that may roll back must be in the core, because the tail can no longer be undone.
      if (begin != kNowhere && (piece.conflicting || may_roll_back)) end = i + 1;
    }
    if (begin == kNowhere) return {planned.pieces.size(), 0};
    if (end == 0)  // no piece conflicts, so the core consists of all pieces that write
      for (size_t i = begin; i < planned.pieces.size(); ++i)
        if (planned.pieces[i].writes && !planned.pieces[i].deferred) end = i + 1;
    return {begin, end - begin};
  }

  DeclaredOperation operation(size_t p, uint32_t o, detail::ProcedureDefinition& from) const {
    const Operation& declared = declaration_.procedures[p].operations[o];
    DeclaredOperation operation{declaration_.procedures[p].name, declared.name, std::move(from.bodies[o]), {}};
    for (const Access& access : declared.accesses) {
      const TableRef table = *find(access.table);
      if (operation.tables.size() <= table.base()->id()) operation.tables.resize(table.base()->id() + 1);
      DeclaredTable& may = operation.tables[table.base()->id()];
      const uint64_t columns = columns_of(table, access.columns);
      switch (access.kind) {
        case AccessKind::kRead: may.reads.add(columns); break;
        case AccessKind::kWrite: may.writes.add(columns); break;
        case AccessKind::kAdd: may.adds.add(columns); break;
        case AccessKind::kScan: may.scans.add(columns); break;
        case AccessKind::kInsert: may.inserts = true; break;
        case AccessKind::kRemove: may.removes = true; break;
      }
    }
    return operation;
  }

  // The column groups to which these operations add, as (table id, group).
  using Groups = std::set<std::pair<uint32_t, uint32_t>>;
  Groups groups_added(const std::vector<DeclaredOperation>& operations) const {
    Groups groups;
    for (const DeclaredOperation& operation : operations)
      for (uint32_t id = 0; id < operation.tables.size(); ++id)
        for (const TableRef& table : tables_)
          for (size_t c = 0; table.base()->id() == id && c < table.schema().columns.size(); ++c)
            if (operation.tables[id].adds.columns >> c & 1) groups.emplace(id, table.schema().columns[c].group);
    return groups;
  }

  // Returns true if the operation may conflict in a secondary index, because it may give two rows
  // the same value in a unique index, or may change the value of a row. Declarations do not
  // describe such conflicts. The operation must therefore be in the core, which is validated.
  bool changes_index(const Operation& operation) const {
    for (const Access& access : operation.accesses) {
      const TableRef* found = find(access.table);
      if (found == nullptr) continue;  // the analysis will refuse the unknown table
      const TableRef& table = *found;
      for (const SecondaryIndex& index : table.schema().indexes) {
        const bool comes_or_goes = access.kind == AccessKind::kInsert || access.kind == AccessKind::kRemove;
        if (index.unique && comes_or_goes) return true;
        if ((access.kind == AccessKind::kWrite || access.kind == AccessKind::kAdd) &&
            (!table.schema().row_columns.empty() || (columns_of(table, access.columns) & columns_of(table, index.columns)) != 0))
          return true;
      }
    }
    return false;
  }

  // Refuses operations that change a ranked index, because they would also change its counts, which
  // the analysis does not know.
  Status check_ranked(const std::string& procedure, const Operation& operation) const {
    for (const Access& access : operation.accesses) {
      if (access.kind == AccessKind::kRead || access.kind == AccessKind::kScan) continue;
      const TableRef* const table = find(access.table);
      if (table == nullptr) continue;  // the analysis will refuse the unknown table
      const bool whole = access.kind == AccessKind::kInsert || access.kind == AccessKind::kRemove || !table->schema().row_columns.empty();
      for (const SecondaryIndex& index : table->schema().indexes)
        if (index.ranked && (whole || (columns_of(*table, access.columns) & columns_of(*table, index.columns)) != 0))
          return Status::invalid_argument("procedure '" + procedure + "', operation '" + operation.name +
                                          "' declares that it changes table '" + access.table + "', whose index '" + index.name +
                                          "' is ranked; use a procedure with a body, because operations cannot change a ranked index");
    }
    return {};
  }

  const TableRef* find(const std::string& name) const {
    const auto found = std::find_if(tables_.begin(), tables_.end(), [&](const TableRef& table) { return table.schema().name == name; });
    return found == tables_.end() ? nullptr : &*found;
  }

 private:
  static uint64_t columns_of(const TableRef& table, const std::vector<std::string>& names) {
    const auto& columns = table.schema().columns;
    uint64_t mask = 0;
    for (size_t c = 0; c < columns.size(); ++c)
      if (names.empty() || std::find(names.begin(), names.end(), columns[c].name) != names.end()) mask |= uint64_t{1} << c;
    return mask;
  }

  const std::span<const TableRef> tables_;
  const Declaration& declaration_;
};

// Determines which procedures publish, which subscribe, and which may meet a publisher. No path of
// conflicts leads from a publisher to a subscriber; otherwise the analysis would have refused the
// deferral.
void bind_to_publications(Execution* execution) {
  std::vector<ExecutableProcedure>& procedures = execution->procedures;
  for (const chopping::Deferral& deferral : execution->plan.deferrals) {
    if (!deferral.granted) continue;
    procedures[deferral.publisher.procedure].meets_publishers = true;
    for (const chopping::OperationId& subscriber : deferral.subscribers)
      if (!procedures[subscriber.procedure].on_snapshot) procedures[subscriber.procedure].subscribes = true;
  }
  for (bool changed = true; std::exchange(changed, false);)
    for (const chopping::Conflict& conflict : execution->plan.conflicts) {
      bool &one = procedures[conflict.from.procedure].meets_publishers, &other = procedures[conflict.to.procedure].meets_publishers;
      if (one != other) one = other = changed = true;
    }
  for (const ExecutableProcedure& procedure : procedures)
    ELIDER_CHECK(!procedure.subscribes || !procedure.meets_publishers || ELIDER_MUTANT(kDeferBesideOtherPaths),
                 "no conflict leads from a publisher to a subscriber");
}

}  // namespace

Status make_execution(std::span<detail::ProcedureDefinition* const> procedures, std::span<const TableRef> tables,
                      const InstallOptions& options, Execution* execution) {
  if (options.choices.granularity == chopping::Granularity::kColumn)
    return Status::invalid_argument("InstallOptions::choices.granularity is 'column', but commits detect conflicts by column group");
  Declaration declaration;
  for (const TableRef& table : tables) declaration.tables.push_back(chopping::Table::of(table.schema()));
  for (const detail::ProcedureDefinition* const procedure : procedures)
    declaration.procedures.push_back({procedure->name, procedure->operations});
  const Planner planner(tables, declaration);
  for (const chopping::Procedure& procedure : declaration.procedures)
    for (const Operation& operation : procedure.operations)
      if (Status status = planner.check_ranked(procedure.name, operation); !status.ok()) return status;
  for (chopping::Procedure& procedure : declaration.procedures)
    for (Operation& operation : procedure.operations)
      operation.deferred = operation.deferred && !planner.changes_index(operation);
  if (Status status = chopping::analyze(declaration, options.choices, &execution->plan); !status.ok()) return status;
  execution->tables.assign(tables.begin(), tables.end());
  execution->checks_accesses = options.check_accesses;
  execution->always_in_pieces = options.always_in_pieces;
  execution->answers_at_once = options.answers_at_once;
#ifndef NDEBUG
  execution->checks_accesses = true;
#endif

  for (size_t p = 0; p < procedures.size(); ++p) {
    const PlannedProcedure& planned = execution->plan.procedures[p];
    ExecutableProcedure& executable = execution->procedures.emplace_back();
    executable.position = static_cast<uint32_t>(p);
    executable.name = declaration.procedures[p].name;
    executable.on_snapshot = planned.on_snapshot;
    const auto [begin, count] = planner.core_of(p, planned);
    for (size_t i = 0; i < planned.pieces.size(); ++i) {
      auto& part = planned.pieces[i].deferred         ? executable.deferred
                   : planned.on_snapshot || i < begin ? executable.head
                   : i < begin + count                ? executable.core
                                                      : executable.tail;
      for (const uint32_t o : planned.pieces[i].operations) part.push_back(planner.operation(p, o, *procedures[p]));
    }
  }
  bind_to_publications(execution);
  Planner::Groups added_by_tails;
  for (ExecutableProcedure& executable : execution->procedures) {
    Planner::Groups groups = planner.groups_added(executable.tail);
    groups.merge(planner.groups_added(executable.deferred));
    executable.tail_adds = !groups.empty();
    added_by_tails.insert(groups.begin(), groups.end());
  }
  for (ExecutableProcedure& executable : execution->procedures) {
    const Planner::Groups groups = planner.groups_added(executable.core);
    executable.core_adds = std::any_of(groups.begin(), groups.end(), [&](const auto& group) { return added_by_tails.contains(group); });
  }
  return {};
}

std::string procedure_that_uses(const Execution& execution, uint32_t table_id) {
  const auto declares = [&](const DeclaredOperation& operation) {
    if (table_id >= operation.tables.size()) return false;
    const DeclaredTable& may = operation.tables[table_id];
    return (may.reads | may.writes | may.adds | may.scans).declared || may.inserts || may.removes;
  };
  for (const ExecutableProcedure& procedure : execution.procedures)
    for (const auto* part : {&procedure.head, &procedure.core, &procedure.tail, &procedure.deferred})
      if (std::any_of(part->begin(), part->end(), declares)) return procedure.name;
  return {};
}

void add_sites(const ElisionPolicy& policy, Execution* execution) {
  execution->elision = policy;
  execution->elision.conflict_aborts_max = std::min(policy.conflict_aborts_max, 10u);
  execution->elision.capacity_aborts_max = std::min(policy.capacity_aborts_max, 1u);
  execution->elision.lock_held_aborts_max = std::min(policy.lock_held_aborts_max, 3u);
  for (ExecutableProcedure& procedure : execution->procedures) procedure.site = std::make_unique<htm::Site>(execution->elision);
}

Status run_checked(Transaction& txn, const std::vector<DeclaredOperation>& operations, void* call) {
  for (const DeclaredOperation& operation : operations) {
    DeclaredTransaction checked(txn, operation);
    Status status = operation.body(checked, call);
    if (!checked.refusal().ok()) return checked.refusal();
    if (!status.ok()) return status;
  }
  return {};
}

Status run_whole(Transaction& txn, const Execution& execution, const ExecutableProcedure& procedure, void* call) {
  if (procedure.on_snapshot) return run_operations(txn, execution, procedure.head, call);
  for (const auto* const part : {&procedure.head, &procedure.core, &procedure.tail, &procedure.deferred})
    if (Status status = run_operations(txn, execution, *part, call); !status.ok()) return status;
  return {};
}

}  // namespace elider::txn
