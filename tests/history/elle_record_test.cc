// Elle's JSON lines as they are written: the micro-operations, the order of the events, the ranks;
// and the hot keys that workloads draw from.
#if !defined(__clang__)  // gcc 12 with -O3 sees an overflow in std::vector that is not there
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

#include "bench/history/elle_record.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "bench/history/hot_keys.h"
#include "tests/support/temporary_folder.h"

namespace elider::bench {
namespace {

std::string slurp(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(MicroOps, every_kind_is_written_as_elle_has_it) {
  MicroOps operations;
  EXPECT_EQ(json_of(operations.words()), "[]");
  operations.append(3, -7);
  operations.read_list(4, std::vector<int64_t>{1, 2});
  operations.read_list(5, {});
  operations.write(6, 8);
  operations.read_value(7, 9);
  operations.read_value(8, std::nullopt);
  operations.read_unknown(9);
  EXPECT_EQ(json_of(operations.words()), R"([["append",3,-7],["r",4,[1,2]],["r",5,[]],["w",6,8],["r",7,9],["r",8,null],["r",9,null]])");
  operations.clear();
  EXPECT_EQ(json_of(operations.words()), "[]");
}

TEST(WriteElle, events_of_all_sessions_are_in_order_and_ranks_follow_the_commit_order) {
  const test::TemporaryFolder folder("elider_elle");
  const std::string path = folder.path() / "history.jsonl";
  MicroOps asked, did;
  asked.read_unknown(1);
  did.read_list(1, std::vector<int64_t>{5});
  std::vector<std::unique_ptr<ElleSession>> sessions;
  for (int i = 0; i < 2; ++i) sessions.push_back(std::make_unique<ElleSession>());
  sessions[0]->record(0, 10, EventType::kInvoke, asked);
  sessions[1]->record(1, 11, EventType::kInvoke, asked);
  // The reader of snapshot 4 comes after the update of snapshot 4, whatever its order number is.
  sessions[1]->record(2, 12, EventType::kOk, did, {4, 0, true, true});
  sessions[0]->record(3, 13, EventType::kOk, did, {4, 9, false, true});
  sessions[0]->record(4, 14, EventType::kInvoke, asked);
  sessions[0]->record(5, 15, EventType::kFail, asked);
  ASSERT_TRUE(write_elle(path, sessions).ok());
  std::istringstream lines(slurp(path));
  std::string line;
  std::vector<nlohmann::json> events;
  while (std::getline(lines, line)) events.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(events.size(), 6u);
  for (size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i]["index"], i);
  EXPECT_EQ(events[2]["type"], "ok");
  EXPECT_EQ(events[2]["process"], 1);
  EXPECT_EQ(events[2]["time"], 12);
  EXPECT_EQ(events[2]["value"].dump(), R"([["r",1,[5]]])");
  EXPECT_EQ(events[5]["type"], "fail");
  const auto ranks = nlohmann::json::parse(slurp(path + ".ranks"));
  EXPECT_EQ(ranks, nlohmann::json({{"3", 0}, {"2", 1}}));
}

TEST(WriteElle, history_without_commits_has_empty_ranks) {
  const test::TemporaryFolder folder("elider_elle");
  const std::string path = folder.path() / "history.jsonl";
  ASSERT_TRUE(write_elle(path, {}).ok());
  EXPECT_EQ(nlohmann::json::parse(slurp(path + ".ranks")), nlohmann::json::object());
}

TEST(WriteElle, unwritable_file_is_named) {
  const Status status = write_elle("/nonexistent/x.jsonl", {});
  EXPECT_NE(status.message().find("/nonexistent/x.jsonl"), std::string::npos);
}

TEST(HotKeys, no_key_takes_more_than_its_writes_and_fresh_ones_come) {
  HotKeys keys(3);
  std::vector<std::map<int64_t, int>> counts(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < counts.size(); ++i) {
    threads.emplace_back([&keys, &count = counts[i], i] {
      Random random(1, i);
      for (int n = 0; n < 5000; ++n) ++count[keys.to_write(random)];
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<int64_t, int> total;
  for (const auto& count : counts) {
    for (const auto& [key, writes] : count) total[key] += writes;
  }
  int full = 0;
  for (const auto& [key, writes] : total) {
    EXPECT_LE(writes, static_cast<int>(kWritesPerKey)) << key;
    full += writes == static_cast<int>(kWritesPerKey);
  }
  // All but those in use at the end, and those that lost a race for a slot, are full.
  EXPECT_GE(full, static_cast<int>(total.size()) - 3);
  EXPECT_GE(total.size(), 4u * 5000u / kWritesPerKey);
}

TEST(HotKeys, reads_meet_the_keys_in_use) {
  HotKeys keys(2);
  Random random(1);
  std::set<int64_t> seen;
  for (int n = 0; n < 100; ++n) seen.insert(keys.to_read(random));
  EXPECT_EQ(seen, (std::set<int64_t>{0, 1}));
}

}  // namespace
}  // namespace elider::bench
