// A whole run of the benchmark on a small database, its report, and the command line's refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/common/commands.h"
#include "bench/tpcc/tpcc.h"
#include "tests/support/combination.h"
#include "tests/support/temporary_folder.h"

namespace elider::bench::tpcc {
namespace {

using Json = nlohmann::json;

Json run_and_read(const TpccOptions& options, uint32_t threads, CommonOptions common = {}) {
  common.threads = threads;
  common.seconds = 0.3;
  common.transactions_min = 200;  // each kind is among them
  common.quiet = true;
  const test::TemporaryFolder folder("elider_tpcc");
  common.json_file = folder.path() / "run.json";
  EXPECT_EQ(run_tpcc(common, options), 0);
  std::ifstream file(common.json_file);
  Json json = Json::parse(file, nullptr, false);
  EXPECT_FALSE(json.is_discarded());
  return json;
}

constexpr Sizes kSmall{.warehouses = 2, .items = 300, .customers = 40};

// Runs on each sync policy and backend that has threads, and under each protocol.
class TpccRunOn : public testing::TestWithParam<test::Combination> {
 protected:
  static CommonOptions common() {
    CommonOptions common;
    common.sync = GetParam().sync;
    common.protocol = GetParam().protocol;
    if (common.sync == SyncPolicy::kElided) common.htm = GetParam().htm;
    return common;
  }
  static void expect_ran_on(const Json& json) {
    EXPECT_EQ(json["configuration"]["sync_used"], name_of(GetParam().sync));
    EXPECT_EQ(json["configuration"]["htm_used"], name_of(GetParam().htm));
    EXPECT_EQ(json["configuration"]["protocol"], name_of(GetParam().protocol));
  }
};

std::vector<test::Combination> policies() {
  std::vector<test::Combination> chosen = test::combinations(true, true);
  std::erase_if(chosen,
                [](const test::Combination& each) { return each.protocol != Protocol::kOcc || each.key_index != KeyIndex::kOrdered; });
  const std::vector<test::Combination> others = test::one_of_each_other_protocol();
  chosen.insert(chosen.end(), others.begin(), others.end());
  return chosen;
}
INSTANTIATE_TEST_SUITE_P(On, TpccRunOn, testing::ValuesIn(policies()), test::combination_name);

TEST_P(TpccRunOn, ReportHasWhatToolsRelyOn) {
  TpccOptions options;
  options.sizes = kSmall;
  const Json json = run_and_read(options, 2, common());
  expect_ran_on(json);
  EXPECT_GT(json["throughput_txns_per_s"].get<double>(), 0);
  EXPECT_GT(json["committed"].get<uint64_t>(), 0u);
  EXPECT_TRUE(json["aborts"].contains("total"));
  for (const char* kind : {"new_order", "payment", "order_status", "delivery", "stock_level"})
    for (const char* figure : {"p50", "p99", "p99_9"})
      EXPECT_GT(json["latency_us"][kind][figure].get<double>(), 0) << kind << " " << figure;
  EXPECT_EQ(json["configuration"]["warehouses"], 2);
  EXPECT_EQ(json["configuration"]["items"], kSmall.items);
  EXPECT_EQ(json["configuration"]["customers"], kSmall.customers);
  EXPECT_EQ(json["configuration"]["index"], "mixed");
  EXPECT_EQ(json["configuration"]["mix"]["payment"], 43);
  EXPECT_TRUE(json["consistency"]["ok"].get<bool>());
  EXPECT_EQ(json["consistency"]["conditions"].size(), 16u);
  EXPECT_EQ(json["consistency"]["conditions"][0]["clause"], "3.3.2.1");
  EXPECT_TRUE(json.contains("memory_bytes"));
  // One NewOrder in a hundred is rolled back. A slow build's few orders may not include one.
  const uint64_t new_orders = json["latency_us"]["new_order"]["committed"];
  EXPECT_TRUE(new_orders < 2000 || json["new_orders_rolled_back"].get<uint64_t>() > 0);
}

TEST(TpccRun, MixAndIndexAndSnapshotsAreFollowed) {
  const TpccOptions options{.sizes = kSmall, .mix = {0, 90, 5, 0, 5}, .index = IndexChoice::kBtree, .snapshots = {false, false}};
  const Json json = run_and_read(options, 1);
  EXPECT_EQ(json["latency_us"]["new_order"]["committed"], 0);
  EXPECT_EQ(json["latency_us"]["delivery"]["committed"], 0);
  EXPECT_GT(json["latency_us"]["payment"]["committed"].get<uint64_t>(), json["latency_us"]["stock_level"]["committed"].get<uint64_t>());
  EXPECT_EQ(json["configuration"]["index"], "btree");
  EXPECT_EQ(json["configuration"]["snapshots"]["order_status"], false);
}

TEST(TpccRun, EveryConditionHoldsOnRadixTrees) {
  const Json json = run_and_read({.sizes = kSmall, .index = IndexChoice::kArt, .snapshots = {}}, 2);
  EXPECT_EQ(json["configuration"]["index"], "art");
  EXPECT_TRUE(json["consistency"]["ok"].get<bool>());
  for (const char* kind : {"new_order", "payment", "order_status", "delivery", "stock_level"})
    EXPECT_GT(json["latency_us"][kind]["committed"].get<uint64_t>(), 0u) << kind;
}

// Its conditions are checked by lookups: nothing can be scanned.
TEST(TpccRun, NewOrdersAndPaymentsRunOnHashTablesAlone) {
  const TpccOptions options{.sizes = kSmall, .mix = {50, 50, 0, 0, 0}, .index = IndexChoice::kHash, .snapshots = {}};
  const Json json = run_and_read(options, 2);
  EXPECT_EQ(json["configuration"]["index"], "hash");
  EXPECT_GT(json["latency_us"]["new_order"]["committed"].get<uint64_t>(), 0u);
  EXPECT_TRUE(json["consistency"]["ok"].get<bool>());
}

// As the papers have it: rows without column groups, sums that Payments read and write.
TEST_P(TpccRunOn, WithoutColumnGroupsOrAdditionsEveryConditionHolds) {
  TpccOptions options;
  options.sizes = kSmall;
  options.groups = false;
  options.additions = false;
  CommonOptions without = common();
  if (without.protocol == Protocol::kChopped) GTEST_SKIP() << "its Payment declares additions";
  const Json json = run_and_read(options, 2, without);
  EXPECT_EQ(json["configuration"]["groups"], false);
  EXPECT_EQ(json["configuration"]["additions"], false);
  EXPECT_TRUE(json["consistency"]["ok"].get<bool>());
}

TEST_P(TpccRunOn, GroupsKeepEveryCondition) {
  CommonOptions grouped = common();
  grouped.group = 8;
  TpccOptions options;
  options.sizes = kSmall;
  const Json json = run_and_read(options, 2, grouped);
  expect_ran_on(json);
  EXPECT_EQ(json["configuration"]["group"], 8);
  EXPECT_TRUE(json["consistency"]["ok"].get<bool>());
  for (const char* kind : {"new_order", "payment", "order_status", "delivery", "stock_level"})
    EXPECT_GT(json["latency_us"][kind]["committed"].get<uint64_t>(), 0u) << kind;
}

// The second run finds the sizes, the keys that the Payments of three threads
// used, and what they add up to.
TEST_P(TpccRunOn, ResumesOnADataFolderWithOtherThreads) {
  const test::TemporaryFolder folder("elider_tpcc");
  CommonOptions common = TpccRunOn::common();
  common.threads = 3;
  common.seconds = 0.2;
  common.transactions_min = 1;
  common.quiet = true;
  common.data.folders = {folder.path() / "data"};
  TpccOptions options;
  options.sizes = kSmall;
  EXPECT_EQ(run_tpcc(common, options), 0);
  common.data.resume = true;
  common.json_file = folder.path() / "run.json";
  options.sizes = {};
  for (const uint32_t threads : {1, 4}) {
    common.threads = threads;
    EXPECT_EQ(run_tpcc(common, options), 0);
    std::ifstream file(common.json_file);
    const Json json = Json::parse(file, nullptr, false);
    expect_ran_on(json);
    EXPECT_EQ(json["configuration"]["warehouses"], 2);
    EXPECT_EQ(json["configuration"]["items"], kSmall.items);
    EXPECT_EQ(json["configuration"]["customers"], kSmall.customers);
    EXPECT_TRUE(json["consistency"]["ok"].get<bool>());
    EXPECT_GT(json["recovery"]["rows"].get<uint64_t>(), 2u * 300);
    EXPECT_GT(json["log"]["bytes_per_record"].get<double>(), 0);
  }
}

TEST(TpccRun, ResumingOnAHalfLoadedDatabaseIsRefused) {
  const test::TemporaryFolder folder("elider_tpcc");
  CommonOptions common;
  common.seconds = 0.1;  // for which little memory is taken ahead
  common.quiet = true;
  common.data.folders = {folder.path() / "data"};
  common.memory_limit_bytes = uint64_t{16} << 20;
  EXPECT_EQ(run_tpcc(common, {}), kExitFailed) << "loading meets the limit";
  common.memory_limit_bytes = 0;
  common.data.resume = true;
  EXPECT_EQ(run_tpcc(common, {}), kExitFailed);
}

// A warehouse has taken in more than its districts: 3.3.2.1.
TEST(TpccRun, AConditionThatDoesNotHoldIsAFailingExitStatus) {
  const test::TemporaryFolder folder("elider_tpcc");
  CommonOptions common;
  common.seconds = 0.1;
  common.quiet = true;
  common.data.folders = {folder.path() / "data"};
  TpccOptions options;
  options.sizes = kSmall;
  EXPECT_EQ(run_tpcc(common, options), 0);
  {
    Options opening;
    opening.data_folders = common.data.folders;
    opening.schemas = indexed_schemas(options.index);
    auto db = Database::open(opening);
    ASSERT_TRUE(db.ok()) << db.status().message();
    auto tables = create_tables(*db, options.index);
    ASSERT_TRUE(tables.ok()) << tables.status().message();
    const Status changed =
        db->run([&](Transaction& txn) { return txn.update(tables->warehouse, 1, {}, [](Warehouse& row) { row.ytd += 1; }); });
    ASSERT_TRUE(changed.ok()) << changed.message();
  }
  common.data.resume = true;
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_tpcc(common, {}), kExitFailed);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("3.3.2.1"), std::string::npos) << said;
}

TEST(TpccRun, MemoryLimitIsAFailingExitStatus) {
  CommonOptions common;
  common.quiet = true;
  common.memory_limit_bytes = uint64_t{16} << 20;
  EXPECT_EQ(run_tpcc(common, {}), kExitFailed);
}

// The name of the option that is refused; "" if none is.
std::string refused_option(std::vector<std::string> arguments) {
  Program program("elider bench", "test");
  add_tpcc(program.root());
  arguments.insert(arguments.begin(), "tpcc");
  const std::string text = program.refusal(arguments);
  return text.substr(0, text.find(':'));
}

TEST(TpccCommandLine, NonsenseIsRefusedByItsOption) {
  EXPECT_EQ(refused_option({"--warehouses", "0"}), "--warehouses");
  EXPECT_EQ(refused_option({"--warehouses", "65536"}), "--warehouses");
  EXPECT_EQ(refused_option({"--threads", "0"}), "--threads");
  EXPECT_EQ(refused_option({"--seconds", "-1"}), "--seconds");
  EXPECT_EQ(refused_option({"--index", "tree"}), "--index");
  EXPECT_EQ(refused_option({"--mix", "45,43,4,4,5"}), "--mix");
  EXPECT_EQ(refused_option({"--no-snapshot", "payment"}), "--no-snapshot");
  EXPECT_EQ(refused_option({"--sync", "single-threaded", "--threads", "2"}), "--sync");
  EXPECT_EQ(refused_option({"--resume"}), "--resume");
}

}  // namespace
}  // namespace elider::bench::tpcc
