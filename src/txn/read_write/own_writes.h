// OwnWrites: answers the questions that the tracking of reads (read_tracking.h, repair.h) has about
// the writes of the same transaction.
//
// Thread safety: the same as the write set.
#pragma once

#include <cstdint>

#include "base/test_points.h"
#include "txn/conflict.h"
#include "txn/write_set.h"

namespace elider::txn {

// Whether a row existed before the transaction's own writes. kUnknown: the transaction does not
// know this, or another transaction is changing the row.
enum class Presence : uint8_t { kAbsent, kPresent, kUnknown };

class OwnWrites {
 public:
  explicit OwnWrites(const WriteSet& writes) : writes_(writes) {}

  bool has(const storage::Cell* cell) const { return writes_.has(cell); }
  // Returns true if a commit by this transaction locks this column group.
  bool locks(storage::Row* row, const storage::Layout& layout, uint32_t g) const {
    const WriteEntry* const write = writes_.find(row, layout, g);
    return write != nullptr && write->kind != WriteKind::kNone;
  }
  // Returns false if the transaction does not write the row's group 0, which shows whether the row
  // exists. Otherwise returns true, and sets *presence to whether the row existed before these
  // writes. The commit will verify this.
  bool presence(storage::Row* row, const storage::Layout& layout, Presence* presence) const {
    const WriteEntry* const write = writes_.find(row, layout, 0);
    if (write == nullptr) return false;
    if (write->expected == storage::word::kUnknown) *presence = Presence::kUnknown;
    else *presence = storage::word::absent(write->expected) ? Presence::kAbsent : Presence::kPresent;
    return true;
  }
  // Returns true if each write finds the commit word that it expects. If kHeld is true, the caller
  // holds the locks of all rows that it writes, and has compared their words, so only the rows that
  // are not locked are compared.
  template <bool kHeld>
  bool hold(Conflict* conflict) const;

 private:
  const WriteSet& writes_;
};

template <bool kHeld>
[[gnu::always_inline]] inline bool OwnWrites::hold(Conflict* conflict) const {
  namespace word = storage::word;
  for (const WriteEntry& write : writes_) {
    if (kHeld ? write.kind != WriteKind::kNone : write.expected == word::kUnknown) [[likely]] continue;
    const uint64_t w = write.cell->load();
    if (w == write.expected) [[likely]] continue;
    if (!kHeld && word::locked(w)) return conflict->found(Cause::kWriteLocked, write.table, write.key);
    return conflict->found(!kHeld && word::removed(w) ? Cause::kRowRemoved : Cause::kWriteChanged, write.table, write.key);
  }
  return true;
}

}  // namespace elider::txn
