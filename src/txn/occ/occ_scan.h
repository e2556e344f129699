// OccTransaction: range scans, leaf by leaf, through the key index or a secondary one (DBX, section 5.3,
// "range query"). Every leaf of the range is tracked, so that the commit finds phantoms.
#pragma once

#include "txn/occ/occ_transaction.h"

namespace elider::txn {

// Whether a scan may go on once its visitor has returned. `ended`: ended_ before that. Another transaction than the scan's may be
// running here by then, of another thread even: nothing else is looked at first.
template <class Sync>
[[gnu::always_inline]] inline Status OccTransaction<Sync>::after_visit(uint64_t ended) const {
  if (ended_.load(std::memory_order_relaxed) != ended) [[unlikely]]
    return Status(Code::kFinished, "a scan's visitor has ended the transaction");
  if (state_ != State::kActive) [[unlikely]] return state_ == State::kEditing ? refuse_pending_edit(TableRef(edit_.table)) : doom_;
  return {};
}

template <class Sync>
Status OccTransaction<Sync>::do_scan(const TableRef& ref, KeyRange range, const ScanOptions& options,
                                     FunctionRef<bool(Key, RawView)> visit) {
  const ColumnSet* set = check<Access::kRead>(ref, options.columns);
  if (set == nullptr) [[unlikely]] return refuse(ref, options.columns);
  auto& table = static_cast<TableType&>(*ref.base());
  if (!table.ordered()) return refuse_scan_of_hashed(ref);
  ScanHistory history(*this, table, range, options.reverse);
  std::byte* image = arena_.allocate(table.layout().row_bytes());
  detail::ImageHeader header;
  uint64_t visited = 0;
  Status result;
  const uint64_t ended = ended_.load(std::memory_order_relaxed);
  uint32_t node = 0;  // of the leaf at hand
  auto track = [&](const index::Witness& witness, Key from, Key to) { node = track_scanned(table, witness, from, to); };
  auto count_seen = [&](Row* row, bool there) {
    Presence presence;
    if (!writes_.empty() && own_presence(table, row, &presence)) {
      if (presence == Presence::kUnknown) nodes_[node].seen = NodeEntry::kUnknown;
      there = presence == Presence::kPresent;
    }
    if (there && nodes_[node].seen != NodeEntry::kUnknown) ++nodes_[node].seen;
  };
  // What lies beyond the last row that was looked at is no concern of this transaction.
  auto stop_at = [&](Key key) {
    history.stopped(key);
    (options.reverse ? nodes_[node].first : nodes_[node].last) = key;
  };
  auto prefetch = [&](index::Handle handle) { prefetch_row(TableType::as_row(handle), *set); };
  auto row_found = [&](Key key, index::Handle handle) {
    Row* row = TableType::as_row(handle);
    Status status = read_row(table, row, key, *set, image, &header);
    count_seen(row, status.ok());
    if (status.not_found()) return true;
    if (!status.ok()) [[unlikely]] { result = std::move(status); return false; }
    history.found(key, header);
    const bool wanted = visit(key, RawView(image, &header));
    if (Status left = after_visit(ended); !left.ok()) [[unlikely]] { result = std::move(left); return false; }
    if (!wanted || ++visited == options.limit) { stop_at(key); return false; }
    return true;
  };
  if (options.limit != 0) scan_leaves(table.tree(), range.first, range.last, options.reverse, options.limit, track, prefetch, row_found);
  history.done(result.ok());
  return result;
}

template <class Sync>
Status OccTransaction<Sync>::do_scan_index(const IndexRef& ref, KeyRange range, const ScanOptions& options,
                                           FunctionRef<bool(Key, RawView)> visit) {
  const ColumnSet* set = check<Access::kRead>(ref.table, options.columns);
  if (set == nullptr) [[unlikely]] return refuse(ref.table, options.columns);
  auto& table = static_cast<TableType&>(*ref.table.base());
  if (ref.position >= table.secondary_count()) return refuse_index(ref.table, ref.position);
  return scan_secondary(table, ref.position, range, options, *set, visit);
}

template <class Sync>
Status OccTransaction<Sync>::scan_secondary(TableType& table, uint32_t i, KeyRange range, const ScanOptions& options,
                                            const ColumnSet& wanted_set, FunctionRef<bool(Key, RawView)> visit) {
  const ColumnSet& set = table.layout().with_index(wanted_set, i);  // the value must be computed to be believed
  IndexScanRecord record(recording() ? &operations_ : nullptr, table.id(), i, range, options.reverse);
  std::byte* image = arena_.allocate(table.layout().row_bytes());
  detail::ImageHeader header;
  uint64_t visited = 0;
  Status result;
  const uint64_t ended = ended_.load(std::memory_order_relaxed);
  uint32_t range_at = 0;  // of the leaf at hand
  auto track = [&](const index::Witness& witness, const index::SecondaryKey& from, const index::SecondaryKey& to) {
    range_at = track_index_range(table, i, witness, from, to);
  };
  // Whether the row had the value before this transaction's writes is for its cells to say, where there are any.
  auto count_seen = [&](Row* row, uint64_t value, bool matches) {
    if (!writes_.empty() && writes_row(table, row)) {
      const Presence committed = committed_match(table, row, i, value, nullptr);
      if (committed == Presence::kUnknown) index_ranges_[range_at].seen = NodeEntry::kUnknown;
      matches = committed == Presence::kPresent;
    }
    if (matches && index_ranges_[range_at].seen != NodeEntry::kUnknown) ++index_ranges_[range_at].seen;
  };
  auto prefetch = [&](index::Handle handle) { prefetch_row(TableType::as_row(handle), set); };
  auto row_found = [&](const index::SecondaryKey& entry, index::Handle handle) {
    // A block that has left its table, and an entry that is about to be taken out: the key's row, if it has
    // one, has another entry, and the leaf of that one is tracked.
    if (word::removed(TableType::as_row(handle)->cell(table.layout(), 0).load())) [[unlikely]] return true;
    Status status = read_row(table, TableType::as_row(handle), entry.primary, set, image, &header);
    if (!status.ok() && !status.not_found()) [[unlikely]] { result = std::move(status); return false; }
    const bool matches = status.ok() && index_value(table, i, entry.primary, image) == entry.value;
    count_seen(TableType::as_row(handle), entry.value, matches);
    if (!matches) return true;  // no row, or an entry of an earlier or a later value
    record.found(entry.value, entry.primary);
    const bool more = visit(entry.primary, RawView(image, &header));
    if (Status left = after_visit(ended); !left.ok()) [[unlikely]] { result = std::move(left); return false; }
    if (more && ++visited != options.limit) return true;
    (options.reverse ? index_ranges_[range_at].first : index_ranges_[range_at].last) = entry;
    record.stopped();
    return false;
  };
  if (options.limit != 0)
    scan_leaves(table.secondary(i), index::SecondaryKey{range.first, 0}, index::SecondaryKey{range.last, kKeyMax}, options.reverse,
                options.limit, track, prefetch, row_found);
  if (result.ok() && options.limit != 0) record.done();
  return result;
}

}  // namespace elider::txn
