// The data that the consistency checks read: sums over the history, and the orders and customers of
// one district. They are read in several read-only transactions of bounded size.
//
// No transaction may write meanwhile, so that all of these transactions read the same state.
// Thread safety: all threads may add to Sums and GlobalFacts; the other objects belong to one
// thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bench/tpcc/input.h"
#include "bench/tpcc/schema.h"

namespace elider::bench::tpcc {

// Counters that several threads add to.
class Sums {
 public:
  explicit Sums(size_t count) : values_(count) {}
  // Relaxed: the counters are read after the threads that add to them have ended.
  void add(size_t i, int64_t value) { values_[i].fetch_add(value, std::memory_order_relaxed); }
  int64_t operator[](size_t i) const { return values_[i].load(std::memory_order_relaxed); }

 private:
  std::vector<std::atomic<int64_t>> values_;
};

// Facts about the whole database: one sum per customer, district or stock row, and total counts.
struct GlobalFacts {
  explicit GlobalFacts(const Sizes& sizes);

  size_t district(uint64_t warehouse, uint64_t district) const { return (warehouse - 1) * kDistricts + district - 1; }
  size_t customer(uint64_t warehouse, uint64_t d, uint64_t customer) const {
    return district(warehouse, d) * sizes.customers + customer - 1;
  }
  size_t stock(uint64_t warehouse, uint64_t item) const { return (warehouse - 1) * sizes.items + item - 1; }
  bool has_customer(uint64_t warehouse, uint64_t district, uint64_t customer) const;
  bool has_stock(uint64_t warehouse, uint64_t item) const;

  const Sizes sizes;
  Sums paid_by_customer, paid_to_district, district_ytd;  // the first two sum up h_amount, the third holds d_ytd
  Sums stock_ytd, stock_orders, stock_remote;             // computed from the order lines of NewOrders
  std::atomic<uint64_t> payments{0}, new_orders{0}, delivered{0};
};

struct CustomerFacts {
  int64_t balance = 0, ytd_payment = 0;
  int64_t delivered_amount = 0;  // the sum of the order lines with a delivery date
  uint32_t delivery_count = 0;
};

struct OrderFacts {
  uint32_t order = 0;
  uint16_t customer = 0;
  uint8_t carrier = 0, line_count = 0;
  uint32_t lines_found = 0;
  uint32_t lines_dated = 0;  // number of order lines with a delivery date
};

struct DistrictFacts {
  District district{};                    // only ytd and next_order are set
  std::vector<CustomerFacts> customers;   // indexed by number - 1
  std::vector<OrderFacts> orders;         // ascending by number
  std::vector<uint32_t> new_orders;       // numbers, ascending
  uint64_t lines = 0;
  uint64_t lines_ordered = 0;             // sum of line_count
};

// Returns the number of rows in `table`, including rows with keys that the benchmark never
// assigned.
uint64_t rows_of(const Database& db, const std::string& table);

// Calls task(i) for 0 <= i < count on the given number of threads. After the first error, which is
// returned, no further task is started.
Status run_tasks(uint32_t threads, uint64_t count, const std::function<Status(uint64_t)>& task);

// Adds to `global` the history rows of `source` that have the counters counter(first) to
// counter(last - 1). Skips missing rows. Fails with kInvalidArgument if a row names a customer or
// district that cannot exist.
Status read_history(Database& db, const Tables& tables, uint32_t source, const std::function<uint64_t(uint64_t)>& counter, uint64_t first,
                    uint64_t last, GlobalFacts& global);
// Reads one district. Also adds the quantities of its order lines to `global`.
Result<DistrictFacts> read_district(Database& db, const Tables& tables, uint32_t warehouse, uint32_t district, GlobalFacts& global);

// Reads rows by key, 256 per transaction, and calls visit(key, row) for each. Returns kNotFound if
// a row is missing and `must_exist` is true.
template <class Row, class Visit>
Status read_rows(Database& db, const Table<Row>& table, const Columns<Row>& columns, std::span<const Key> keys, bool must_exist,
                 Visit&& visit) {
  constexpr size_t kBatch = 256;
  std::vector<View<Row>> views(kBatch);
  for (size_t at = 0; at < keys.size(); at += kBatch) {
    const std::span<const Key> some = keys.subspan(at, std::min(kBatch, keys.size() - at));
    Status status = db.run_read_only([&](Transaction& txn) -> Status {
      if (Status read = txn.multi_get(table, some, std::span(views.data(), some.size()), columns); !read.ok()) return read;
      for (size_t i = 0; i < some.size(); ++i) {
        if (views[i]) visit(some[i], *views[i]);
        else if (must_exist)
          return Status(Code::kNotFound, "table " + table.schema().name + " does not have a row with key " + std::to_string(some[i]));
      }
      return {};
    });
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace elider::bench::tpcc
