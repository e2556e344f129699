#include "bench/tpcc/resume.h"

#include <algorithm>
#include <atomic>
#include <string>

#include "bench/tpcc/consistency_facts.h"

namespace elider::bench::tpcc {
namespace {

Status not_whole(const std::string& table, uint64_t rows, const std::string& wanted) {
  return Status::invalid_argument("the database is not a completely loaded TPC-C database: table '" + table + "' has " +
                                  std::to_string(rows) + " rows, not " + wanted);
}

// Derives the sizes from tables whose number of rows does not change.
Result<Sizes> find_sizes(const Database& db, const Tables& tables) {
  const auto rows = [&](const auto& table) { return rows_of(db, table.schema().name); };
  Sizes sizes;
  sizes.warehouses = static_cast<uint32_t>(rows(tables.warehouse));
  sizes.items = static_cast<uint32_t>(rows(tables.item));
  const uint64_t districts = uint64_t{sizes.warehouses} * kDistricts;
  if (sizes.warehouses == 0 || sizes.warehouses > kWarehousesMax) return not_whole("warehouse", sizes.warehouses, "1 to 65535");
  if (rows(tables.district) != districts) return not_whole("district", rows(tables.district), std::to_string(districts));
  sizes.customers = static_cast<uint32_t>(rows(tables.customer) / districts);
  if (sizes.customers == 0 || rows(tables.customer) % districts != 0)
    return not_whole("customer", rows(tables.customer), "a multiple of " + std::to_string(districts) + ", the number of districts");
  const uint64_t stocks = uint64_t{sizes.warehouses} * sizes.items;
  if (stocks == 0 || rows(tables.stock) != stocks) return not_whole("stock", rows(tables.stock), std::to_string(stocks));
  const uint64_t loaded = districts * sizes.customers;
  if (rows(tables.order) < loaded) return not_whole("order", rows(tables.order), std::to_string(loaded) + " or more");
  if (rows(tables.history) < loaded) return not_whole("history", rows(tables.history), std::to_string(loaded) + " or more");
  return sizes;
}

// Finds the largest history key up to `last`. Returns false if no such key exists.
Result<bool> last_history_key(Database& db, const Tables& tables, Key last, Key* key) {
  bool found = false;
  Status status = db.run_read_only([&](Transaction& txn) -> Status {
    found = false;
    return txn.scan(tables.history, KeyRange{0, last}, {.limit = 1, .reverse = true}, [&](Key at, const View<History>&) {
      *key = at;
      found = true;
      return false;
    });
  });
  if (!status.ok()) return status;
  return found;
}

// Finds how many history keys each thread of earlier runs has used. Some of these keys may be
// missing, because their rows were lost in a crash.
Status find_history_keys(Database& db, const Tables& tables, std::vector<uint64_t>* keys) {
  for (Key last = kKeyMax;;) {
    Key key = 0;
    const auto found = last_history_key(db, tables, last, &key);
    if (!found.ok()) return found.status();
    const auto [source, counter] = HistoryKey::unpack(key);
    if (!*found || source == kLoaderSource) return {};
    if (keys->size() < source) keys->resize(source);
    (*keys)[source - 1] = counter + 1;
    last = HistoryKey::pack_unchecked(source, 0) - 1;
  }
}

}  // namespace

Result<Earlier> find_earlier(Database& db, const Tables& tables, uint32_t threads) {
  auto sizes = find_sizes(db, tables);
  if (!sizes.ok()) return sizes.status();
  Earlier earlier;
  earlier.sizes = *sizes;
  const uint64_t loaded = uint64_t{sizes->warehouses} * kDistricts * sizes->customers;
  earlier.totals.new_orders = rows_of(db, tables.order.schema().name) - loaded;
  earlier.totals.payments = rows_of(db, tables.history.schema().name) - loaded;
  std::atomic<uint64_t> delivered{0};
  Status status = run_tasks(threads, uint64_t{sizes->warehouses} * kDistricts, [&](uint64_t i) -> Status {
    std::vector<Key> keys(sizes->customers);
    for (uint32_t c = 1; c <= sizes->customers; ++c) keys[c - 1] = CustomerKey::pack_unchecked(i / kDistricts + 1, i % kDistricts + 1, c);
    return read_rows(db, tables.customer, tables.customer_checked, keys, true, [&](Key, const Customer& row) {
      delivered.fetch_add(row.delivery_count, std::memory_order_relaxed);
    });  // relaxed: only a sum
  });
  if (!status.ok()) return status;
  earlier.totals.delivered = delivered.load();
  if (status = find_history_keys(db, tables, &earlier.totals.history_keys); !status.ok()) return status;
  return earlier;
}

RunTotals add_totals(const RunTotals& earlier, const RunTotals& mine) {
  RunTotals all = mine;
  all.new_orders += earlier.new_orders;
  all.payments += earlier.payments;
  all.delivered += earlier.delivered;
  for (size_t thread = mine.history_keys.size(); thread < earlier.history_keys.size(); ++thread)
    all.history_keys.push_back(earlier.history_keys[thread]);
  return all;
}

}  // namespace elider::bench::tpcc
