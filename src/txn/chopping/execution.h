// Execution: what is called of procedures that are cut into pieces: the operations of each, in
// three parts that run one after the other (piece_transaction.h).
//
//   head   the pieces before the first that writes or conflicts
//   core   from there to the piece that conflicts, or, where none does, all that write
//   tail   what is left; and at its end what is deferred, once that may appear (publications.h)
//
// Pieces that follow each other may always be joined. The head and the tail conflict with nothing,
// so they are joined for fewer commits; what writes ahead of the conflicting piece is joined with
// it, since it has no snapshot number yet (DBX-TC, section 4.3, keeps it in a buffer instead).
// Thread safety: constant once made.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "elider/chopped.h"
#include "elider/elision.h"
#include "htm/site.h"
#include "txn/chopping/declared_transaction.h"

namespace elider::txn {

struct ExecutableProcedure {
  std::string name;
  uint64_t identity = 0;  // its handles' (detail::ChoppedHandle)
  uint32_t position = 0;
  uint32_t id = 0;           // of its name, in counters and histories; the caller's RunPolicy may give another
  bool on_snapshot = false;  // it only reads: all of it is the head
  std::vector<DeclaredOperation> head, core, tail, deferred;
  std::function<void(const void*, Touches&)> touch;  // what a call will look at; or none
  // What became of its calls' regions; null: they are no regions.
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

  // Null: the handle's procedure is not installed here.
  const ExecutableProcedure* find(const detail::ChoppedHandle& handle) const {
    if (handle.position >= procedures.size()) return nullptr;
    const ExecutableProcedure& there = procedures[handle.position];
    return there.identity == handle.identity ? &there : nullptr;
  }
};

// Why a call cannot run. installed: what is; null: nothing.
Status refuse_call(const Execution* installed, const detail::ChoppedHandle& handle);

// Analyzes and plans. tables: of the database. Statuses:
//   kInvalidArgument  what analyze() refuses; a table that is not there; a granularity of columns,
//                     which commits do not tell apart
Status make_execution(std::vector<detail::ProcedureWithBodies> procedures, std::span<const TableRef> tables, const ChoppedOptions& options,
                      Execution* execution);

// Calls are to run as regions, of which an abort wastes all: so few are worth another try, 10 after
// conflicts, 1 for room, 3 at a row that is locked, or fewer by the policy. The execution does not
// move from here on.
void add_sites(const ElisionPolicy& policy, Execution* execution);

// The operations, one after the other, each access of which is checked; the first that fails ends
// it.
Status run_checked(Transaction& txn, const std::vector<DeclaredOperation>& operations, void* call);
// The same, checked where the execution says so.
[[gnu::always_inline]] inline Status run_operations(Transaction& txn, const Execution& execution,
                                                    const std::vector<DeclaredOperation>& operations, void* call) {
  if (execution.checks_accesses) [[unlikely]] return run_checked(txn, operations, call);
  for (const DeclaredOperation& operation : operations)
    if (Status status = operation.body(txn, call); !status.ok()) [[unlikely]] return status;
  return {};
}
// All of a call, as one transaction.
Status run_whole(Transaction& txn, const Execution& execution, const ExecutableProcedure& procedure, void* call);

}  // namespace elider::txn
