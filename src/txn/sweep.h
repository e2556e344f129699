// Sweep: frees the rows and the indexes of a dropped table, or the entries of a dropped index.
//
// A sweep begins after a grace period. By then, every transaction and every snapshot reader that
// could use the table or the index has ended. The sweep works in portions, each after a further
// grace period, so that no transaction waits for long.
//
// A dropped table. Callbacks that reclaim removed rows and stale entries (txn/reclaim.h) see that
// the table has been dropped, and leave its indexes alone. What callbacks free is not reachable
// through the indexes: old versions, and rows that had been unlinked. The object of the table
// itself, with its schema and layout, is freed with the database, because handles and retired
// memory refer to it.
//
// A dropped index. Its entries may refer to rows whose memory has been freed, because no
// transaction maintains them. The sweep does not follow them. If the table is dropped, the sweep of
// the table also frees the index.
//
// Thread safety: see sweep().
#pragma once

#include "base/worker.h"
#include "txn/any_table.h"

namespace elider::txn {

// Schedules the sweep of a table that has been dropped. The worker must be inside the epoch. If
// memory is exhausted, the table's memory is freed only with the database. Called once per table.
void sweep(Worker& worker, AnyTable& table);

// Schedules the sweep of an index (AnyTable::forget_index). The same rules apply. If memory is
// exhausted, the index keeps its slot.
void sweep_index(Worker& worker, AnyTable& table, uint32_t i);

}  // namespace elider::txn
