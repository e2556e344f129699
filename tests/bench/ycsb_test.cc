// Small complete runs of every YCSB workload, and the contents of their results.
#include "bench/ycsb/ycsb.h"

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tools/common/environment.h"
#include "tests/support/temporary_folder.h"

namespace elider::bench {
namespace {

struct Case {
  std::string workload;  // a letter, or a mix
  KeyIndex key_index = KeyIndex::kHashed;
  uint32_t operations = 1;
  bool batch = false;
  uint32_t group = 0;
};

YcsbOptions small(const Case& c) {
  YcsbOptions options;
  options.common.threads = 2;
  options.common.seconds = 0.05;
  options.common.transactions_min = 300;  // each kind of operation is among them
  options.common.quiet = true;
  options.records = 3000;
  if (c.workload.size() == 1) options.workload = c.workload;
  else options.mix = c.workload;
  options.key_index = c.key_index;
  options.operations = c.operations;
  options.batch = c.batch;
  options.common.group = c.group;
  resolve(options);
  return options;
}

std::string name_of_case(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.workload + (info.param.key_index == KeyIndex::kHashed ? "_hash_" : "_btree_") +
                     std::to_string(info.param.operations) + (info.param.batch ? "_batched" : "") +
                     (info.param.group != 0 ? "_in_groups" : "");
  for (char& c : name)
    if (c == '/') c = '_';
  return name;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const char* workload : {"a", "b", "c", "d", "e", "f", "80/20", "0/100"})
    for (KeyIndex key_index : {KeyIndex::kHashed, KeyIndex::kOrdered}) {
      const bool scans = workload[0] == 'e';
      if (scans && key_index == KeyIndex::kHashed) continue;
      cases.push_back({workload, key_index, 1, false});
      cases.push_back({workload, key_index, 16, false});
      cases.push_back({workload, key_index, 1, false, 32});
      if (!scans) cases.push_back({workload, key_index, 1, true});
      if (!scans) cases.push_back({workload, key_index, 16, true});
    }
  return cases;
}

class YcsbRun : public testing::TestWithParam<Case> {};

TEST_P(YcsbRun, commits_and_loses_no_update) {
  const YcsbOptions options = small(GetParam());
  auto outcome = run_ycsb(options);
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_EQ(outcome->report.result.failure, "");
  EXPECT_TRUE(outcome->ok) << outcome->report.extra.dump();
  EXPECT_GT(outcome->report.result.committed, 0u);
  EXPECT_EQ(outcome->report.load.rows, options.records);
}

INSTANTIATE_TEST_SUITE_P(All, YcsbRun, testing::ValuesIn(all_cases()), name_of_case);

class YcsbKeys : public testing::TestWithParam<const char*> {};

TEST_P(YcsbKeys, every_workload_works_with_byte_keys) {
  for (const Case& c : {Case{"a"}, Case{"d"}, Case{"e", KeyIndex::kRadix}, Case{"80/20", KeyIndex::kHashed, 16, true},
                        Case{"f", KeyIndex::kHashed, 1, false, 32}})
    for (const bool chosen : {false, true}) {
      if (c.workload == "e" && GetParam() == std::string("uuid")) continue;
      SCOPED_TRACE(c.workload);
      YcsbOptions options = small({"c"});
      options.workload = c.workload.size() == 1 ? c.workload : "";
      options.mix = "80/20";
      options.operations = c.operations;
      options.batch = c.batch;
      options.common.group = c.group;
      options.key_kind = GetParam();
      options.index_chosen = chosen;
      options.key_index = c.key_index;
      resolve(options);
      EXPECT_EQ(options.key_index, chosen ? c.key_index : KeyIndex::kRadix);
      auto outcome = run_ycsb(options);
      ASSERT_TRUE(outcome.ok()) << outcome.status().message();
      EXPECT_TRUE(outcome->ok) << outcome->report.result.failure << outcome->report.extra.dump();
      EXPECT_EQ(outcome->report.configuration["key_kind"], GetParam());
    }
}
INSTANTIATE_TEST_SUITE_P(All, YcsbKeys, testing::Values("bytes", "tuple", "uuid", "url"));

TEST(YcsbKeyFormat, keys_contain_their_numbers_and_are_sorted_like_them) {
  const std::vector<Key> numbers{0, 1, 63, 64, 99, 100, 9'999, 10'000, 123'456'789, uint64_t{1} << 63};
  for (const KeyForm form : {KeyForm::kBytes, KeyForm::kTuple, KeyForm::kUuid, KeyForm::kUrl}) {
    SCOPED_TRACE(name_of(form));
    for (const uint32_t bytes : {8u, 13u, 16u, 256u}) {
      const KeyFormat format(form, bytes);
      std::string latest;
      for (const Key number : numbers) {
        std::byte memory[KeyFormat::kBytesMax];
        const Bytes key = format.key_of(number, memory);
        EXPECT_EQ(format.number_of(key), number);
        if (form == KeyForm::kBytes) {
          EXPECT_EQ(key.size(), bytes);
        }
        if (number != 0 && format.sorted()) {
          EXPECT_LT(latest, key.text());
        }
        latest = key.to_string();
      }
    }
    EXPECT_EQ(KeyFormat(form, 16).number_of(Bytes("?")), kKeyMax);
  }
}

TEST(Ycsb, scans_return_rows_and_inserts_grow_the_table) {
  auto outcome = run_ycsb(small({"e", KeyIndex::kOrdered, 1, false}));
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_GT(outcome->report.extra["scanned_rows"].get<uint64_t>(), outcome->report.result.committed);
  EXPECT_GT(outcome->report.records, 3000u);
}

TEST(Ycsb, transactions_of_one_operation_are_reported_by_kind) {
  auto outcome = run_ycsb(small({"80/20", KeyIndex::kHashed, 1, false}));
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  const RunResult& result = outcome->report.result;
  ASSERT_EQ(result.types.size(), 2u);
  EXPECT_EQ(result.types[0].name, "read");
  EXPECT_EQ(result.types[1].name, "read-modify-write");
  const double share = static_cast<double>(result.types[0].committed) / static_cast<double>(result.committed);
  EXPECT_NEAR(share, 0.8, 0.1);
}

TEST(Ycsb, groups_are_reported_with_the_time_of_their_first_and_last_call) {
  YcsbOptions options = small({"80/20", KeyIndex::kHashed, 1, false, 16});
  auto outcome = run_ycsb(options);
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  const Json json = to_json(options.common, outcome->report);
  EXPECT_EQ(json["configuration"]["group"], 16);
  EXPECT_EQ(json["committed"].get<uint64_t>() % 16, 0u);
  EXPECT_GT(json["group_us"]["first"]["p50"].get<double>(), 0);
  EXPECT_GT(json["group_us"]["last"]["p50"].get<double>(), json["group_us"]["first"]["p50"].get<double>());
}

TEST(Ycsb, values_of_any_size_and_scattered_keys_work) {
  for (uint32_t bytes : {8u, 13u, 100u, 1000u, 5000u}) {
    YcsbOptions options = small({"80/20", KeyIndex::kOrdered, 4, false});
    options.value_bytes = bytes;
    options.records = 500;
    options.hashed_keys = true;
    auto outcome = run_ycsb(options);
    ASSERT_TRUE(outcome.ok()) << bytes << ": " << outcome.status().message();
    EXPECT_TRUE(outcome->ok) << bytes << ": " << outcome->report.extra.dump();
  }
}

TEST(Ycsb, read_only_transactions_may_run_on_snapshots) {
  YcsbOptions options = small({"50/50", KeyIndex::kHashed, 2, false});
  options.snapshot_reads = true;
  auto outcome = run_ycsb(options);
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_TRUE(outcome->ok);
  EXPECT_GT(outcome->report.result.at_end.read_only_commits, 0u);
}

TEST(Ycsb, a_full_memory_limit_is_an_error_and_not_a_crash) {
  YcsbOptions options = small({"80/20", KeyIndex::kHashed, 1, false});
  options.records = 1'000'000;
  options.common.memory_limit_bytes = uint64_t{8} << 20;
  auto outcome = run_ycsb(options);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.status().code(), Code::kMemoryLimit) << outcome.status().message();
}

TEST(Ycsb, json_holds_what_docs_promise) {
  const YcsbOptions options = small({"80/20", KeyIndex::kHashed, 1, false});
  auto outcome = run_ycsb(options);
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  const Json json = to_json(options.common, outcome->report);
  EXPECT_GT(json.at("throughput_txns_per_s").get<double>(), 0);
  EXPECT_GT(json.at("committed").get<uint64_t>(), 0u);
  EXPECT_TRUE(json.at("aborts").contains("total"));
  EXPECT_TRUE(json.at("aborts").contains("read changed"));
  for (const char* type : {"read", "read-modify-write"})
    for (const char* key : {"p50", "p99", "p99_9", "mean", "max"})
      EXPECT_GT(json.at("latency_us").at(type).at(key).get<double>(), 0) << type << key;
  const Json& read = json.at("latency_us").at("read");
  EXPECT_LE(read.at("p50").get<double>(), read.at("p99").get<double>());
  EXPECT_LE(read.at("p99").get<double>(), read.at("max").get<double>());
  for (const char* part : {"rows", "versions", "blocks", "indexes", "free", "total", "rss", "per_record"})
    EXPECT_TRUE(json.at("memory_bytes").contains(part)) << part;
  EXPECT_GT(json.at("memory_bytes").at("rows").get<uint64_t>(), 3000u * 100);
  for (const char* key : {"benchmark", "records", "value_bytes", "mix", "distribution", "operations", "index", "threads", "seconds", "seed",
                          "sync", "sync_used", "skip_check", "commit", "compiler", "build", "machine"})
    EXPECT_TRUE(json.at("configuration").contains(key)) << key;
  EXPECT_FALSE(json.contains("log")) << "this run does not have a log";
  EXPECT_TRUE(json.at("configuration").at("machine").contains("transparent_huge_pages"));
  EXPECT_TRUE(json.at("consistency").at("ok").get<bool>());
}

TEST(Ycsb, publish_writes_the_json_file) {
  YcsbOptions options = small({"80/20", KeyIndex::kHashed, 1, false});
  const test::TemporaryFolder folder("elider_ycsb");
  options.common.json_file = folder.path() / "result.json";
  auto outcome = run_ycsb(options);
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  ASSERT_TRUE(publish(options.common, outcome->report).ok());
  std::ifstream file(options.common.json_file);
  EXPECT_EQ(Json::parse(file).at("committed"), outcome->report.result.committed);
}

TEST(Ycsb, history_has_a_line_for_each_transaction) {
  YcsbOptions options = small({"50/50", KeyIndex::kHashed, 2, false});
  options.records = 100;
  const test::TemporaryFolder folder("elider_ycsb");
  options.common.history_file = folder.path() / "history.jsonl";
  auto outcome = run_ycsb(options);
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  std::ifstream file(options.common.history_file);
  uint64_t tables = 0;
  uint64_t committed = 0;
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(line);
    if (json.at("t") == "table") ++tables;
    else if (json.at("outcome") == "committed") ++committed;
  }
  EXPECT_EQ(tables, 1u);
  EXPECT_GE(committed, outcome->report.result.committed);
}

TEST(Environment, names_the_machine) {
  const Environment machine = environment();
  EXPECT_FALSE(machine.cpu.empty());
  EXPECT_GT(machine.cpus, 0u);
  EXPECT_FALSE(machine.commit.empty());
  EXPECT_GT(resident_bytes(), 1u << 20);
}

}  // namespace
}  // namespace elider::bench
