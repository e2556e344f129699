// YCSB on a data folder: what one run leaves, the next one finds, counts on, and checks; and
// what does not fit is refused.
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "bench/ycsb/ycsb.h"
#include "tests/support/temporary_folder.h"

namespace elider::bench {
namespace {

class Resume : public testing::Test {
 protected:
  void SetUp() override {
    options_.common.threads = 2;
    options_.common.seconds = 0.05;
    options_.common.transactions_min = 100;
    options_.common.quiet = true;
    options_.common.data.folders = {folder_ / "one", folder_ / "two"};
    options_.records = 500;
  }

  uint64_t counters_after_run() {
    auto outcome = run_ycsb(options_);
    EXPECT_TRUE(outcome.ok()) << outcome.status().message();
    if (!outcome.ok()) return 0;
    EXPECT_TRUE(outcome->ok) << outcome->report.extra.dump();
    last_ = std::move(outcome->report);
    return last_.extra["consistency"]["counters"];
  }

  const test::TemporaryFolder temporary_{"elider_bench"};
  const std::filesystem::path folder_ = temporary_.path();
  YcsbOptions options_;
  Report last_;
};

TEST_F(Resume, counts_on_where_the_run_before_ended) {
  options_.mix = "50/50";
  resolve(options_);
  const uint64_t first = counters_after_run();
  EXPECT_GT(first, 0u);
  EXPECT_GT(last_.result.log.bytes, last_.result.log.records * 100) << "a record has the value's 100 bytes at least";
  EXPECT_GT(last_.result.log.syncs, 0u);
  const Json json = to_json(options_.common, last_);
  EXPECT_EQ(json["log"]["records"], last_.result.log.records);
  EXPECT_EQ(json["configuration"]["flush_interval_us"], options_.common.data.flush_interval_us);
  EXPECT_EQ(json["configuration"]["log_buffer_bytes"], options_.common.data.log_buffer_bytes);

  options_.common.data.resume = true;
  options_.common.data.durability = Durability::kGroup;
  const uint64_t second = counters_after_run();
  EXPECT_GT(second, first);
  EXPECT_EQ(last_.load.rows, 0u) << "nothing is loaded again";
  EXPECT_EQ(last_.extra["recovery"]["rows"], 500u);

  options_.common.data.durability = Durability::kNone;
  EXPECT_GT(counters_after_run(), second);
  EXPECT_FALSE(last_.result.log.kept) << "nothing is written";
  options_.shares = {100, 0, 0, 0, 0};
  EXPECT_EQ(counters_after_run(), second) << "so nothing of the run before is there";
}

TEST_F(Resume, finds_what_was_inserted) {
  options_.workload = "d";
  resolve(options_);
  counters_after_run();
  const uint64_t records = last_.records;
  EXPECT_GT(records, 500u);
  options_.common.data.resume = true;
  counters_after_run();
  EXPECT_GE(last_.records, records);
  EXPECT_EQ(last_.extra["recovery"]["rows"], records);
}

TEST_F(Resume, refuses_another_number_of_records) {
  resolve(options_);
  counters_after_run();
  options_.common.data.resume = true;
  options_.records = 501;
  const auto outcome = run_ycsb(options_);
  ASSERT_FALSE(outcome.ok());
  EXPECT_NE(outcome.status().message().find("--records 501"), std::string::npos) << outcome.status().message();
}

}  // namespace
}  // namespace elider::bench
