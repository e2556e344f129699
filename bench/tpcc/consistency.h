// Checks the consistency conditions of TPC-C (specification revision 5.11, clauses 3.3.2.1 to
// 3.3.2.12) through the public API, on snapshots. Four more conditions are our own: no committed
// NewOrder, Payment or Delivery was lost, and each stock row's counters match the order lines that
// took from it.
//
// Condition 11 assumes a freshly loaded database: orders - new orders = 2,100 per district. After a
// run, the number of deliveries, which the customer rows count, is added to 2,100.
// Thread safety: one thread calls check_consistency(), which reads with several threads, while no
// transaction runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/tpcc/input.h"
#include "bench/tpcc/schema.h"

namespace elider::bench::tpcc {

// The numbers of transactions that the terminals have committed since loading.
struct RunTotals {
  uint64_t new_orders = 0;
  uint64_t payments = 0;
  uint64_t delivered = 0;
  std::vector<uint64_t> history_keys;  // by thread: number of history keys that its Payments used
};

struct Condition {
  static constexpr size_t kExamplesMax = 3;

  std::string clause;     // "3.3.2.1", or the name of one of our own conditions
  std::string statement;  // "w_ytd = sum(d_ytd)"
  uint64_t checked = 0;     // number of comparisons of warehouses, districts, orders, ...
  uint64_t violations = 0;
  std::vector<std::string> examples;  // the first violations, each with its row and the two values
};

struct ConsistencyReport {
  std::vector<Condition> conditions;
  double seconds = 0;

  bool ok() const;
  const Condition* find(std::string_view clause) const;  // returns null if the clause is unknown
  // One line for each condition that does not hold, followed by its examples. Empty if all hold.
  std::vector<std::string> complaints() const;
};

// Returns an error only if reading failed: the database returned an error, a required row is
// missing, or a row names a customer, district or stock row that cannot exist.
Result<ConsistencyReport> check_consistency(Database& db, const Tables& tables, const Workload& workload, const RunTotals& totals);

}  // namespace elider::bench::tpcc
