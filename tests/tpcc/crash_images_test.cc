// Story: a terminal runs TPC-C on a small warehouse. From time to time it waits until everything is
// durable, and checkpoints are taken meanwhile. The machine stops at any system call. The recovered
// database is the state after some number of its transactions, row for row, and includes those that
// were known to be durable. All consistency conditions of the specification and our own hold there.
// Then another terminal continues (tests/crash/cycle.h).
#include <array>
#include <cstdio>
#include <thread>

#include "base/checksum.h"
#include "base/test_points.h"
#include "bench/tpcc/resume.h"
#include "tests/crash/cycle.h"
#include "tests/support/data_folder_test.h"
#include "tests/tpcc/small_world.h"

namespace elider::bench::tpcc {
namespace {

// Returns the schemas with their key functions, which are not stored in a file.
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

// What a database holds: all columns of all rows, and what they count.
struct TpccState {
  uint64_t digest = 0;
  RunTotals totals;
};

// A hashed table cannot be scanned, but its keys are those that were loaded.
std::vector<Key> hashed_keys(const std::string& table, const Sizes& sizes) {
  std::vector<Key> keys;
  if (table == "warehouse") keys.push_back(WarehouseKey::pack_unchecked(1));
  for (uint32_t item = 1; item <= sizes.items; ++item) {
    if (table == "item") keys.push_back(ItemKey::pack_unchecked(item));
    if (table == "stock") keys.push_back(StockKey::pack_unchecked(1, item));
  }
  for (uint32_t district = 1; district <= kDistricts; ++district) {
    if (table == "district") keys.push_back(DistrictKey::pack_unchecked(1, district));
    for (uint32_t c = 1; c <= sizes.customers && table == "customer"; ++c) keys.push_back(CustomerKey::pack_unchecked(1, district, c));
  }
  return keys;
}

Status read_digest(Database& db, const Sizes& sizes, uint64_t* digest) {
  return db.run_read_only([&](Transaction& txn) -> Status {
    *digest = 0;
    for (const TableRef& table : db.tables()) {
      const auto mix = [&](Key key, RawView view) {
        *digest = checksum(std::as_bytes(std::span(&key, 1)), *digest);
        for (const Column& column : table.schema().columns)
          *digest = checksum(std::as_bytes(std::span(view.bytes() + column.offset, column.size)), *digest);
        return true;
      };
      if (is_ordered(table.schema().key_index)) {
        if (Status status = txn.scan(table, KeyRange{}, ScanOptions{}, mix); !status.ok()) return status;
        continue;
      }
      for (const Key key : hashed_keys(table.schema().name, sizes)) {
        RawView view;
        if (Status status = txn.get(table, key, ColumnsRef{}, &view); !status.ok()) return status;
        mix(key, view);
      }
    }
    return {};
  });
}

RunTotals totals_of(const Terminal& terminal) {
  return {terminal.counts().new_orders, terminal.counts().payments, terminal.counts().delivered, {terminal.history_keys_used()}};
}

// A condition that does not hold is also an error.
Status read_state(Database& db, const Workload& workload, TpccState* state) {
  auto tables = create_tables(db, IndexChoice::kMixed);
  if (!tables.ok()) return tables.status();
  const auto found = find_earlier(db, *tables, 1);
  if (!found.ok()) return found.status();
  state->totals = found->totals;
  const auto report = check_consistency(db, *tables, workload, state->totals);
  if (!report.ok()) return report.status();
  if (!report->ok()) return Status(Code::kCorrupt, report->complaints().front());
  return read_digest(db, workload.sizes, &state->digest);
}

std::string difference(const TpccState& expected, const TpccState& found) {
  const auto counts = [](const RunTotals& totals) { return std::array{totals.new_orders, totals.payments, totals.delivered}; };
  if (counts(expected.totals) != counts(found.totals)) return "it counts other transactions";
  return expected.digest == found.digest ? "" : "it counts the same transactions, but its rows are others";
}

// One NewOrder, one Payment, one Delivery.
Status write_more(Database& db, Workload workload, TpccState* state) {
  auto tables = create_tables(db, IndexChoice::kMixed);
  if (!tables.ok()) return tables.status();
  workload.history_keys = state->totals.history_keys;
  Terminal terminal(db, *tables, workload, SnapshotUse{}, 0);
  for (const Kind kind : {Kind::kNewOrder, Kind::kPayment, Kind::kDelivery})
    if (Status status = terminal.run(kind); !status.ok()) return status;
  state->totals = add_totals(state->totals, totals_of(terminal));
  return read_digest(db, workload.sizes, &state->digest);
}

crash::Subject<TpccState> subject_of(const Workload& workload) {
  // The files do not depend on the policy.
  const auto options = [](bool threads) {
    Options chosen = options_on_files();
    chosen.durability = Durability::kGroup;
    chosen.recovery_threads = threads ? 3 : 1;
    return chosen;
  };
  const auto read = [workload](Database& db, TpccState* state) { return read_state(db, workload, state); };
  const auto write = [workload](Database& db, TpccState* state) { return write_more(db, workload, state); };
  return {options_on_files().data_folders, options, read, write, difference};
}

struct TpccRun {
  io::MemoryFiles::Contents before;
  std::vector<io::MemoryFiles::Call> calls;
  std::vector<TpccState> states;                 // by the number of transactions
  std::vector<std::pair<size_t, size_t>> known;  // after this many calls, this many transactions are durable
  Workload workload;

  // Returns how many transactions a crash after this many calls must leave.
  size_t durable_at(size_t after_calls) const {
    size_t durable = 0;
    for (const auto& [after, transactions] : known)
      if (after <= after_calls) durable = std::max(durable, transactions);
    return durable;
  }
  // Returns an empty text, or why the run cannot leave this state.
  std::string judge(const TpccState& state, size_t after_calls) const {
    const size_t first = durable_at(after_calls);
    for (size_t i = first; i < states.size(); ++i)
      if (difference(states[i], state).empty()) return "";
    return "this is not the state after " + std::to_string(first) + " or more transactions: " + difference(states[first], state);
  }
};

// Takes a checkpoint concurrently with the terminal's transactions if a second thread may run
// transactions, and otherwise between two of them.
class Checkpointing {
 public:
  Checkpointing(Database& db, io::MemoryFiles& files, TpccRun* run) : db_(db), files_(files), run_(*run) {}
  ~Checkpointing() { end(); }
  void begin(bool threads, size_t transactions) {
    end();
    transactions_ = transactions;
    const auto take = [this] {
      status_ = db_.checkpoint();
      calls_ = files_.call_count();
    };
    if (threads) thread_ = std::thread(take);
    else take();
  }
  void end() {
    if (thread_.joinable()) thread_.join();
    EXPECT_OK(status_);
    if (calls_ != 0) run_.known.emplace_back(calls_, transactions_);
    calls_ = 0;
  }

 private:
  Database& db_;
  io::MemoryFiles& files_;
  TpccRun& run_;
  std::thread thread_;
  Status status_;
  size_t calls_ = 0, transactions_ = 0;
};

TpccRun run_recorded(const test::Combination& on, uint32_t transactions) {
  TpccRun run;
  const Sizes sizes{.warehouses = 1, .items = 60, .customers = 10};
  {
    io::MemoryFiles files;
    const io::SubstituteFiles substitute(files);
    SmallWorld world(sizes, 1, 1, IndexChoice::kMixed, options_on_files(on));
    run.workload = world.workload;
    EXPECT_OK(world.db.wait_durable());
    run.before = files.contents();
  }
  io::MemoryFiles files(run.before);
  const io::SubstituteFiles substitute(files);
  auto db = Database::open(options_on_files(on));
  EXPECT_OK(db);
  auto tables = create_tables(*db, IndexChoice::kMixed);
  EXPECT_OK(tables);
  Terminal terminal(*db, *tables, run.workload, SnapshotUse{}, 0);
  Checkpointing checkpoints(*db, files, &run);
  elider::Random random(3);
  for (uint32_t i = 0; i <= transactions; ++i) {
    TpccState state{0, totals_of(terminal)};
    EXPECT_OK(read_digest(*db, sizes, &state.digest));
    run.states.push_back(std::move(state));
    if (random.below(3) == 0) {
      EXPECT_OK(db->wait_durable());
      run.known.emplace_back(files.call_count(), i);
    }
    if (i == transactions) break;
    if (i % 20 == 10) checkpoints.begin(on.threads(), i);
    EXPECT_LT(terminal.run_one(), kKinds) << terminal.failure();
  }
  checkpoints.end();
  EXPECT_OK(db->wait_durable());
  run.known.emplace_back(files.call_count(), transactions);
  run.calls = files.calls();
  return run;
}

double scale() {
  const char* const text = std::getenv("ELIDER_TEST_SCALE");
  return text == nullptr ? 1.0 : std::atof(text);
}

// Empty, or the first fault.
std::string search(const test::Combination& on, crash::Subsets subsets) {
  const TpccRun run = run_recorded(on, static_cast<uint32_t>(std::max(20.0, 40 * scale())));
  elider::Random random(1);
  io::CrashDisk disk(run.before);
  crash::Cycle<TpccState> cycle(subject_of(run.workload));
  crash::SeenImages seen;
  uint64_t images = 0;
  const auto look = [&](io::MemoryFiles::Contents image, size_t count) -> std::string {
    if (!seen.add(image, run.durable_at(count))) return "";
    ++images;
    io::MemoryFiles files(std::move(image));
    crash::Cycle<TpccState>::Outcome outcome;
    const auto judge = [&](const TpccState& state) { return run.judge(state, count); };
    return cycle.run(files, {.threads = images % 16 == 0, .checkpoint = images % 4 == 0}, judge, &outcome);
  };
  std::string wrong;
  for (size_t count = 0; count <= run.calls.size() && wrong.empty(); ++count) {
    if (count != 0) disk.apply(run.calls[count - 1]);
    wrong = crash::for_each_image(disk, random, [&](io::MemoryFiles::Contents image) { return look(std::move(image), count); }, subsets);
    if (!wrong.empty()) wrong = "after call " + std::to_string(count) + ": " + wrong;
  }
  std::printf("%llu images\n", static_cast<unsigned long long>(images));
  return wrong;
}

constexpr crash::Subsets kFew{.unsure_max = 4, .samples = 16}, kSome{.unsure_max = 6, .samples = 64};

class TpccCrash : public testing::TestWithParam<test::Combination> {};
INSTANTIATE_TEST_SUITE_P(On, TpccCrash, testing::ValuesIn(test::durable_combinations_of_occ()), test::combination_name);

TEST_P(TpccCrash, EveryImageHoldsTheConsistencyConditions) {
  // The ways to run it leave files of one kind: all subsets of one of them are enough, 5 ms each;
  // fewer where few images are asked for.
  const bool one = GetParam().sync == SyncPolicy::kOptimistic && GetParam().key_index == KeyIndex::kOrdered;
  const crash::Subsets of_one = std::getenv("ELIDER_CRASH_IMAGES") == nullptr ? crash::Subsets{} : kSome;
  EXPECT_EQ(search(GetParam(), one ? of_one : kFew), "");
}

// The only terminal learns too late that a commit is durable, so this test cannot detect an early
// acknowledgement. tests/crash detects it.
class TpccCrashMutant : public testing::TestWithParam<Mutant> {
 protected:
  void TearDown() override { set_mutant(Mutant::kNone); }
};
INSTANTIATE_TEST_SUITE_P(Durability, TpccCrashMutant,
                         testing::Values(Mutant::kPublishUnsynced, Mutant::kRemoveLogEarly),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(TpccCrashMutant, IsCaught) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without mutants";
  set_mutant(GetParam());
  const std::string fault = search({}, kFew);
  std::printf("%s\n", fault.c_str());
  EXPECT_NE(fault, "");
}

}  // namespace
}  // namespace elider::bench::tpcc
