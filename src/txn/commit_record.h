// Commit records: the records that commits append to the log (log/log.h). A record encodes the
// commit's write set as a list of entries (txn/log_entry.h). All protocols use the same format.
//
// Thread safety: pure functions.
#pragma once

#include "elider/snapshot_number.h"
#include "log/log.h"
#include "txn/log_entry.h"
#include "txn/write_set.h"

namespace elider::txn {

// Returns the total size in bytes of the columns that `write` writes.
inline size_t logged_bytes(const WriteEntry& write) {
  const storage::Layout& layout = write.table->layout();
  if (layout.sized_rows() && !write.leaves_none()) [[unlikely]] return WriteSet::image_bytes(layout, write.image);
  return write.columns->bytes[write.group];
}

// Returns an upper bound on the size in bytes of the record of these writes.
inline size_t record_bytes_max(const WriteSet& writes) {
  size_t bytes = 1;
  for (const WriteEntry& write : writes) {
    size_t header = kEntryHeaderBytesMax;
    if (write.table->byte_keys()) [[unlikely]] header += kKeyLengthsBytesMax + detail::bytes_of(write.key).size();
    bytes += header + logged_bytes(write);
    if (write.additions != nullptr) [[unlikely]] bytes += write.additions->size() * (header + sizeof(uint64_t));
  }
  return bytes;
}

// Reserves space for the record in the log. A commit calls reserve_record() before it acquires any
// lock, because the call may wait for the disk.
inline Status reserve_record(log::Log& log, uint32_t worker, const WriteSet& writes, std::byte** place) {
  return log.reserve(worker, record_bytes_max(writes), place);
}

// Writes the record into the reserved space and publishes it. Must be called when the commit can no
// longer fail: either while it holds its locks, or after a hardware transaction has written the
// rows. Therefore each published record belongs to a successful commit, and has the same snapshot
// number and version number as the rows that were written. The commit must have been announced
// to the log (Log::begin_commit). If `ends` is true, the announcement ends when the record is
// published; pass false if this worker will publish another record with number `n`.
void publish_record(log::Log& log, uint32_t worker, std::byte* place, SnapshotNumber n, const WriteSet& writes, bool ends = true);

}  // namespace elider::txn
