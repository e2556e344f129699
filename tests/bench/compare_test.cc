#include "bench/compare/compare.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace elider::bench {
namespace {

TEST(Compare, spread_is_minimum_median_and_maximum) {
  const Spread odd = spread_of({5, 1, 3});
  EXPECT_EQ(odd.min, 1);
  EXPECT_EQ(odd.median, 3);
  EXPECT_EQ(odd.max, 5);
  EXPECT_EQ(spread_of({4, 1, 3, 2}).median, 2.5);
  EXPECT_EQ(spread_of({}).max, 0);
}

TEST(Compare, ratios_are_taken_within_a_repetition) {
  // If the machine becomes half as fast between repetitions, the ratio stays the same.
  const Spread ratio = ratio_of({"elider", {100, 50}}, {"other", {10, 5}});
  EXPECT_EQ(ratio.min, 10);
  EXPECT_EQ(ratio.max, 10);
}

CompareOptions small(uint32_t threads, uint32_t operations) {
  CompareOptions options;
  options.ycsb.common.threads = threads;
  options.ycsb.common.seconds = 0.05;
  options.ycsb.common.transactions_min = 100;
  options.ycsb.common.quiet = true;
  options.ycsb.records = 500;
  options.ycsb.operations = operations;
  options.mixes = {"100/0", "50/50"};
  options.peers = {"rocksdb", "lmdb", "sqlite"};
  options.repeat = 2;
  return options;
}

// Runs the comparison as the command line does.
Result<CompareOutcome> run(CompareOptions options) {
  auto scratch = ScratchFolder::of_run(options);
  if (!scratch.ok()) return scratch.status();
  options.scratch = (*scratch)->path();
  return run_compare(options);
}

void expect_figures_of_all_stores(const CompareOutcome& outcome, size_t runs) {
  EXPECT_EQ(outcome.stores.size() + outcome.skipped.size(), 4u);
  ASSERT_EQ(outcome.runs.size(), runs);
  std::map<std::string, double> sums;  // a single run of 50 ms may get no processor
  for (const CompareRun& run : outcome.runs) {
    EXPECT_EQ(run.series.front().store, "elider");
    EXPECT_EQ(run.series.size(), outcome.stores.size());
    for (const CompareSeries& series : run.series) {
      ASSERT_EQ(series.throughput.size(), 2u) << series.store;
      for (double throughput : series.throughput) sums[series.store] += throughput;
    }
  }
  for (const auto& [store, sum] : sums) EXPECT_GT(sum, 0) << store;
}

// The run itself fails if a store loses an update or an insert, has too many rows, or returns a
// wrong value.
class CompareRuns : public testing::TestWithParam<std::pair<uint32_t, uint32_t>> {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the other stores are libraries that the thread sanitizer does not see into";
#endif
  }
};

TEST_P(CompareRuns, every_store_does_every_mix_and_keeps_its_counters) {
  const CompareOptions options = small(GetParam().first, GetParam().second);
  auto outcome = run(options);
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  expect_figures_of_all_stores(*outcome, 2);
  const Json json = to_json(options, *outcome);
  EXPECT_GT(json.at("throughput_txns_per_s").get<double>(), 0);
  EXPECT_EQ(json.at("results").size(), 2u);
  EXPECT_EQ(json.at("results")[0].at("elider_to").size(), outcome->stores.size() - 1);
  EXPECT_EQ(json.at("results")[1].at("mix"), "50/50");
  EXPECT_EQ(json.at("results")[1].at("workload"), "mix");
  EXPECT_EQ(json.at("configuration").at("distribution"), "uniform");
  EXPECT_TRUE(json.at("configuration").contains("commit"));
}

TEST_P(CompareRuns, every_store_does_every_workload_and_keeps_its_rows) {
  CompareOptions options = small(GetParam().first, GetParam().second);
  options.ycsb.key_index = KeyIndex::kOrdered;
  options.workloads = {"a", "b", "c", "d", "e", "F"};
  if (GetParam().second > 1) std::erase(options.workloads, "e");  // RocksDB's transactions check no ranges
  auto outcome = run(options);
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  expect_figures_of_all_stores(*outcome, options.workloads.size());
  for (const CompareRun& run : outcome->runs)
    for (const CompareSeries& series : run.series) {
      if (has(run.workload, OperationKind::kInsert)) EXPECT_GT(series.inserted, 0u) << run.workload.workload << ": " << series.store;
      else EXPECT_EQ(series.inserted, 0u) << run.workload.workload << ": " << series.store;
    }
  const Json results = to_json(options, *outcome).at("results");
  EXPECT_EQ(results.size(), options.workloads.size());
  EXPECT_EQ(results[0].at("workload"), "a");
  EXPECT_EQ(results[0].at("shares").at("update"), 50);
  EXPECT_EQ(results[3].at("distribution"), "latest");
  EXPECT_GT(results[3].at("stores").at("elider").at("inserted_rows"), 0);
  EXPECT_EQ(results.back().at("workload"), "f");
}

INSTANTIATE_TEST_SUITE_P(Threads, CompareRuns, testing::Values(std::pair{1u, 1u}, std::pair{1u, 4u}, std::pair{2u, 1u}, std::pair{2u, 4u}));

class CompareStore : public testing::TestWithParam<Result<std::unique_ptr<Peer>> (*)(const CompareOptions&)> {};

// Tests each operation of a store by itself. A run's check compares two counts, and a wrong answer
// may change both of them.
TEST_P(CompareStore, does_each_operation_and_counts_its_rows) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the other stores are libraries that the thread sanitizer does not see into";
#endif
  CompareOptions options = small(1, 1);
  options.ycsb.key_index = KeyIndex::kOrdered;
  options.ycsb.workload = "e";
  resolve(options.ycsb);
  auto scratch = ScratchFolder::of_run(options);
  ASSERT_TRUE(scratch.ok()) << scratch.status().message();
  options.scratch = (*scratch)->path();
  auto peer = GetParam()(options);
  if (!peer.ok() && peer.status().code() == Code::kUnsupported) GTEST_SKIP() << peer.status().message();
  ASSERT_TRUE(peer.ok()) << peer.status().message();
  ASSERT_TRUE((*peer)->load(10).ok());
  auto client = (*peer)->client();
  ASSERT_TRUE(client.ok()) << client.status().message();
  const auto run_one = [&](OperationKind kind, Key key, uint64_t counter = 0, uint32_t rows = 0) {
    const Operation operation{key, counter, rows, kind};
    return (*client)->run({&operation, 1});
  };
  const auto sum = [&](const KeySeries& keys) {
    auto found = (*client)->sum_counters(keys);
    return found.ok() ? static_cast<int64_t>(*found) : -1;
  };
  EXPECT_TRUE(run_one(OperationKind::kUpdate, 3, 40).ok());
  EXPECT_TRUE(run_one(OperationKind::kReadModifyWrite, 3).ok());
  EXPECT_TRUE(run_one(OperationKind::kRead, 3).ok());
  EXPECT_EQ(sum({0, 1, 10}), 41);
  EXPECT_EQ(sum({3, 4, 2}), 41);
  EXPECT_TRUE(run_one(OperationKind::kInsert, 12).ok());
  EXPECT_FALSE(run_one(OperationKind::kInsert, 12).ok()) << "a second insert of a key";
  EXPECT_EQ(*(*client)->count_rows(), 11u);
  EXPECT_EQ(sum({12, 1, 1}), 0);
  EXPECT_EQ(sum({11, 1, 1}), -1) << "a key that is not there";
  EXPECT_FALSE(run_one(OperationKind::kRead, 11).ok());
  for (const uint32_t rows : {1u, 4u, 100u}) EXPECT_TRUE(run_one(OperationKind::kScan, 0, 0, rows).ok()) << rows;
  EXPECT_TRUE(run_one(OperationKind::kScan, 12, 0, 100).ok());
  EXPECT_FALSE(run_one(OperationKind::kScan, 11, 0, 100).ok()) << "a scan whose first key is not there";
}

INSTANTIATE_TEST_SUITE_P(Stores, CompareStore, testing::Values(open_elider, open_rocksdb, open_lmdb, open_sqlite));

TEST(Compare, every_store_keeps_its_files_below_data_and_removes_them) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the other stores are libraries that the thread sanitizer does not see into";
#endif
  const test::TemporaryFolder folder("elider_compare");
  const std::filesystem::path data = folder.path() / "data";
  for (const Durability durability : {Durability::kAsync, Durability::kGroup}) {
    for (const uint32_t threads : {1u, 2u}) {
      CompareOptions options = small(threads, 1);
      options.ycsb.common.data.folders = {data};
      options.ycsb.common.data.durability = durability;
      if (threads == 2) options.workloads = {"d", "a"};
      auto outcome = run(options);
      ASSERT_TRUE(outcome.ok()) << outcome.status().message();
      for (const auto& [name, about] : outcome->stores) EXPECT_NE(about.find(data.string()), std::string::npos) << name << ": " << about;
      EXPECT_TRUE(std::filesystem::is_empty(data));
    }
  }
}

TEST(Compare, a_store_that_fails_is_named_and_no_file_stays) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / ("elider_compare_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  CompareOptions options = small(1, 1);
  options.folder = folder;
  options.peers = {"lmdb"};
  options.ycsb.common.memory_limit_bytes = 4 << 20;  // too little for elider to hold this many rows
  options.ycsb.records = 200'000;
  auto outcome = run(options);
  ASSERT_FALSE(outcome.ok());
  EXPECT_NE(outcome.status().message().find("elider: "), std::string::npos) << outcome.status().message();
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

TEST(Compare, a_file_system_without_room_is_refused_by_name) {
  CompareOptions options = small(1, 1);
  options.scratch = "/tmp";
  auto folder = ScratchFolder::of_peer(options, "rocksdb", ~uint64_t{0} >> 1);
  ASSERT_FALSE(folder.ok());
  EXPECT_NE(folder.status().message().find("'/tmp'"), std::string::npos) << folder.status().message();
}

}  // namespace
}  // namespace elider::bench
