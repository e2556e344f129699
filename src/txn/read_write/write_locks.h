// The locks of a commit: the commit words of the rows that it writes (DBX, Algorithm 1).
//
// Why deadlock is impossible: a transaction that waits for a lock does not hold a lock with a
// greater address. In addition, an attempt ends if a lock is not released for a long time.
//
// Thread safety: the same as the write set. Any thread may hold the locks of the rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/spin.h"
#include "base/test_points.h"
#include "storage/record.h"
#include "txn/conflict.h"
#include "txn/write_set.h"

namespace elider::txn {

// How long to wait for a lock. kShort: a few processor pauses. kLong: long enough that a preempted
// holder of the lock can run again.
enum class Patience : bool { kShort, kLong };

// Locks the commit word of a write. If kTake is false, only waits until the word is unlocked. In
// both cases, stores the unlocked word in write.locked_from. Returns false if another transaction
// holds the lock for longer than `patience`, or if the row is not in the state that the write
// requires, and sets *conflict.
template <class Sync, bool kTake>
[[gnu::always_inline]] inline bool await_word(WriteEntry& write, Patience patience, Conflict* conflict) {
  namespace word = storage::word;
  constexpr uint32_t kSleepsMax = 50;  // 5 to 10 ms
  storage::Cell& cell = *write.cell;
  for (Spin spin;;) {
    uint64_t w = cell.load();
    if (word::locked(w)) [[unlikely]] {
      if (patience == Patience::kLong ? spin.sleeps() == kSleepsMax : spin.has_paused())
        return conflict->found(Cause::kWriteLocked, write.table, write.key);
      spin.wait();
      continue;
    }
    if (write.expected != word::kUnknown ? w != write.expected : word::absent(w) && write.kind != WriteKind::kPresent) [[unlikely]]
      return conflict->found(word::removed(w) ? Cause::kRowRemoved : Cause::kWriteChanged, write.table, write.key);
    if (word::removed(w)) [[unlikely]] return conflict->found(Cause::kRowRemoved, write.table, write.key);
    if constexpr (!kTake) {
      // the region will compare the word
    } else if constexpr (Sync::kConcurrent) {
      if (!cell.lock_from(w)) [[unlikely]] continue;
    } else {
      cell.set_word(w | word::kLocked);
    }
    write.locked_from = w;
    return true;
  }
}

template <class Sync>
[[gnu::always_inline]] inline size_t lock_each(WriteSet& writes, Patience patience, Conflict* conflict) {
  for (size_t i = 0; i < writes.size(); ++i)
    if (writes[i].kind != WriteKind::kNone && !await_word<Sync, true>(writes[i], patience, conflict)) [[unlikely]] return i;
  return writes.size();
}

// Unlocks the first `count` writes, without changing their rows.
inline void unlock(WriteSet& writes, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (writes[i].kind != WriteKind::kNone) writes[i].cell->unlock(writes[i].locked_from);
}

// The second try of lock_all().
template <class Sync>
[[gnu::noinline]] size_t lock_in_order(WriteSet& writes, size_t locked, Conflict* conflict) {
  if (conflict->cause != Cause::kWriteLocked) return locked;
  unlock(writes, locked);
  writes.sort_by_address();
  ELIDER_TEST_POINT("occ.commit.lock_in_order");
  return lock_each<Sync>(writes, Patience::kLong, conflict);
}

// Locks the commit words of all writes. Returns the number of writes if all are locked. Otherwise
// sets *conflict and returns the position of the first write that could not be locked; the writes
// before it are locked.
//
// The first try acquires the locks in the order of the writes, and gives up after a few processor
// pauses. The second try acquires them in the order of their addresses, and waits. Invariant: a
// transaction that waits for a lock does not hold a lock with a greater address. So waits cannot
// form a cycle, and two commits that lock the same rows in opposite orders both succeed.
template <class Sync>
[[gnu::always_inline]] inline size_t lock_all(WriteSet& writes, Conflict* conflict) {
  const size_t locked = lock_each<Sync>(writes, Patience::kShort, conflict);
  return locked == writes.size() ? locked : lock_in_order<Sync>(writes, locked, conflict);
}

// Waits until the commit words of all writes are unlocked, and stores them in the writes. Returns
// false and sets *conflict if one stays locked or differs from what its write expects.
template <class Sync>
bool await_all(WriteSet& writes, Conflict* conflict) {
  for (WriteEntry& write : writes)
    if (write.kind != WriteKind::kNone && !await_word<Sync, false>(write, Patience::kLong, conflict)) [[unlikely]] return false;
  return true;
}

}  // namespace elider::txn
