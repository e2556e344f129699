// Index build: fills a secondary index by columns while transactions read and write the table.
//
// Creating an index takes these steps (txn/catalog.h, Database::create_index):
// (1) The index is added to the table (AnyTable::add_index). From then on, writers maintain it:
//     they add the entries of new values, list those of old values as stale, and check uniqueness.
//     Readers cannot use it.
// (2) The call waits until the transactions that began before step 1 have ended.
// (3) fill_index() visits all rows. It locks one row at a time, as a commit does, and inserts the
//     entry of the row's committed value.
// (4) If the index is unique, the call waits again, for the transactions that began before step 3
//     ended, and then looks for two rows with the same value (check_unique_index).
// (5) If the index is ranked, its counts are computed. From now on, writes that change entries of
//     the index are refused (AnyTable::await_ranks). The call waits for the transactions that began
//     before, so the live entries do not change any more. It counts them (count_entries) and
//     inserts the counts into their table.
// (6) The new schema is logged with snapshot number n, and readers of n and of later snapshots can
//     use the index. Writers maintain the counts, if there are any.
//
// Invariant after step 3: the index contains an entry for the committed value of each row.
// - A row that a writer has changed since step 2 has the writer's entry.
// - Another row was visited in step 3. The row is locked when its entry is inserted. So a commit
//   that changes or removes the row comes later. It lists the entry as stale, or unlinking the row
//   removes it. An entry is therefore never inserted after it was to be removed.
// - A commit before that visit lists the entry of the row's former value, which may not exist. It
//   then inserts the entry, so that every listed entry exists (txn/reclaim.h).
// A row that has been removed but not unlinked has the entry of its last value, as in every index.
// A version of a row that a reader of snapshot n or later needs is the committed one at some moment
// after step 3, so it has an entry (txn/read_write/index_entries.h says when entries go).
//
// Uniqueness. Until step 3 ends, a writer may miss a row whose entry is missing. A transaction that
// begins after step 3 finds every row. So after the wait of step 4 two rows can have the same value
// only if they already had it when step 4 began, and the check finds them.
//
// Thread safety: all threads may call these functions, for different indexes. The calling thread
// must not have an open transaction.
#pragma once

#include "base/worker.h"
#include "elider/function_ref.h"
#include "txn/any_table.h"
#include "txn/ranks.h"

namespace elider::txn {

// Is told how many of about `all` rows have been visited. Returns false to stop.
using BuildProgress = FunctionRef<bool(uint64_t done, uint64_t all)>;

// Inserts the entries of all rows of the table into index i.
//   kInvalidArgument  a row cannot be indexed; the message names the index, the column and the key
//   kMemoryLimit      not enough memory, or no worker is free
//   kRolledBack       progress() returned false
Status fill_index(Workers& workers, AnyTable& table, uint32_t i, BuildProgress progress);

// Looks for two rows with the same value in index i, of which none is null. Ignores stale entries.
//   kDuplicateKey     two rows have the same value; the message contains it, and both keys
//   kMemoryLimit      no worker is free
Status check_unique_index(Workers& workers, AnyTable& table, uint32_t i);

// Computes the counts of index i from its live entries, which must not change during the call.
//   kMemoryLimit      no worker is free
Status count_entries(Workers& workers, AnyTable& table, uint32_t i, RankBuilder* counts);

}  // namespace elider::txn
