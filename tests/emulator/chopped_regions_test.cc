// Calls of chopped procedures as regions, in the emulator. A call that fits is one region. A call
// that does not fit, or does something that a region cannot do, runs with locks. In many schedules,
// concurrent calls, ordinary transactions and snapshots are serializable, whichever way each call
// runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "base/test_points.h"
#include "elider/laboratory.h"
#include "elider/try.h"
#include "lab/emulator/schedule.h"
#include "tests/emulator/support.h"
#include "tests/support/chopped_bank.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

using emulator_test::WithOptions;

class ChoppedRegionsTest : public testing::Test {
 protected:
  ChoppedRegionsTest() { open({}); }
  void open(Options options) {
    change_laboratory(options).elision.window_runs = 0;
    Combination combination{SyncPolicy::kElided, HtmBackend::kEmulated, KeyIndex::kOrdered};
    combination.protocol = Protocol::kChopped;
    db_ = open_database(combination, options);
    ASSERT_OK(bank_.create_tables(db_));
    ASSERT_OK(bank_.fill(db_));
    ASSERT_OK(bank_.install(db_, false));
  }
  Statistics::Elision site(const std::string& name = "call of transfer") const {
    for (const Statistics::Elision& each : db_.statistics().elision)
      if (each.site == name) return each;
    return {};
  }
  Status transfer(Key from, Key to, int fail = 0) {
    ChoppedBank::Transfer call;
    call.from = from, call.to = to, call.amount = 5, call.entry = bank_.next_entry.fetch_add(1), call.fail = fail;
    return db_.call(bank_.transfer, call);
  }
  // Reads everything on a snapshot, or in an ordinary transaction, which may lose a conflict.
  void audit(bool snapshot) {
    ChoppedBank::Audit found;
    const Status status =
        snapshot ? db_.call(bank_.audit, found) : db_.run([&](Transaction& txn) { return bank_.read_all(txn, &found); });
    if (!status.ok() || !ChoppedBank::damage(found).empty()) wrong_.fetch_add(1);
  }
  void expect(const Status& status) {
    if (!status.ok()) wrong_.fetch_add(1);
  }
  // An ordinary transaction moves money between two accounts, and inserts an account that was
  // removed.
  void move(Key from, Key to) {
    const auto balances = bank_.accounts.columns(&ChoppedBank::Account::balance);
    expect(db_.run([&](Transaction& txn) -> Status {
      ELIDER_TRY(txn.update(bank_.accounts, from, balances, [](auto& account) { account.balance -= 3; }));
      return txn.update(bank_.accounts, to, balances, [](auto& account) { account.balance += 3; });
    }));
  }
  // Runs calls, snapshots and ordinary transactions in three threads.
  void run(uint64_t seed) {
    emulator::run_schedule(seed, {[&] {
                                    expect(transfer(0, 1));
                                    expect(transfer(1, 2));
                                    audit(true);
                                  },
                                  [&] {
                                    expect(transfer(1, 0));
                                    move(2, 1);
                                    expect(transfer(2, 1));
                                  },
                                  [&] {
                                    audit(true);
                                    expect(transfer(0, 2));
                                    audit(false);
                                    ChoppedBank::Deposit call{1, 1, 1};
                                    expect(db_.call(bank_.deposit, call));
                                  }});
    ASSERT_EQ(wrong_.load(), 0) << "seed " << seed;
  }

  Database db_;
  ChoppedBank bank_;
  std::atomic<int> wrong_{0};
};

TEST_F(ChoppedRegionsTest, a_call_is_one_region) {
  for (int i = 0; i < 10; ++i) ASSERT_OK(transfer(0, 1));  // the worker's memory grows
  const Statistics::Elision before = site();
  const emulator::Counters regions = emulator::thread_counters();
  for (int i = 0; i < 100; ++i) ASSERT_OK(transfer(0, 1));
  // One or two regions may be the first to touch a page of memory, and abort.
  EXPECT_GE(site().commits - before.commits, 98u);
  EXPECT_EQ(site().fallbacks - before.fallbacks, 100 - (site().commits - before.commits));
  EXPECT_EQ(emulator::thread_counters().committed - regions.committed, site().commits - before.commits);
  ASSERT_OK(db_.verify());
}

// A head that rolls back ends its call. If a later operation fails in a region, the call is
// repeated without a region to find the reason. Nothing of the call takes effect.
TEST_F(ChoppedRegionsTest, what_fails_in_a_region_took_no_effect) {
  for (const int fail : {1, 2}) {
    const Statistics::Elision before = site();
    EXPECT_EQ(transfer(0, 1, fail).code(), Code::kRolledBack) << fail;
    EXPECT_EQ(site().commits, before.commits);
    EXPECT_EQ(site().fallbacks - before.fallbacks, fail == 1 ? 0u : 1u);
  }
  EXPECT_EQ(transfer(0, 77).code(), Code::kNotFound);
  audit(true);
  audit(false);
  EXPECT_EQ(wrong_.load(), 0);
  ASSERT_OK(transfer(0, 1));
}

TEST_F(ChoppedRegionsTest, one_that_does_not_fit_runs_by_locks) {
  for (int i = 0; i < 10; ++i) ASSERT_OK(transfer(0, 1));
  const WithOptions one_line([](auto& options) { options.sets = options.ways = 1; });
  const Statistics::Elision before = site();
  for (int i = 0; i < 10; ++i) ASSERT_OK(transfer(0, 1));
  EXPECT_EQ(site().fallbacks - before.fallbacks, 10u);
  EXPECT_EQ(site().commits, before.commits);
  audit(true);
  EXPECT_EQ(wrong_.load(), 0);
}

// The region makes old versions for a reader that began before it.
TEST_F(ChoppedRegionsTest, a_reader_of_a_snapshot_keeps_what_it_sees) {
  for (int i = 0; i < 10; ++i) ASSERT_OK(transfer(0, 1));
  ActiveTransaction reader = begin_read_only(db_);
  ChoppedBank::Audit at_first;
  ASSERT_OK(bank_.read_all(*reader, &at_first));
  const Statistics::Elision before = site();
  for (int i = 0; i < 20; ++i) ASSERT_OK(transfer(static_cast<Key>(i % 3), 3));
  EXPECT_GE(site().commits - before.commits, 18u);
  ChoppedBank::Audit found;
  ASSERT_OK(bank_.read_all(*reader, &found));
  EXPECT_EQ(ChoppedBank::damage(found), "");
  EXPECT_EQ(found.transfers, at_first.transfers);
  EXPECT_EQ(found.entries, at_first.entries);
}

TEST_F(ChoppedRegionsTest, without_old_versions_a_reader_would_see_a_later_state) {
  for (int i = 0; i < 10; ++i) ASSERT_OK(transfer(0, 1));
  ActiveTransaction reader = begin_read_only(db_);
  ChoppedBank::Audit before, after;
  ASSERT_OK(bank_.read_all(*reader, &before));
  set_mutant(Mutant::kForgetReadersInRegion);
  for (int i = 0; i < 20; ++i) EXPECT_OK(transfer(static_cast<Key>(i % 3), 3));
  set_mutant(Mutant::kNone);
  ASSERT_OK(bank_.read_all(*reader, &after));
  EXPECT_NE(after.transfers, before.transfers);
}

// Returns how many calls have committed as regions while a call with a smaller number, which adds
// to the same rows, was half done. A test point cannot hold that call, because in a region every
// watched point is a call.
class AddsInOrderTest : public ChoppedRegionsTest {
 protected:
  uint64_t regions_beside_half_a_call() {
    std::atomic<bool> warm{false}, at_core{false}, met{false}, half_done{false}, go_on{false}, go{false};
    const auto wait_for = [](const std::atomic<bool>& flag) {
      while (!flag) std::this_thread::yield();
    };
    ActiveTransaction earlier = begin_read_only(db_);  // old versions are kept, as below
    std::thread younger([&] {
      for (int i = 0; i < 10; ++i) expect(transfer(3, 4));  // its memory exists, so only the tested rule can prevent a region
      warm = true;
      wait_for(go);
      expect(transfer(3, 4));
    });
    wait_for(warm);
    EXPECT_OK(earlier.commit());
    const emulator::Options as_before = emulator::options();
    emulator::Options none = as_before;
    none.spurious_abort_rate = 1;
    emulator::configure(none);
    std::thread older([&] {
      int cores = 0;
      ChoppedBank::Transfer call;
      call.from = 1, call.to = 2, call.amount = 5, call.entry = bank_.next_entry.fetch_add(1);
      call.meanwhile = [&](int operation) {
        if (elider_emulator_active() != 0) return;
        if (operation == 2 && ++cores == 1) {
          at_core = true;
          wait_for(met);
        }
        if (operation == 3 && cores == 2) {
          half_done = true;
          wait_for(go_on);
        }
      };
      expect(db_.call(bank_.transfer, call));
    });
    wait_for(at_core);
    expect(transfer(1, 2));  // the other one has met it, and runs in pieces
    met = true;
    wait_for(half_done);
    const uint64_t number = db_.statistics().snapshot;
    std::thread reader([&] { audit(true); });
    while (db_.statistics().snapshot == number) std::this_thread::yield();
    emulator::configure(as_before);
    const Statistics::Elision before = site();
    go = true;
    while (site().fallbacks == before.fallbacks && site().commits == before.commits) std::this_thread::yield();
    const uint64_t regions = site().commits - before.commits;
    go_on = true;
    older.join();
    reader.join();
    younger.join();
    return regions;
  }
};

TEST_F(AddsInOrderTest, a_call_that_adds_waits_for_those_of_smaller_numbers) {
  EXPECT_EQ(regions_beside_half_a_call(), 0u);
  EXPECT_EQ(wrong_.load(), 0);
}

TEST_F(AddsInOrderTest, a_mutant_that_adds_at_once_is_seen) {
  set_mutant(Mutant::kAddBeforeOlder);
  EXPECT_EQ(regions_beside_half_a_call(), 1u);
  set_mutant(Mutant::kNone);
}

TEST_F(ChoppedRegionsTest, calls_hold_in_many_schedules) {
  for (uint64_t seed = 1; seed <= 80 && !HasFatalFailure(); ++seed) run(seed);
  EXPECT_OK(db_.verify());
  EXPECT_GT(site().commits, 150u);
}

// Many regions abort, so that calls with locks meet calls in regions.
TEST_F(ChoppedRegionsTest, calls_hold_where_many_regions_abort) {
  const WithOptions spurious([](auto& options) { options.spurious_abort_rate = 0.5; });
  for (uint64_t seed = 1; seed <= 80 && !HasFatalFailure(); ++seed) run(seed);
  EXPECT_OK(db_.verify());
  EXPECT_GT(site().commits, 50u);
  EXPECT_GT(site().fallbacks, 50u);
}

// Random calls of one thread, each with a few operations of all kinds, are compared with a map. The
// rows have several column groups, one of which is stored as a block, and two secondary indexes.
// The other variant has rows that a region writes in place. A region must not allocate memory. So
// the operations are drawn before the call, and their results are compared after it.
class AllOperationsTest : public ChoppedRegionsTest, public testing::WithParamInterface<bool> {
 protected:
  struct Item {
    uint64_t kind, serial, count;
    int64_t sum;
    std::array<char, 96> text;
  };
  struct Step {
    uint64_t what = 0;
    Key key = 0;
    Item item = {};
    // What it gave.
    Code code = Code::kOk;
    uint64_t rows = 0, counts = 0, sums = 0;
  };
  struct Call {
    std::array<Step, 5> steps;
    size_t count = 0;
    bool roll_back = false;
  };

  Status step(Transaction& txn, Step& its) const {
    const auto note = [&](const Item& item) { ++its.rows, its.counts += item.count, its.sums += static_cast<uint64_t>(item.sum); };
    const auto numbers = table_.columns(&Item::count, &Item::sum);
    its.rows = its.counts = its.sums = 0;
    Status status;
    switch (its.what) {
      case 0: status = txn.insert(table_, its.key, its.item); break;
      case 1: status = txn.remove(table_, its.key); break;
      case 2: status = txn.update(table_, its.key, numbers, [](Item& item) { ++item.count, item.sum += 3; }); break;
      case 3: status = txn.add(table_, its.key, &Item::sum, int64_t{5}); break;
      case 4: status = txn.put(table_, its.key, its.item); break;
      case 5: {
        auto view = txn.get(table_, its.key, numbers);
        status = view.status();
        if (status.ok()) note(**view), status = txn.update(table_, *view, numbers, [](Item& item) { item.count += 7; });
        break;
      }
      default: status = txn.scan(table_, KeyRange{}, {.columns = numbers}, [&](Key, const View<Item>& view) { note(*view); });
    }
    its.code = status.code();
    return status.ok() || status.not_found() || status.code() == Code::kDuplicateKey ? Status() : status;
  }
  // Applies the step to the map.
  static void step(std::map<Key, Item>& rows, Step& its) {
    const auto note = [&](const Item& item) { ++its.rows, its.counts += item.count, its.sums += static_cast<uint64_t>(item.sum); };
    const auto found = rows.find(its.key);
    its.rows = its.counts = its.sums = 0;
    its.code = Code::kOk;
    if (its.what == 0 && found != rows.end())
      its.code = Code::kDuplicateKey;
    else if (its.what == 0 || its.what == 4)
      rows[its.key] = its.item;
    else if (its.what >= 6)
      for (const auto& [key, item] : rows) note(item);
    else if (found == rows.end())
      its.code = Code::kNotFound;
    else if (its.what == 1)
      rows.erase(found);
    else if (its.what == 2)
      ++found->second.count, found->second.sum += 3;
    else if (its.what == 3)
      found->second.sum += 5;
    else
      note(found->second), found->second.count += 7;
  }

  Table<Item> table_;
};

TEST_P(AllOperationsTest, calls_do_what_a_map_does) {
  const bool indexed = GetParam();
  using chopping::Operation;
  Options options;
  options.block_threshold_bytes = 64;
  change_laboratory(options).elision.window_runs = 0;
  Combination combination{SyncPolicy::kElided, HtmBackend::kEmulated, KeyIndex::kOrdered};
  combination.protocol = Protocol::kChopped;
  db_ = open_database(combination, options);
  SchemaOf<Item> schema("items");
  schema.column("kind", &Item::kind)
      .column("serial", &Item::serial)
      .column("count", &Item::count)
      .column("sum", &Item::sum)
      .group({"count"})
      .group({"sum"});
  if (indexed) {
    schema.column("text", &Item::text).group({"text"});
    schema.index("by_kind", {"kind"}, [](const Item& item) { return item.kind; });
    schema.unique_index("by_serial", {"serial"}, [](const Item& item) { return item.serial; });
  }
  auto made = db_.create_table(schema);
  ASSERT_OK(made);
  table_ = *made;
  Procedures procedures;
  const ProcedureHandle<Call> steps = procedures.add(Procedure<Call>("steps").operation(
      Operation("all").inserts("items").removes("items").scans("items").writes("items").rolls_back(),
      [this](Transaction& txn, Call& call) -> Status {
        for (size_t i = 0; i < call.count; ++i) ELIDER_TRY(step(txn, call.steps[i]));
        return call.roll_back ? Status::rollback() : Status();
      }));
  ASSERT_OK(db_.install(std::move(procedures)));

  std::mt19937_64 random(7);
  std::map<Key, Item> rows;
  for (int round = 0; round < 4000; ++round) {
    Call call;
    call.count = 1 + random() % call.steps.size();
    call.roll_back = random() % 10 == 0;
    for (Step& its : call.steps) {
      its.what = random() % 7;
      its.key = random() % 12;
      its.item = {random() % 3, its.key * 1000 + random() % 1000, random() % 100, static_cast<int64_t>(random() % 100), {'x'}};
    }
    Call expected = call;
    std::map<Key, Item> after = rows;
    for (size_t i = 0; i < expected.count; ++i) step(after, expected.steps[i]);
    const Status status = db_.call(steps, call);
    ASSERT_EQ(status.code(), call.roll_back ? Code::kRolledBack : Code::kOk) << round;
    for (size_t i = 0; i < call.count; ++i) {
      const Step &did = call.steps[i], &should = expected.steps[i];
      ASSERT_EQ(did.code, should.code) << "round " << round << ", step " << i << ", what " << did.what;
      ASSERT_EQ(std::tie(did.rows, did.counts, did.sums), std::tie(should.rows, should.counts, should.sums))
          << "round " << round << ", step " << i;
    }
    if (status.ok()) rows = std::move(after);
  }
  EXPECT_OK(db_.verify());
  const Statistics statistics = db_.statistics();
  ASSERT_EQ(statistics.tables.size(), 1u);
  EXPECT_EQ(statistics.tables[0].rows, rows.size());
  // A call that changes the values of an indexed row uses locks.
  EXPECT_GT(site("call of steps").commits, indexed ? 500u : 2500u);
}
INSTANTIATE_TEST_SUITE_P(Rows, AllOperationsTest, testing::Bool(), [](const auto& info) { return info.param ? "indexed" : "in_place"; });

// The lines of a call's region, as given in docs/chopping.md. A transfer has five cells of four
// rows, a new row, a leaf or two, and what its transaction keeps of them.
TEST_F(ChoppedRegionsTest, a_call_keeps_to_its_budget) {
  const WithOptions large([](auto& options) {
    options.page_faults = false;
    options.sets = 4096;
    options.ways = 32;
    options.read_eviction_abort_rate = 0;
  });
  emulator::RegionSize most;
  for (int i = 0; i < 200; ++i) {
    ASSERT_OK(transfer(static_cast<Key>(i % 7), 8));
    if (i < 10) continue;
    most.lines_read = std::max(most.lines_read, emulator::last_region().lines_read);
    most.lines_written = std::max(most.lines_written, emulator::last_region().lines_written);
  }
  std::printf("  a transfer: %llu lines read, %llu written\n", static_cast<unsigned long long>(most.lines_read),
              static_cast<unsigned long long>(most.lines_written));
  EXPECT_LE(most.lines_read, 150u);
  EXPECT_LE(most.lines_written, 90u);
}

}  // namespace
}  // namespace elider::test
