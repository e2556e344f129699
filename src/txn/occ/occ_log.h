// OccTransaction: what a commit appends to the log (log/log.h). Without a log it costs a branch a commit.
//
// The room is taken before the locks, since taking it may wait for the disk; the record is written with the
// locks held, once nothing can fail any more: so a record is a commit, and the number and the sequences
// in it are those that the rows get.
#pragma once

#include "log/log.h"
#include "txn/log_entry.h"
#include "txn/occ/occ_transaction.h"

namespace elider::txn {

inline size_t span_bytes(const ColumnSet& columns, uint32_t g) {
  size_t bytes = 0;
  for (uint32_t s = columns.begin[g]; s < columns.begin[g + 1]; ++s) bytes += columns.spans[s].size;
  return bytes;
}

template <class Sync>
Status OccTransaction<Sync>::log_reserve() {
  size_t bytes = 1;
  for (const WriteEntry& write : writes_) {
    bytes += kEntryHeaderBytesMax + span_bytes(*write.columns, write.group);
    if (write.additions != nullptr) bytes += write.additions->size() * (kEntryHeaderBytesMax + sizeof(uint64_t));
  }
  return store_.log->reserve(worker_.id(), bytes, &log_place_);
}

template <class Sync>
std::byte* OccTransaction<Sync>::log_write(std::byte* to, const WriteEntry& write) {
  const ColumnSet& columns = *write.columns;
  const uint32_t g = write.group;
  LogEntry entry{EntryKind::kRemove, g, write.table->id(), write.key, word::sequence(word::next(write.locked_from, false)), 0, {}};
  if (write.kind == WriteKind::kRemove) return put_entry_header(to, entry, 0);
  const bool whole = write.kind == WriteKind::kPresent || columns.whole;
  const size_t bytes = span_bytes(columns, g);
  if (whole || bytes != 0) {
    entry.kind = whole ? EntryKind::kWhole : EntryKind::kColumns;
    entry.columns = columns.columns;
    to = put_entry_header(to, entry, bytes);
    for (uint32_t s = columns.begin[g]; s < columns.begin[g + 1]; ++s) {
      std::memcpy(to, write.image + columns.spans[s].row_offset, columns.spans[s].size);
      to += columns.spans[s].size;
    }
  }
  if (write.additions == nullptr) return to;
  entry.kind = EntryKind::kAdd;
  for (const Addition& addition : *write.additions) {
    entry.columns = addition.row_offset;
    to = put_entry_header(to, entry, sizeof addition.delta);
    std::memcpy(to, &addition.delta, sizeof addition.delta);
    to += sizeof addition.delta;
  }
  return to;
}

// The last of the steps between which the log knows this commit to be under way.
template <class Sync>
void OccTransaction<Sync>::log_publish(uint64_t n) {
  std::byte* to = log_place_;
  *to++ = static_cast<std::byte>(RecordKind::kCommit);
  for (const WriteEntry& write : writes_)
    if (write.kind != WriteKind::kNone) to = log_write(to, write);
  if (to != log_place_ + 1) store_.log->publish(worker_.id(), n, static_cast<size_t>(to - log_place_));
  store_.log->end_commit(worker_.id());
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
