// The consistency conditions of TPC-C (specification revision 5.11, clauses 3.3.2.1 to 3.3.2.12),
// checked through the public API alone, on snapshots; and four of our own: that no committed
// NewOrder, Payment or Delivery was lost, and that each stock row counted what was taken from it.
//
// Condition 11 is written for a database as it was loaded: orders - new orders = 2,100 a district.
// After a run the deliveries are added to that number, as the customers have counted them.
// Thread safety: one thread calls it, while no transaction runs; it reads on several.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/tpcc/input.h"
#include "bench/tpcc/schema.h"

namespace elider::bench::tpcc {

// What the terminals know to have committed since loading.
struct RunTotals {
  uint64_t new_orders = 0;
  uint64_t payments = 0;
  uint64_t delivered = 0;
  std::vector<uint64_t> history_keys;  // by thread: keys used by its Payments, counted from 0
};

struct Condition {
  static constexpr size_t kExamplesMax = 3;

  std::string clause;     // "3.3.2.1", or a name for our own
  std::string statement;  // "w_ytd = sum(d_ytd)"
  uint64_t checked = 0;     // warehouses, districts, orders, ... compared
  uint64_t violations = 0;
  std::vector<std::string> examples;  // the first violations: which row, and the two values
};

struct ConsistencyReport {
  std::vector<Condition> conditions;
  double seconds = 0;

  bool ok() const;
  const Condition* find(std::string_view clause) const;  // null: no such condition
  // One line a condition that does not hold, and below it its examples; empty if all hold.
  std::vector<std::string> complaints() const;
};

// An error is one of reading (the database's own, or a row that must exist and does not).
Result<ConsistencyReport> check_consistency(Database& db, const Tables& tables, const Workload& workload, const RunTotals& totals);

}  // namespace elider::bench::tpcc
