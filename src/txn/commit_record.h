// The record of a commit in the log (log/log.h): its write set as entries
// (txn/log_entry.h), whatever its protocol.
//
// Thread safety: pure functions.
#pragma once

#include "base/test_points.h"
#include "elider/snapshot_number.h"
#include "log/log.h"
#include "txn/log_entry.h"
#include "txn/write_set.h"

namespace elider::txn {

// Of the columns that are written.
inline size_t logged_bytes(const WriteEntry& write) {
  const storage::Layout& layout = write.table->layout();
  if (layout.sized_rows() && !write.leaves_none()) [[unlikely]] return WriteSet::image_bytes(layout, write.image);
  return write.columns->bytes[write.group];
}

// The record is at most so large.
inline size_t record_bytes_max(const WriteSet& writes) {
  size_t bytes = 1;
  for (const WriteEntry& write : writes) {
    bytes += kEntryHeaderBytesMax + logged_bytes(write);
    if (write.additions != nullptr) [[unlikely]] bytes += write.additions->size() * (kEntryHeaderBytesMax + sizeof(uint64_t));
  }
  return bytes;
}

[[gnu::always_inline]] inline void put_write(EntryWriter& to, const WriteEntry& write) {
  const storage::ColumnSet& columns = *write.columns;
  const uint32_t g = write.group, table = write.table->id();
  const uint64_t sequence = storage::word::sequence(storage::word::next(write.locked_from, false));
  if (write.kind == WriteKind::kRemove) return to.header(EntryKind::kRemove, g, table, write.key.number(), sequence, 0, 0);
  const bool whole = write.kind == WriteKind::kPresent || columns.whole;
  if (const size_t bytes = logged_bytes(write); whole || bytes != 0) {
    to.header(whole ? EntryKind::kWhole : EntryKind::kColumns, g, table, write.key.number(), sequence, whole ? 0 : columns.columns, bytes);
    if (write.table->layout().sized_rows()) [[unlikely]] return to.put(write.image, bytes);
    for (uint32_t s = columns.begin[g]; s < columns.begin[g + 1]; ++s)
      to.put(write.image + columns.spans[s].row_offset, columns.spans[s].size);
  }
  if (write.additions == nullptr) [[likely]] return;
  for (const Addition& addition : *write.additions) {
    to.header(EntryKind::kAdd, g, table, write.key.number(), sequence, addition.row_offset, sizeof addition.delta);
    to.put(reinterpret_cast<const std::byte*>(&addition.delta), sizeof addition.delta);
  }
}

// Room for the record, taken before any lock, since that may wait for the disk.
inline Status reserve_record(log::Log& log, uint32_t worker, const WriteSet& writes, std::byte** place) {
  return log.reserve(worker, record_bytes_max(writes), place);
}

// Once nothing can fail any more, with the locks held or after a region that wrote the rows: so a
// record is a commit, and the number and the sequences in it are those that the rows get. The last
// of the steps between which the log knows this commit to be under way (Log::begin_commit).
// ends: no other record of this number follows from this worker.
inline void publish_record(log::Log& log, uint32_t worker, std::byte* place, SnapshotNumber n, const WriteSet& writes, bool ends = true) {
  if (ELIDER_MUTANT(kWithdrawEarly)) log.end_commit(worker);
  ELIDER_TEST_POINT("occ.commit.before_record");
  *place = static_cast<std::byte>(RecordKind::kCommit);
  EntryWriter to(place + 1);
  for (const WriteEntry& write : writes)
    if (write.kind != WriteKind::kNone) put_write(to, write);
  if (to.end() != place + 1) log.publish(worker, n, static_cast<size_t>(to.end() - place));
  if (ends || ELIDER_MUTANT(kWithdrawBetweenPieces)) log.end_commit(worker);
}

}  // namespace elider::txn
