// Sweep: frees the rows and the indexes of a dropped table.
//
// The sweep begins after a grace period. By then, every transaction and every snapshot reader that
// could use the table has ended, and callbacks that reclaim removed rows and stale entries
// (txn/reclaim.h) see that the table has been dropped, and leave its indexes alone. The sweep works
// in portions, each after a further grace period, so that no transaction waits for long. What
// callbacks free is not reachable through the indexes: old versions, and rows that had been
// unlinked.
//
// The object of the table itself, with its schema and layout, is freed with the database, because
// handles and retired memory refer to it.
// Thread safety: see sweep().
#pragma once

#include "base/worker.h"
#include "txn/any_table.h"

namespace elider::txn {

// Schedules the sweep of a table that has been dropped. The worker must be inside the epoch. If
// memory is exhausted, the table's memory is freed only with the database. Called once per table.
void sweep(Worker& worker, AnyTable& table);

}  // namespace elider::txn
