// OccTransaction: what a commit appends to the log (log/log.h). Without a log it costs a branch a commit.
//
// The room is taken before the locks, since taking it may wait for the disk; the record is written once nothing
// can fail any more, with the locks held or after a region that wrote the rows (occ_region.h): so a record is a
// commit, and the number and the sequences in it are those that the rows get.
#pragma once

#include "log/log.h"
#include "txn/log_entry.h"
#include "txn/occ/occ_transaction.h"

namespace elider::txn {

template <class Sync>
Status OccTransaction<Sync>::log_reserve() {
  size_t bytes = 1;
  for (const WriteEntry& write : writes_) {
    bytes += kEntryHeaderBytesMax + write.columns->bytes[write.group];
    if (write.additions != nullptr) [[unlikely]] bytes += write.additions->size() * (kEntryHeaderBytesMax + sizeof(uint64_t));
  }
  return store_.log->reserve(worker_.id(), bytes, &log_place_);
}

template <class Sync>
[[gnu::always_inline]] inline void OccTransaction<Sync>::log_write(EntryWriter& to, const WriteEntry& write) {
  const ColumnSet& columns = *write.columns;
  const uint32_t g = write.group, table = write.table->id();
  const uint64_t sequence = word::sequence(word::next(write.locked_from, false));
  if (write.kind == WriteKind::kRemove) return to.header(EntryKind::kRemove, g, table, write.key, sequence, 0, 0);
  const bool whole = write.kind == WriteKind::kPresent || columns.whole;
  if (const size_t bytes = columns.bytes[g]; whole || bytes != 0) {
    to.header(whole ? EntryKind::kWhole : EntryKind::kColumns, g, table, write.key, sequence, whole ? 0 : columns.columns, bytes);
    for (uint32_t s = columns.begin[g]; s < columns.begin[g + 1]; ++s)
      to.put(write.image + columns.spans[s].row_offset, columns.spans[s].size);
  }
  if (write.additions == nullptr) [[likely]] return;
  for (const Addition& addition : *write.additions) {
    to.header(EntryKind::kAdd, g, table, write.key, sequence, addition.row_offset, sizeof addition.delta);
    to.put(reinterpret_cast<const std::byte*>(&addition.delta), sizeof addition.delta);
  }
}

// The last of the steps between which the log knows this commit to be under way.
template <class Sync>
void OccTransaction<Sync>::log_publish(uint64_t n) {
  if (ELIDER_MUTANT(kWithdrawEarly)) store_.log->end_commit(worker_.id());
  ELIDER_TEST_POINT("occ.commit.before_record");
  *log_place_ = static_cast<std::byte>(RecordKind::kCommit);
  EntryWriter to(log_place_ + 1);
  for (const WriteEntry& write : writes_)
    if (write.kind != WriteKind::kNone) log_write(to, write);
  if (to.end() != log_place_ + 1) store_.log->publish(worker_.id(), n, static_cast<size_t>(to.end() - log_place_));
  store_.log->end_commit(worker_.id());
  commit_number_ = n;
}

// The log takes nothing: nothing has been locked yet.
template <class Sync>
Status OccTransaction<Sync>::refuse_commit(const Status& status) {
  for (WriteEntry& write : writes_)
    if (write.block != nullptr) worker_.free(write.block, write.table->layout().group(write.group).payload_bytes, MemoryPart::kBlocks);
  rollback(Cause::kNone);
  return status;
}

}  // namespace elider::txn
