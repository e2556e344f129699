// Checks the consistency conditions of TPC-C (specification revision 5.11, clauses 3.3.2.1 to
// 3.3.2.12) through the public API, on snapshots. There are four more conditions of our own: no
// committed NewOrder, Payment or Delivery was lost, and each stock row counted the quantities taken
// from it.
//
// Condition 11 is written for a database that was just loaded: orders - new orders = 2,100 per
// district. After a run the number of deliveries, which the customers' rows count, is added to
// 2,100.
// Thread safety: one thread calls it while no transaction runs; it reads on several threads.
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
  std::vector<uint64_t> history_keys;  // number of keys used by each thread's Payments
};

struct Condition {
  static constexpr size_t kExamplesMax = 3;

  std::string clause;     // "3.3.2.1", or the name of a condition of our own
  std::string statement;  // "w_ytd = sum(d_ytd)"
  uint64_t checked = 0;     // number of warehouses, districts, orders, ... compared
  uint64_t violations = 0;
  std::vector<std::string> examples;  // the first violations: the row and the two values
};

struct ConsistencyReport {
  std::vector<Condition> conditions;
  double seconds = 0;

  bool ok() const;
  const Condition* find(std::string_view clause) const;  // null: unknown clause
  // One line for each condition that does not hold, followed by its examples. Empty if all hold.
  std::vector<std::string> complaints() const;
};

// An error means that reading failed: the database returned an error, or a required row does not
// exist.
Result<ConsistencyReport> check_consistency(Database& db, const Tables& tables, const Workload& workload, const RunTotals& totals);

}  // namespace elider::bench::tpcc
