#include "txn/commit_record.h"

#include "base/test_points.h"

namespace elider::txn {
namespace {

// AnyKey is Key for tables with number keys, and Bytes for tables with byte keys.
template <class AnyKey>
[[gnu::always_inline]] inline void put_write(EntryWriter& to, const WriteEntry& write, AnyKey key) {
  const storage::ColumnSet& columns = *write.columns;
  const uint32_t g = write.group, table = write.table->id();
  const uint64_t version_number = storage::word::version_number(storage::word::next(write.locked_from, false));
  if (write.kind == WriteKind::kRemove) return to.header(EntryKind::kRemove, g, table, key, version_number, 0, 0);
  const bool whole = write.kind == WriteKind::kPresent || columns.whole;
  if (const size_t bytes = logged_bytes(write); whole || bytes != 0) {
    to.header(whole ? EntryKind::kWhole : EntryKind::kColumns, g, table, key, version_number, whole ? 0 : columns.columns, bytes);
    if (write.table->layout().sized_rows()) [[unlikely]]
      return to.put(write.image, bytes);
    for (uint32_t s = columns.begin[g]; s < columns.begin[g + 1]; ++s)
      to.put(write.image + columns.spans[s].row_offset, columns.spans[s].size);
  }
  if (write.additions == nullptr) [[likely]]
    return;
  for (const Addition& addition : *write.additions) {
    to.header(EntryKind::kAdd, g, table, key, version_number, addition.row_offset, sizeof addition.delta);
    to.put(reinterpret_cast<const std::byte*>(&addition.delta), sizeof addition.delta);
  }
}

[[gnu::noinline]] void put_bytes(EntryWriter& to, const WriteEntry& write) { put_write(to, write, detail::bytes_of(write.key)); }

}  // namespace

void publish_record(log::Log& log, uint32_t worker, std::byte* place, SnapshotNumber n, const WriteSet& writes, bool ends) {
  if (ELIDER_MUTANT(kWithdrawEarly)) log.end_commit(worker);
  ELIDER_TEST_POINT("occ.commit.before_record");
  *place = static_cast<std::byte>(RecordKind::kCommit);
  EntryWriter to(place + 1);
  for (const WriteEntry& write : writes)
    if (write.kind != WriteKind::kNone) {
      if (write.table->byte_keys()) [[unlikely]] put_bytes(to, write);
      else put_write(to, write, write.key.number());
    }
  if (to.end() != place + 1) log.publish(worker, n, static_cast<size_t>(to.end() - place));
  if (ends || ELIDER_MUTANT(kWithdrawBetweenPieces)) log.end_commit(worker);
}

}  // namespace elider::txn
