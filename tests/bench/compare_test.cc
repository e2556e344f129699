#include "bench/compare/compare.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

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
  // Where the machine halves its speed between repetitions, the ratio stays.
  const Spread ratio = ratio_of({"elider", {100, 50}}, {"other", {10, 5}});
  EXPECT_EQ(ratio.min, 10);
  EXPECT_EQ(ratio.max, 10);
}

CompareOptions small(uint32_t threads, uint32_t operations) {
  CompareOptions options;
  options.ycsb.common.threads = threads;
  options.ycsb.common.seconds = 0.05;
  options.ycsb.common.quiet = true;
  options.ycsb.records = 500;
  options.ycsb.operations = operations;
  options.mixes = {"100/0", "50/50"};
  options.peers = {"rocksdb", "lmdb", "sqlite"};
  options.repeat = 2;
  resolve(options.ycsb);
  return options;
}

class CompareRun : public testing::TestWithParam<std::pair<uint32_t, uint32_t>> {};

// The run itself fails where a store loses an update or returns a wrong value.
TEST_P(CompareRun, every_store_does_every_mix_and_keeps_its_counters) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the other stores are libraries that the thread sanitizer does not see into";
#endif
  const CompareOptions options = small(GetParam().first, GetParam().second);
  auto outcome = run_compare(options);
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_EQ(outcome->stores.size() + outcome->skipped.size(), 4u);
  ASSERT_EQ(outcome->mixes.size(), 2u);
  for (const CompareMix& mix : outcome->mixes) {
    EXPECT_EQ(mix.series.front().store, "elider");
    for (const CompareSeries& series : mix.series) {
      ASSERT_EQ(series.throughput.size(), 2u) << series.store;
      for (double throughput : series.throughput) EXPECT_GT(throughput, 0) << series.store;
    }
  }
  const Json json = to_json(options, *outcome);
  EXPECT_GT(json.at("throughput_txns_per_s").get<double>(), 0);
  EXPECT_EQ(json.at("results").size(), 2u);
  EXPECT_EQ(json.at("results")[0].at("elider_to").size(), outcome->stores.size() - 1);
  EXPECT_TRUE(json.at("configuration").contains("commit"));
}

INSTANTIATE_TEST_SUITE_P(Threads, CompareRun, testing::Values(std::pair{1u, 1u}, std::pair{1u, 4u}, std::pair{2u, 1u}, std::pair{2u, 4u}));

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
      auto outcome = run_compare(options);
      ASSERT_TRUE(outcome.ok()) << outcome.status().message();
      for (const auto& [name, about] : outcome->stores) EXPECT_NE(about.find(data.string()), std::string::npos) << name << ": " << about;
      EXPECT_TRUE(std::filesystem::is_empty(data));
    }
  }
}

TEST(Compare, a_file_system_without_room_is_refused_by_name) {
  CompareOptions options = small(1, 1);
  options.folder = "/tmp";
  auto folder = ScratchFolder::make(options, "rocksdb", ~uint64_t{0} >> 1);
  ASSERT_FALSE(folder.ok());
  EXPECT_NE(folder.status().message().find("'/tmp'"), std::string::npos) << folder.status().message();
}

}  // namespace
}  // namespace elider::bench
