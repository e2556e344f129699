#include "tools/rows/scan.h"

#include <algorithm>
#include <type_traits>
#include <vector>

namespace elider::tools {

namespace {

using Visit = FunctionRef<bool(const RowKey&, const RawView&)>;

Status scan_ordered(Transaction& txn, const TableRef& table, const RowRange& range, bool reverse, Visit visit) {
  const ScanOptions options{.reverse = reverse};
  if (table.byte_keys())
    return txn.scan(table, std::get<ByteRange>(range), options, [&](Bytes key, RawView row) { return visit({0, key}, row); });
  return txn.scan(table, std::get<KeyRange>(range), options, [&](Key key, RawView row) { return visit({key, {}}, row); });
}

constexpr size_t kBatch = 256;

// Visits the rows of these keys, which a scan of the same snapshot has found. Each batch is read in
// its own transaction, because a transaction keeps all rows that it reads by their keys.
template <class K>
Status visit_sorted(Database& db, const RunPolicy& policy, const TableRef& table, std::vector<K>& keys, bool reverse, Visit visit) {
  std::sort(keys.begin(), keys.end());
  if (reverse) std::reverse(keys.begin(), keys.end());
  std::vector<RawView> rows(kBatch);
  std::vector<Bytes> bytes(kBatch);
  bool wanted = true;
  for (size_t begin = 0; begin < keys.size() && wanted; begin += kBatch) {
    const size_t size = std::min(kBatch, keys.size() - begin);
    Status status = db.run_read_only(
        [&](Transaction& txn) -> Status {
          Status read;
          if constexpr (std::is_same_v<K, Key>) {
            read = txn.multi_get(table, &keys[begin], size, {}, rows.data());
          } else {
            std::copy_n(keys.begin() + static_cast<std::ptrdiff_t>(begin), size, bytes.begin());
            read = txn.multi_get(table, bytes.data(), size, {}, rows.data());
          }
          for (size_t i = 0; i < size && read.ok() && wanted; ++i) {
            if constexpr (std::is_same_v<K, Key>)
              wanted = visit({keys[begin + i], {}}, rows[i]);
            else
              wanted = visit({0, bytes[i]}, rows[i]);
          }
          return read;
        },
        policy);
    if (!status.ok()) return status;
  }
  return {};
}

Status scan_hashed(Database& db, const TableRef& table, const RowRange& range, bool reverse, Visit visit) {
  const Result<HeldSnapshot> held = db.hold_snapshot();
  if (!held.ok()) return held.status();
  const RunPolicy policy{.snapshot = &*held};
  if (table.byte_keys()) {
    const ByteRange& bounds = std::get<ByteRange>(range);
    if (Status refused = detail::check_range(table, bounds); !refused.ok()) return refused;
    const detail::ByteRangeKeys ends(bounds);
    const Bytes first = detail::bytes_of(ends.range().from), end = detail::bytes_of(ends.range().to);
    std::vector<OwnedBytes> keys;
    const auto collect = [&](Bytes key, RawView, unsigned) {
      if (key >= first && (ends.range().to_end || key < end)) keys.emplace_back(key);
      return true;
    };
    Status status = db.run_read_only([&](Transaction& txn) { return txn.scan_rows(table, RowScanOptions(), collect); }, policy);
    return status.ok() ? visit_sorted(db, policy, table, keys, reverse, visit) : status;
  }
  const KeyRange bounds = std::get<KeyRange>(range);
  std::vector<Key> keys;
  const auto collect = [&](Key key, RawView, unsigned) {
    if (key >= bounds.first && key <= bounds.last) keys.push_back(key);
    return true;
  };
  Status status = db.run_read_only([&](Transaction& txn) { return txn.scan_rows(table, RowScanOptions(), collect); }, policy);
  return status.ok() ? visit_sorted(db, policy, table, keys, reverse, visit) : status;
}

}  // namespace

Status scan_table(Database& db, const TableRef& table, const RowRange& range, bool reverse, Visit visit) {
  if (!is_ordered(table.schema().key_index)) return scan_hashed(db, table, range, reverse, visit);
  return db.run_read_only([&](Transaction& txn) { return scan_ordered(txn, table, range, reverse, visit); });
}

Status get_row(Database& db, const TableRef& table, const RowKey& key, FunctionRef<void(const RawView&)> visit) {
  return db.run_read_only([&](Transaction& txn) -> Status {
    RawView row;
    Status status = table.byte_keys() ? txn.get(table, key.bytes, {}, &row) : txn.get(table, key.number, {}, &row);
    if (status.code() == Code::kNotFound) return {};
    if (status.ok()) visit(row);
    return status;
  });
}

}  // namespace elider::tools
