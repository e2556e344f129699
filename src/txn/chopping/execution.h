// Execution: how calls of chopped procedures run: the operations of each procedure, in three parts
// that run one after the other (piece_transaction.h).
//
//   head   the pieces before the first that writes or conflicts
//   core   from there to the piece that conflicts or, if none does, all pieces that write
//   tail   the rest; and at its end what is deferred, once that may appear (publications.h)
//
// Consecutive pieces may always be joined. The head and the tail cannot conflict, so each is joined
// to save commits. Pieces that write before the conflicting piece are joined with it, since the
// call does not have a snapshot number before (DBX-TC, section 4.3, keeps these writes in a buffer
// instead). Thread safety: constant after construction.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "elider/elision.h"
#include "elider/procedure.h"
#include "htm/site.h"
#include "txn/chopping/declared_transaction.h"

namespace elider::txn {

struct ExecutableProcedure {
  std::string name;
  uint32_t position = 0;
  bool on_snapshot = false;  // it only reads: all of it is the head
  std::vector<DeclaredOperation> head, core, tail, deferred;
  // The site of its calls' regions; null if calls do not run as regions.
  std::unique_ptr<htm::Site> site;
  bool core_adds = false;         // the core adds where another call's tail may add
  bool tail_adds = false;         // or what it defers
  bool subscribes = false;        // it reads what another procedure defers
  bool meets_publishers = false;  // it defers something, or conflicts lead from it to a procedure that does
  bool publishes() const { return !deferred.empty(); }
};

struct Execution {
  std::vector<ExecutableProcedure> procedures;
  std::vector<TableRef> tables;
  ElisionPolicy elision;  // of their sites
  bool checks_accesses = false, always_in_pieces = false, answers_at_once = false;
  chopping::Plan plan;
};

// Analyzes and plans procedures that have operations, and takes over their bodies. tables: the
// tables of the database. Statuses:
//   kInvalidArgument  what analyze() refuses; a table that does not exist; a granularity of
//                     columns, which commits cannot distinguish
Status make_execution(std::span<detail::ProcedureDefinition* const> procedures, std::span<const TableRef> tables,
                      const InstallOptions& options, Execution* execution);

// Makes calls run as regions. An abort wastes all of a region, so the retry limits are low: 10
// after conflicts, 1 after capacity aborts, 3 at a locked row, or fewer by the policy. The
// execution must not move from here on.
void add_sites(const ElisionPolicy& policy, Execution* execution);

// Runs the operations one after the other and checks each access. The first one that fails ends it.
Status run_checked(Transaction& txn, const std::vector<DeclaredOperation>& operations, void* call);
// Like run_checked(), but only checks the accesses if the execution says so.
[[gnu::always_inline]] inline Status run_operations(Transaction& txn, const Execution& execution,
                                                    const std::vector<DeclaredOperation>& operations, void* call) {
  if (execution.checks_accesses) [[unlikely]] return run_checked(txn, operations, call);
  for (const DeclaredOperation& operation : operations)
    if (Status status = operation.body(txn, call); !status.ok()) [[unlikely]] return status;
  return {};
}
// Runs all of a call as one transaction.
Status run_whole(Transaction& txn, const Execution& execution, const ExecutableProcedure& procedure, void* call);

}  // namespace elider::txn
