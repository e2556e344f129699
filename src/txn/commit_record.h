// The record of a commit in the log (log/log.h): its write set as entries (txn/log_entry.h). It is
// the same for all protocols.
//
// Thread safety: pure functions.
#pragma once

#include "elider/snapshot_number.h"
#include "log/log.h"
#include "txn/log_entry.h"
#include "txn/write_set.h"

namespace elider::txn {

// The size of the columns that are written.
inline size_t logged_bytes(const WriteEntry& write) {
  const storage::Layout& layout = write.table->layout();
  if (layout.sized_rows() && !write.leaves_none()) [[unlikely]] return WriteSet::image_bytes(layout, write.image);
  return write.columns->bytes[write.group];
}

// The greatest possible size of the record.
inline size_t record_bytes_max(const WriteSet& writes) {
  size_t bytes = 1;
  for (const WriteEntry& write : writes) {
    bytes += kEntryHeaderBytesMax + logged_bytes(write);
    if (write.additions != nullptr) [[unlikely]] bytes += write.additions->size() * (kEntryHeaderBytesMax + sizeof(uint64_t));
  }
  return bytes;
}

// Reserves room for the record before any lock is taken, since that may wait for the disk.
inline Status reserve_record(log::Log& log, uint32_t worker, const WriteSet& writes, std::byte** place) {
  return log.reserve(worker, record_bytes_max(writes), place);
}

// Called when the commit can no longer fail, with the locks held or after a region that wrote the
// rows. So a record is a commit, and its number and sequences are those that the rows get. This is
// the last step before which Log::begin_commit announces the commit. ends: this worker will not
// publish another record of this number.
void publish_record(log::Log& log, uint32_t worker, std::byte* place, SnapshotNumber n, const WriteSet& writes, bool ends = true);

}  // namespace elider::txn
