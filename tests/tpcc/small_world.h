// A TPC-C database that is too small for the specification and quick to load, for tests.
// Thread safety: none.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/tpcc/consistency.h"
#include "bench/tpcc/load.h"
#include "bench/tpcc/terminal.h"
#include "tests/support/combination.h"

namespace elider::bench::tpcc {

struct SmallWorld {
  explicit SmallWorld(Sizes sizes = {.warehouses = 1, .items = 200, .customers = 30}, uint32_t threads = 1, uint64_t seed = 1,
                      IndexChoice index = IndexChoice::kMixed, const Options& database = {}) {
    workload.sizes = sizes;
    workload.constants = NonUniformConstants::draw(seed);
    workload.seed = seed;
    workload.threads = threads;
    auto opened = Database::open(database);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    db = std::move(*opened);
    auto made = create_tables(db, index);
    EXPECT_TRUE(made.ok()) << made.status().message();
    tables = *made;
    CommonOptions options;
    options.threads = threads;
    options.quiet = true;
    loaded = load(options, db, tables, workload);
    EXPECT_TRUE(loaded.status.ok()) << loaded.status.message();
    const bool in_pieces = db.protocol() == Protocol::kChopped;
    if (in_pieces) {
      const Status installed = install_chopped(db, tables, &chopped, {.choices = {.deferring = true}, .always_in_pieces = true});
      EXPECT_TRUE(installed.ok()) << installed.message();
    }
    for (uint32_t thread = 0; thread < threads; ++thread)
      terminals.push_back(
          std::make_unique<Terminal>(db, tables, workload, SnapshotUse{}, thread, 0, nullptr, in_pieces ? &chopped : nullptr));
  }

  // Runs on the given combination. Without ordered tables, it uses TPC-C's mixture of indexes.
  explicit SmallWorld(const test::Combination& on, Sizes sizes = {.warehouses = 1, .items = 200, .customers = 30}, uint32_t threads = 1,
                      uint64_t seed = 1)
      : SmallWorld(sizes, threads, seed, on.ordered() ? IndexChoice::kBtree : IndexChoice::kMixed, test::options_of(on)) {}

  RunTotals totals() const {
    RunTotals sum;
    for (const auto& terminal : terminals) {
      sum.new_orders += terminal->counts().new_orders;
      sum.payments += terminal->counts().payments;
      sum.delivered += terminal->counts().delivered;
      sum.history_keys.push_back(terminal->history_keys_used());
    }
    return sum;
  }

  void run(uint32_t transactions, uint32_t thread = 0) {
    for (uint32_t i = 0; i < transactions; ++i) {
      const uint32_t kind = terminals[thread]->run_one();
      ASSERT_LT(kind, kKinds) << terminals[thread]->failure();
    }
  }

  ConsistencyReport check(const RunTotals& expected) {
    auto report = check_consistency(db, tables, workload, expected);
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report.ok() ? *report : ConsistencyReport{};
  }

  // The clauses that do not hold.
  std::vector<std::string> violated(const RunTotals& expected) {
    std::vector<std::string> clauses;
    for (const Condition& condition : check(expected).conditions)
      if (condition.violations != 0) clauses.push_back(condition.clause);
    return clauses;
  }

  Workload workload;
  Database db;
  Tables tables;
  ChoppedTransactions chopped;
  LoadResult loaded;
  std::vector<std::unique_ptr<Terminal>> terminals;
};

}  // namespace elider::bench::tpcc
