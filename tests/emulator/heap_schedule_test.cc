// The durable heap whose update transactions are regions, in seeded schedules, on processors that
// can suspend all tracking, only that of reads, or none. A failure names its seed, which reproduces
// it.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/test_points.h"
#include "elider/heap.h"
#include "elider/try.h"
#include "lab/emulator/schedule.h"
#include "htm/status.h"
#include "tests/emulator/support.h"
#include "tests/heap/persistent_heap.h"
#include "tests/support/status_matchers.h"

namespace elider::test {
namespace {

using emulator::Suspension;
using emulator_test::WithOptions;

constexpr uint64_t kHeapAccounts = 4, kHeapTotal = 400;
struct Accounts {
  struct Line {
    uint64_t balance;
    uint64_t apart[15];
  };
  std::array<Line, kHeapAccounts> of;
};

class HeapScheduleTest : public testing::TestWithParam<std::pair<Suspension, HeapIsolation>> {
 protected:
  HeapScheduleTest()
      : processor_([](auto& options) {
          options.suspension = GetParam().first;
          options.page_faults = false;
        }) {}

  HeapOptions options() const {
    HeapOptions options;
    options.isolation = GetParam().second;
    options.backend = HtmBackend::kEmulated;
    options.background_replay = false;
    options.threads_max = 4;
    options.log_bytes = 64 << 10;
    options.capacity_bytes = 4 << 20;
    options.medium = HeapMedium::kDax;
    return options;
  }
  void fill(Heap& heap) {
    ASSERT_OK(heap.transaction([&](HeapTransaction& txn) -> Status {
      ELIDER_ASSIGN(accounts_, txn.root<Accounts>("accounts"));
      for (auto& account : txn[accounts_].of) txn.write(account.balance, kHeapTotal / kHeapAccounts);
      return {};
    }));
  }
  uint64_t sum(const HeapReader& reader) const {
    uint64_t total = 0;
    for (const auto& account : reader[accounts_].of) total += reader.read(account.balance);
    return total;
  }
  // Each run sees one moment: what it reads before and after its writes adds up.
  Status move(Heap& heap, uint64_t from, uint64_t to, uint64_t amount) {
    return heap.transaction([&](HeapTransaction& txn) {
      auto& accounts = txn[accounts_].of;
      if (sum(txn) != kHeapTotal) wrong_.fetch_add(1);
      txn.write(accounts[from].balance, txn.read(accounts[from].balance) - amount);
      txn.write(accounts[to].balance, txn.read(accounts[to].balance) + amount);
      if (sum(txn) != kHeapTotal) wrong_.fetch_add(1);
    });
  }
  void expect(const Status& status) {
    if (!status.ok()) failures_.fetch_add(1);
  }

  WithOptions processor_;
  HeapPtr<Accounts> accounts_;
  std::atomic<uint64_t> wrong_{0}, failures_{0};
};

std::string name_of_parameter(const testing::TestParamInfo<HeapScheduleTest::ParamType>& info) {
  constexpr const char* kNames[] = {"none", "loads", "all"};
  return std::string(kNames[static_cast<int>(info.param.first)]) + "_" + std::string(name_of(info.param.second));
}
INSTANTIATE_TEST_SUITE_P(Suspending, HeapScheduleTest,
                         testing::Values(std::pair{Suspension::kNone, HeapIsolation::kSerializable},
                                         std::pair{Suspension::kLoads, HeapIsolation::kSerializable},
                                         std::pair{Suspension::kAll, HeapIsolation::kSerializable},
                                         std::pair{Suspension::kAll, HeapIsolation::kSnapshot}),
                         name_of_parameter);

TEST_P(HeapScheduleTest, sums_hold_in_many_schedules) {
  PersistentHeap persistent({}, options());
  ASSERT_OK(persistent.heap);
  Heap& heap = *persistent.heap;
  fill(heap);
  const auto audit = [&] {
    uint64_t first = 0, second = 0;
    expect(heap.read([&](HeapReader& reader) {
      first = sum(reader);
      second = sum(reader);
    }));
    if (first != kHeapTotal || second != kHeapTotal) wrong_.fetch_add(1);
  };
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    emulator::run_schedule(seed, {[&] {
                                    expect(move(heap, 0, 1, 5));
                                    expect(move(heap, 1, 2, 3));
                                  },
                                  [&] {
                                    expect(move(heap, 2, 3, 4));
                                    audit();
                                    expect(move(heap, 3, 0, 2));
                                  },
                                  [&] {
                                    audit();
                                    audit();
                                    expect(move(heap, 2, 0, 1));
                                    audit();
                                  }});
    ASSERT_EQ(wrong_.load(), 0u) << "seed " << seed;
    ASSERT_EQ(failures_.load(), 0u) << "seed " << seed;
  }
  const HeapStatus status = heap.status();
  EXPECT_GT(status.region_commits, status.commits / 3);
  EXPECT_GT(status.region_aborts[static_cast<size_t>(htm::Cause::kConflict)], 100u);
  std::cout << status.region_commits << " of " << status.commits << " commits in regions\n";
}

// What a reader was told, and what an update transaction wrote, is durable: recovery finds it in
// what the memory is certain to contain at that moment.
TEST_P(HeapScheduleTest, what_is_answered_is_durable) {
  struct Told {
    size_t events;
    std::array<uint64_t, kHeapAccounts> balances;
  };
  for (uint64_t seed = 1; seed <= emulator_test::schedules(30); ++seed) {
    std::vector<Told> told[4];  // two that write, two that read
    std::vector<PersistentMemory::Event> events;
    std::vector<std::byte> before;
    {
      PersistentHeap persistent({}, options());
      ASSERT_OK(persistent.heap);
      Heap& heap = *persistent.heap;
      fill(heap);
      const auto put = [&](uint64_t account, uint64_t value) {
        expect(heap.transaction([&](HeapTransaction& txn) { txn.write(txn[accounts_].of[account].balance, value); }));
        Told now{persistent.memory->event_count(), {}};
        now.balances[account] = value;
        told[account].push_back(now);
      };
      const auto look = [&](int who) {
        Told now{};
        expect(heap.read([&](HeapReader& reader) {
          for (uint64_t i = 0; i < kHeapAccounts; ++i) now.balances[i] = reader.read(reader[accounts_].of[i].balance);
        }));
        now.events = persistent.memory->event_count();
        told[who].push_back(now);
      };
      emulator::run_schedule(seed, {[&] {
                                      for (uint64_t i = 1; i <= 4; ++i) put(0, 1000 + i);
                                    },
                                    [&] {
                                      for (uint64_t i = 1; i <= 4; ++i) put(1, 1000 + i);
                                    },
                                    [&] {
                                      for (int i = 0; i < 6; ++i) look(2);
                                    },
                                    [&] {
                                      for (int i = 0; i < 6; ++i) look(3);
                                    }});
      heap = Heap();
      events = persistent.memory->events();
      before = persistent.before;
    }
    ASSERT_EQ(failures_.load(), 0u) << "seed " << seed;
    for (const auto& reader : told) {
      std::array<uint64_t, kHeapAccounts> before_that{};
      for (const Told& now : reader) {
        const bool is_new = now.balances != before_that && (now.balances[0] > 1000 || now.balances[1] > 1000);
        before_that = now.balances;
        if (!is_new) continue;
        CrashedMemory crashed(before);
        for (size_t i = 0; i < now.events; ++i) crashed.apply(events[i]);
        HeapOptions after = options();
        after.backend = HtmBackend::kNone;
        PersistentHeap recovered(crashed.nothing_unsure(), after);
        ASSERT_OK(recovered.heap);
        ASSERT_OK(recovered.heap->read([&](HeapReader& reader_of_it) {
          for (uint64_t i = 0; i < 2; ++i)
            ASSERT_GE(reader_of_it.read(reader_of_it[accounts_].of[i].balance), now.balances[i]) << "seed " << seed;
        }));
      }
    }
  }
}

// Under SPHT's wait, each transaction waits for all transactions with smaller numbers.
TEST_P(HeapScheduleTest, under_the_total_wait_everybody_ends) {
  HeapOptions total = options();
  total.wait = HeapWait::kTotal;
  PersistentHeap persistent({}, total);
  ASSERT_OK(persistent.heap);
  Heap& heap = *persistent.heap;
  fill(heap);
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    const auto put = [&](uint64_t account) {
      for (uint64_t i = 0; i < 2; ++i)
        expect(heap.transaction([&](HeapTransaction& txn) { txn.write(txn[accounts_].of[account].balance, seed + i); }));
    };
    const auto look = [&] {
      uint64_t seen = 0;
      expect(heap.read([&](HeapReader& reader) { seen = sum(reader); }));
    };
    emulator::run_schedule(seed, {[&] { put(0); }, [&] { put(1); }, look});
    ASSERT_EQ(failures_.load(), 0u) << "seed " << seed;
  }
}

// Two transactions each read both words and clear one. The second one sees the first, except under
// snapshot isolation.
TEST_P(HeapScheduleTest, write_skew_is_for_snapshots_alone) {
  PersistentHeap persistent({}, options());
  ASSERT_OK(persistent.heap);
  Heap& heap = *persistent.heap;
  fill(heap);
  uint64_t skewed = 0;
  const auto clear = [&](uint64_t own) {
    expect(heap.transaction([&](HeapTransaction& txn) {
      auto& accounts = txn[accounts_].of;
      if (txn.read(accounts[0].balance) + txn.read(accounts[1].balance) == 2) txn.write(accounts[own].balance, 0);
    }));
  };
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    ASSERT_OK(heap.transaction([&](HeapTransaction& txn) {
      for (uint64_t i = 0; i < 2; ++i) txn.write(txn[accounts_].of[i].balance, 1);
    }));
    emulator::run_schedule(seed, {[&] { clear(0); }, [&] { clear(1); }});
    uint64_t left = 0;
    ASSERT_OK(heap.read([&](HeapReader& reader) {
      for (uint64_t i = 0; i < 2; ++i) left += reader.read(reader[accounts_].of[i].balance);
    }));
    skewed += left == 0 ? 1 : 0;
    if (GetParam().second == HeapIsolation::kSerializable) {
      ASSERT_EQ(left, 1u) << "seed " << seed;
    }
  }
  EXPECT_EQ(failures_.load(), 0u);
  EXPECT_EQ(skewed != 0, GetParam().second == HeapIsolation::kSnapshot);
}

// A has a number and has not announced it. B's moment includes that number, although B does not
// touch any data of A's. Recovery drops B if A's marker is missing, so B must not answer before A
// has one.
TEST_P(HeapScheduleTest, whose_moment_sees_a_number_waits_for_it) {
  if (GetParam().first != Suspension::kAll) GTEST_SKIP() << "only where all is suspended others meet such a number";
  PersistentHeap persistent({}, options());
  ASSERT_OK(persistent.heap);
  Heap& heap = *persistent.heap;
  fill(heap);
  const auto put = [&](uint64_t account) {
    expect(heap.transaction([&](HeapTransaction& txn) { txn.write(txn[accounts_].of[account].balance, 1); }));
  };
  std::atomic<bool> answered{false};
  TestStop deciding("heap.region.deciding");
  std::thread a(put, 0);
  deciding.wait_until_reached();
  const size_t events = persistent.memory->event_count();  // a status would read, and wait for A
  std::thread b([&] {
    put(2);
    answered.store(true);
  });
  // B's record, marker and fence.
  while (persistent.memory->event_count() < events + 3) std::this_thread::yield();
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  EXPECT_FALSE(answered.load()) << "seed 1";
  deciding.go();
  a.join();
  b.join();
  EXPECT_EQ(failures_.load(), 0u);
}

// Software does what a region cannot do: error messages, exceptions, large transactions, growth.
TEST_P(HeapScheduleTest, what_is_not_for_regions_is_done_all_the_same) {
  PersistentHeap persistent({}, options());
  ASSERT_OK(persistent.heap);
  Heap& heap = *persistent.heap;
  fill(heap);
  const uint64_t serial = heap.status().serial;
  EXPECT_CODE(Code::kRolledBack, heap.transaction([&](HeapTransaction& txn) {
    txn.write(txn[accounts_].of[0].balance, 0);
    return Status::rollback();
  }));
  EXPECT_REFUSED(Code::kProcedureThrew, "in its words", heap.transaction([&](HeapTransaction& txn) {
    txn.write(txn[accounts_].of[0].balance, 0);
    throw std::runtime_error("in its words");
  }));
  HeapPtr<uint64_t> words;
  EXPECT_OK(heap.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_ASSIGN(words, txn.allocate<uint64_t>(200'000));
    for (uint64_t i = 0; i < 2000; ++i) txn.write((&txn[words])[i], i);
    return {};
  }));
  EXPECT_GE(heap.status().serial, serial + 3);
  EXPECT_OK(heap.read([&](HeapReader& reader) {
    EXPECT_EQ(sum(reader), kHeapTotal);
    EXPECT_EQ(reader.read((&reader[words])[1999]), 1999u);
  }));
  // A reused block is 0 up to the end of its last word, in memory and in the file.
  using Odd = std::array<char, 301>;
  HeapPtr<Odd> odd;
  EXPECT_OK(heap.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_ASSIGN(odd, txn.allocate<Odd>());
    txn.write(*reinterpret_cast<std::array<char, 304>*>(&txn[odd]), [] {
      std::array<char, 304> all;
      all.fill('x');
      return all;
    }());
    return {};
  }));
  EXPECT_OK(heap.transaction([&](HeapTransaction& txn) { return txn.free(odd); }));
  EXPECT_OK(heap.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_ASSIGN(const auto again, txn.allocate<Odd>());
    EXPECT_EQ(again, odd);
    return {};
  }));
  EXPECT_OK(heap.read([&](HeapReader& reader) { EXPECT_EQ((&reader[odd])->data()[303], 0); }));
  const uint64_t regions = heap.status().region_commits;
  EXPECT_OK(heap.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_ASSIGN(auto accounts, txn.root<Accounts>("accounts"));
    ELIDER_ASSIGN(const auto again, txn.allocate<Accounts>());
    txn.write(txn[again].of[1].balance, 7);
    EXPECT_EQ(txn.read(txn[again].of[1].balance), 7u);
    txn.write(txn[accounts].of[0].apart[0], 7);
    return txn.free(again);
  }));
  EXPECT_EQ(heap.status().region_commits, regions + 1) << "a root is looked up, and memory allocated and freed, in a region";
}

}  // namespace
}  // namespace elider::test
