// Execution: describes how calls to chopped procedures run. The operations of each procedure are
// divided into three parts, which run one after the other (piece_transaction.h).
//
//   head   the pieces before the first piece that writes or conflicts
//   core   the following pieces, up to the piece that conflicts. If no piece conflicts, all pieces
//          that write
//   tail   the rest, followed by the deferred operations, which wait for a publication
//          (publications.h)
//
// Consecutive pieces may always be merged. Because the head and the tail cannot conflict, the
// pieces within each of them are merged, which saves commits. Pieces that write before the
// conflicting piece are merged with it, because the call does not have a snapshot number until the
// conflicting piece commits. (DBX-TC, section 4.3, keeps these writes in a buffer instead.)
// Thread safety: constant after construction.
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
  bool on_snapshot = false;  // the procedure only reads, and all its operations are in the head
  std::vector<DeclaredOperation> head, core, tail, deferred;
  // The statistics and the retry policy for the hardware transactions that run calls to this
  // procedure (htm/site.h). Null if these calls do not run in hardware transactions.
  std::unique_ptr<htm::Site> site;
  bool core_adds = false;         // the core adds to columns to which another call's tail may add
  bool tail_adds = false;         // the tail or the deferred operations add to such columns
  bool subscribes = false;        // the procedure reads what another procedure defers
  bool meets_publishers = false;  // it defers operations, or conflicts lead from it to a procedure that defers operations
  bool publishes() const { return !deferred.empty(); }
};

struct Execution {
  std::vector<ExecutableProcedure> procedures;
  std::vector<TableRef> tables;
  ElisionPolicy elision;  // the retry policy of all sites
  bool checks_accesses = false, always_in_pieces = false, answers_at_once = false;
  chopping::Plan plan;
};

// Analyzes and plans the procedures that have operations, and takes over their bodies. `tables` are
// the tables of the database. Statuses:
//   kInvalidArgument  analyze() refuses the declaration; a table does not exist; or the granularity
//                     is columns, which commits cannot distinguish
Status make_execution(std::span<detail::ProcedureDefinition* const> procedures, std::span<const TableRef> tables,
                      const InstallOptions& options, Execution* execution);

// Returns the name of a procedure that declares the table with this id, or "".
std::string procedure_that_uses(const Execution& execution, uint32_t table_id);

// Makes calls run in hardware transactions. A hardware transaction is retried at most 10 times
// after conflicts, once after capacity aborts, and 3 times at a locked row; the policy may set
// lower limits. The limits are low because an abort discards an entire call. `execution` must not
// be moved after add_sites().
void add_sites(const ElisionPolicy& policy, Execution* execution);

// Runs the operations one after the other, and checks each access against the declaration. Stops at
// the first operation that fails.
Status run_checked(Transaction& txn, const std::vector<DeclaredOperation>& operations, void* call);
// Like run_checked(), but checks the accesses only if the execution requires it.
[[gnu::always_inline]] inline Status run_operations(Transaction& txn, const Execution& execution,
                                                    const std::vector<DeclaredOperation>& operations, void* call) {
  if (execution.checks_accesses) [[unlikely]] return run_checked(txn, operations, call);
  for (const DeclaredOperation& operation : operations)
    if (Status status = operation.body(txn, call); !status.ok()) [[unlikely]] return status;
  return {};
}
// Runs an entire call as one transaction.
Status run_whole(Transaction& txn, const Execution& execution, const ExecutableProcedure& procedure, void* call);

}  // namespace elider::txn
