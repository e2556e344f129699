// The story. A terminal runs TPC-C on a small warehouse and waits now and then until all is durable; the machine stops
// at any system call. What is recovered is the database after some number of its transactions, no fewer than were
// known to be durable, and there all of the specification's consistency conditions hold, and our own.
#include <cstdio>

#include "base/random.h"
#include "log/crash_disk.h"
#include "tests/support/data_folder_test.h"
#include "tests/tpcc/small_world.h"

namespace elider::bench::tpcc {
namespace {

// With their key functions, which no file holds.
std::vector<Schema> tpcc_schemas() {
  auto db = Database::open();
  EXPECT_OK(db);
  EXPECT_OK(create_tables(*db, IndexChoice::kMixed));
  std::vector<Schema> schemas;
  for (const TableRef& table : db->tables()) schemas.push_back(table.schema());
  return schemas;
}

Options options_on_files(const test::Combination& on = {}) {
  static const std::vector<Schema> schemas = tpcc_schemas();
  Options options = test::options_of(on);
  options.huge_pages = false;
  options.memory_limit_bytes = 48u << 20;
  options.workers_max = 8;
  options.data_folders = {"disk"};
  options.log_segment_bytes = 16384;
  options.schemas = schemas;
  return options;
}

struct TpccRun {
  log::MemoryFiles::Contents before;
  std::vector<log::MemoryFiles::Call> calls;
  std::vector<RunTotals> totals;                       // after so many transactions
  std::vector<std::pair<size_t, size_t>> known;        // after so many calls: so many transactions are durable
  Workload workload;
};

TpccRun run_recorded(const test::Combination& on, uint32_t transactions) {
  TpccRun run;
  const Sizes sizes{.warehouses = 1, .items = 60, .customers = 10};
  {
    log::MemoryFiles files;
    const log::SubstituteFiles substitute(files);
    SmallWorld world(sizes, 1, 1, IndexChoice::kMixed, options_on_files(on));
    run.workload = world.workload;
    EXPECT_OK(world.db.wait_durable());
    run.before = files.contents();
  }
  log::MemoryFiles files(run.before);
  const log::SubstituteFiles substitute(files);
  auto db = Database::open(options_on_files(on));
  EXPECT_OK(db);
  auto tables = create_tables(*db, IndexChoice::kMixed);
  EXPECT_OK(tables);
  Terminal terminal(*db, *tables, run.workload, SnapshotUse{}, 0);
  Random random(3);
  for (uint32_t i = 0; i <= transactions; ++i) {
    RunTotals totals;
    totals.new_orders = terminal.counts().new_orders;
    totals.payments = terminal.counts().payments;
    totals.delivered = terminal.counts().delivered;
    totals.history_keys = {terminal.history_keys_used()};
    run.totals.push_back(totals);
    if (random.below(3) == 0) {
      EXPECT_OK(db->wait_durable());
      run.known.emplace_back(files.call_count(), i);
    }
    if (i == transactions) break;
    EXPECT_LT(terminal.run_one(), kKinds) << terminal.failure();
  }
  EXPECT_OK(db->wait_durable());
  run.known.emplace_back(files.call_count(), transactions);
  run.calls = files.calls();
  return run;
}

// Empty, or what is wrong with the database that an image holds; the files are no policy's own.
std::string judge(const TpccRun& run, log::MemoryFiles::Contents image, size_t calls) {
  size_t known = 0;
  for (const auto& [after, transactions] : run.known)
    if (after <= calls) known = transactions;
  log::MemoryFiles files(std::move(image));
  const log::SubstituteFiles substitute(files);
  auto db = Database::open(options_on_files());
  if (!db.ok()) return db.status().message();
  if (Status status = db->verify(); !status.ok()) return status.message();
  auto tables = create_tables(*db, IndexChoice::kMixed);
  if (!tables.ok()) return tables.status().message();
  std::string first;
  for (size_t i = known; i < run.totals.size(); ++i) {
    RunTotals totals = run.totals[i];
    totals.history_keys = run.totals.back().history_keys;
    auto report = check_consistency(*db, *tables, run.workload, totals);
    if (!report.ok()) return report.status().message();
    if (report->ok()) return "";
    if (first.empty()) first = report->complaints().front();
  }
  return first;
}

double scale() {
  const char* const text = std::getenv("ELIDER_TEST_SCALE");
  return text == nullptr ? 1.0 : std::atof(text);
}

class TpccCrash : public testing::TestWithParam<test::Combination> {};
INSTANTIATE_TEST_SUITE_P(On, TpccCrash, test::durable_combinations(), test::combination_name);

TEST_P(TpccCrash, EveryImageHoldsTheConsistencyConditions) {
  const TpccRun run = run_recorded(GetParam(), static_cast<uint32_t>(std::max(20.0, 150 * scale())));
  Random random(1);
  log::CrashDisk disk(run.before);
  uint64_t images = 0;
  for (size_t count = 0; count <= run.calls.size(); ++count) {
    if (count != 0) disk.apply(run.calls[count - 1]);
    const int samples = disk.unsure() == 0 ? 1 : 10;
    for (int sample = 0; sample < samples; ++sample) {
      const uint64_t chance = sample == 0 ? 0 : sample == 1 ? 100 : random.below(101);
      ++images;
      ASSERT_EQ(judge(run, disk.image([&] { return random.below(100) < chance; }), count), "") << "after call " << count;
    }
  }
  std::printf("%llu images\n", static_cast<unsigned long long>(images));
}

}  // namespace
}  // namespace elider::bench::tpcc
