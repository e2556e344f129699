// The record of a commit in the log (log/log.h). It contains the write set as entries
// (txn/log_entry.h). All protocols use the same format.
//
// Thread safety: pure functions.
#pragma once

#include "elider/snapshot_number.h"
#include "log/log.h"
#include "txn/log_entry.h"
#include "txn/write_set.h"

namespace elider::txn {

// Returns the size of the columns that are written.
inline size_t logged_bytes(const WriteEntry& write) {
  const storage::Layout& layout = write.table->layout();
  if (layout.sized_rows() && !write.leaves_none()) [[unlikely]] return WriteSet::image_bytes(layout, write.image);
  return write.columns->bytes[write.group];
}

// Returns the maximum size of the record.
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

// Reserves room for the record. Called before the commit acquires any lock, because this may wait
// for the disk.
inline Status reserve_record(log::Log& log, uint32_t worker, const WriteSet& writes, std::byte** place) {
  return log.reserve(worker, record_bytes_max(writes), place);
}

// Publishes the record. Called when the commit can no longer fail, either with the locks held or
// after a region that wrote the rows. So each record is a commit, and the record's number and
// sequence numbers equal those of the rows. The commit must stay announced (Log::begin_commit)
// until this call. ends: this worker will not publish another record with this number.
void publish_record(log::Log& log, uint32_t worker, std::byte* place, SnapshotNumber n, const WriteSet& writes, bool ends = true);

}  // namespace elider::txn
