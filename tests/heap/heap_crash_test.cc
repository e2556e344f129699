// What a crash leaves of a heap: two threads work on one, through a file system in memory that
// records each call; images of what a disk may hold after each call are opened again. ELIDER_HEAP_IMAGES
// says how many (default 1,500); ELIDER_SEED draws others.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "base/test_points.h"
#include "elider/heap.h"
#include "elider/try.h"
#include "log/crash_disk.h"
#include "log/memory_files.h"
#include "tests/support/random.h"
#include "tests/support/status_matchers.h"

namespace elider::test {
namespace {

constexpr const char* kPath = "/disk/a.heap";
constexpr uint64_t kThreads = 2, kHistory = 4096;

// Of each thread how many shared and how many own steps it has made; shared steps in their order.
struct World {
  uint64_t shared[kThreads][8];
  uint64_t own[kThreads][8];
  uint64_t order_count;
  uint64_t order[kHistory];  // thread << 32 | its shared step
};

struct Answered {
  size_t calls;
  uint64_t thread, shared, own;
};

HeapOptions small_options() {
  HeapOptions options;
  options.threads_max = 4;
  options.log_bytes = 64 << 10;
  options.markers = 256;
  options.capacity_bytes = 4 << 20;
  return options;
}

// One step of a thread; every third touches what the other one does.
Status step(Heap& heap, uint64_t thread, uint64_t shared, uint64_t own, bool is_shared) {
  return heap.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_ASSIGN(auto at, txn.root<World>("world"));
    World& world = txn[at];
    if (is_shared) {
      const uint64_t count = txn.read(world.order_count);
      txn.write(world.order[count], thread << 32 | (shared + 1));
      txn.write(world.order_count, count + 1);
      txn.write(world.shared[thread][0], shared + 1);
    } else {
      for (uint64_t i = 0; i < 1 + own % 8; ++i) txn.write(world.own[thread][i], own + 1);
    }
    return {};
  });
}

// Whole transactions alone, in an order that keeps each one's predecessors, and all that were answered.
void expect_world(const log::CrashDisk::Contents& contents, const std::vector<Answered>& answered, size_t calls) {
  log::MemoryFiles files(contents);
  const log::SubstituteFiles substitute(files);
  HeapOptions options = small_options();
  options.background_replay = false;
  auto heap = Heap::open(kPath, 1 << 20, options);
  ASSERT_OK(heap);
  uint64_t shared[kThreads] = {}, own[kThreads] = {};
  const Status status = heap->read([&](HeapReader& reader) -> Status {
    ELIDER_ASSIGN(auto at, reader.root<World>("world"));
    const World& world = reader[at];
    uint64_t found[kThreads] = {};
    const uint64_t count = reader.read(world.order_count);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t entry = reader.read(world.order[i]);
      EXPECT_LT(entry >> 32, kThreads);
      if (entry >> 32 < kThreads) {
        EXPECT_EQ(entry & 0xffffffff, ++found[entry >> 32]) << "a predecessor is lost";
      }
    }
    for (uint64_t t = 0; t < kThreads; ++t) {
      shared[t] = reader.read(world.shared[t][0]);
      own[t] = reader.read(world.own[t][0]);
      EXPECT_EQ(shared[t], found[t]) << "half of a transaction";
      for (uint64_t i = 0; own[t] != 0 && i < 1 + (own[t] - 1) % 8; ++i)
        EXPECT_EQ(reader.read(world.own[t][i]), own[t]) << "half of a transaction";
    }
    return {};
  });
  if (!status.not_found()) {
    EXPECT_OK(status);
  }
  for (const Answered& one : answered) {
    if (one.calls > calls) break;
    EXPECT_GE(shared[one.thread], one.shared) << "answered, and lost";
    EXPECT_GE(own[one.thread], one.own) << "answered, and lost";
  }
  EXPECT_OK(heap->transaction([](HeapTransaction& txn) { return txn.root<uint64_t>("usable").status(); }));
  *heap = Heap();
  auto checked = Heap::check(kPath);
  ASSERT_OK(checked);
  EXPECT_EQ(checked->lost_bytes, 0u);
}

// The process is killed, another opens the heap and makes a step, and the machine stops within that.
void expect_worlds_of_reopening(log::CrashDisk disk, std::vector<Answered> answered, size_t calls, TestRandom& random) {
  log::MemoryFiles files(disk.everything());
  size_t made = 0;
  {
    const log::SubstituteFiles substitute(files);
    HeapOptions options = small_options();
    options.background_replay = false;
    auto heap = Heap::open(kPath, 1 << 20, options);
    ASSERT_OK(heap);
    ASSERT_OK(heap->transaction([](HeapTransaction& txn) { return txn.root<uint64_t>("reopened").status(); }));
    made = files.call_count();
  }
  std::erase_if(answered, [&](const Answered& one) { return one.calls > calls; });
  const auto its_calls = files.calls();
  const uint64_t stop = random.below(its_calls.size() + 1);
  for (size_t i = 0; i < stop; ++i) disk.apply(its_calls[i]);
  const log::CrashDisk::Contents contents = disk.image([&] { return random.below(2) == 0; });
  expect_world(contents, answered, calls);
  if (stop < made) return;
  log::MemoryFiles after(contents);
  const log::SubstituteFiles substitute(after);
  auto heap = Heap::open(kPath, 1 << 20, small_options());
  ASSERT_OK(heap);
  EXPECT_OK(heap->read([](HeapReader& reader) { return reader.root<uint64_t>("reopened").status(); }));
}

TEST(HeapCrashTest, EveryImageHasWholeTransactionsAndAllThatWereAnswered) {
  const char* const asked = std::getenv("ELIDER_HEAP_IMAGES");
  const uint64_t images = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 1500;
  TestRandom random;
  uint64_t looked = 0, stories = 0;
  while (looked < images && !testing::Test::HasFailure()) {
    ++stories;
    log::MemoryFiles files;
    std::vector<Answered> answered;
    std::mutex mutex;
    {
      const log::SubstituteFiles substitute(files);
      HeapOptions options = small_options();
      options.background_replay = random.below(2) == 0;
      auto heap = Heap::open(kPath, 1 << 20, options);
      ASSERT_OK(heap);
      std::vector<std::thread> threads;
      for (uint64_t t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t, its = random.split(stories * kThreads + t)]() mutable {
          uint64_t shared = 0, own = 0;
          for (int i = 0; i < 200; ++i) {
            const bool is_shared = its.below(3) == 0;
            EXPECT_OK(step(*heap, t, shared, own, is_shared));
            (is_shared ? shared : own) += 1;
            std::lock_guard lock(mutex);
            answered.push_back({files.call_count(), t, shared, own});
          }
        });
      for (std::thread& thread : threads) thread.join();
    }
    const auto calls = files.calls();
    const uint64_t wanted = std::min<uint64_t>(images - looked, 500);
    log::CrashDisk disk;
    for (size_t i = 0; i < calls.size() && !testing::Test::HasFailure(); ++i) {
      disk.apply(calls[i]);
      if (random.below(calls.size()) >= wanted) continue;
      SCOPED_TRACE("story " + std::to_string(stories) + ", after call " + std::to_string(i + 1) + " of " + std::to_string(calls.size()));
      ++looked;
      switch (random.below(5)) {
        case 0: expect_world(disk.nothing_unsure(), answered, i + 1); break;
        case 1: expect_world(disk.everything(), answered, i + 1); break;
        case 2: expect_worlds_of_reopening(disk, answered, i + 1, random); break;
        default: expect_world(disk.image([&] { return random.below(2) == 0; }), answered, i + 1);
      }
    }
  }
  std::cout << looked << " images of " << stories << " stories\n";
}

// A killed process leaves transactions that the system knows and the disk does not. Whoever opens the
// heap changes it by them; the machine stops within that.
TEST(HeapCrashTest, TheLogIsDurableBeforeOpeningChangesTheHeap) {
  log::MemoryFiles files;
  log::CrashDisk killed;
  {
    const log::SubstituteFiles substitute(files);
    HeapOptions options = small_options();
    options.durability = HeapDurability::kLater;
    options.background_replay = false;
    auto heap = Heap::open(kPath, 1 << 20, options);
    ASSERT_OK(heap);
    ASSERT_OK(step(*heap, 0, 0, 0, false));
    ASSERT_OK(heap->replay());
    for (uint64_t i = 0; i < 100; ++i) ASSERT_OK(step(*heap, 0, i, 1, true));
    for (const log::MemoryFiles::Call& call : files.calls()) killed.apply(call);
  }
  log::MemoryFiles reopened(killed.everything());
  {
    const log::SubstituteFiles substitute(reopened);
    ASSERT_OK(Heap::open(kPath, 1 << 20, small_options()));
  }
  TestRandom random;
  for (const log::MemoryFiles::Call& call : reopened.calls()) {
    killed.apply(call);
    for (int i = 0; i < 20; ++i) expect_world(killed.image([&] { return random.below(2) == 0; }), {}, 0);
  }
}

// T1's marker is not in the log yet, T2 has read from T1, and T2's is there: a crash takes both.
TEST(HeapCrashTest, WhoReadFromALostTransactionIsLostWithIt) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "no test points in this build";
  log::MemoryFiles files;
  std::atomic<bool> held{false}, go{false};
  std::thread first, second;
  size_t calls = 0;
  {
    const log::SubstituteFiles substitute(files);
    auto heap = Heap::open(kPath, 1 << 20, small_options());
    ASSERT_OK(heap);
    ASSERT_OK(heap->transaction([](HeapTransaction& txn) { return txn.root<World>("world").status(); }));
    TestPoints::on("heap.commit.before_marker", [&] {
      if (held.exchange(true)) return;
      while (!go.load()) std::this_thread::yield();
    });
    first = std::thread([&] { EXPECT_OK(step(*heap, 0, 0, 0, false)); });
    while (!held.load()) std::this_thread::yield();
    const size_t before = files.call_count();
    // It reads what the first one wrote, and writes elsewhere.
    second = std::thread([&] {
      EXPECT_OK(heap->transaction([&](HeapTransaction& txn) -> Status {
        ELIDER_ASSIGN(auto at, txn.root<World>("world"));
        txn.write(txn[at].shared[1][0], txn.read(txn[at].own[0][0]));
        return {};
      }));
    });
    const auto synced = [&] {
      const auto all = files.calls();
      for (size_t i = before; i < all.size(); ++i)
        if (all[i].kind == log::MemoryFiles::Call::Kind::kSync) return true;
      return false;
    };
    while (!synced()) std::this_thread::yield();
    calls = files.call_count();
    go.store(true);
    first.join();
    second.join();
    TestPoints::clear();
  }
  log::CrashDisk disk;
  const auto all = files.calls();
  for (size_t i = 0; i < calls; ++i) disk.apply(all[i]);
  log::MemoryFiles after(disk.nothing_unsure());
  const log::SubstituteFiles substitute(after);
  auto heap = Heap::open(kPath, 1 << 20, small_options());
  ASSERT_OK(heap);
  EXPECT_EQ(heap->status().dropped, 1u);
  EXPECT_OK(heap->read([&](HeapReader& reader) -> Status {
    ELIDER_ASSIGN(auto at, reader.root<World>("world"));
    EXPECT_EQ(reader.read(reader[at].own[0][0]), 0u);
    EXPECT_EQ(reader.read(reader[at].shared[1][0]), 0u);
    return {};
  }));
}

Status refuse_writes(const log::MemoryFiles::Call& call) {
  return call.kind == log::MemoryFiles::Call::Kind::kWrite ? Status(Code::kIoError, "the disk is gone") : Status();
}

// persist() begins; then a transaction that it waits for fails.
TEST(HeapCrashTest, WhatIsLostWhilePersistWaitsIsNotCalledDurable) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "no test points in this build";
  log::MemoryFiles files;
  const log::SubstituteFiles substitute(files);
  HeapOptions options = small_options();
  options.durability = HeapDurability::kLater;
  auto heap = Heap::open(kPath, 1 << 20, options);
  ASSERT_OK(heap);
  ASSERT_OK(step(*heap, 0, 0, 0, false));
  std::atomic<bool> held{false}, waits{false};
  TestPoints::on("heap.commit.before_marker", [&] {
    held.store(true);
    while (!waits.load()) std::this_thread::yield();
    files.refuse_with(refuse_writes);
  });
  TestPoints::on("heap.persist.waits", [&] { waits.store(true); });
  std::thread writer([&] { EXPECT_CODE(Code::kIoError, step(*heap, 0, 0, 1, false)); });
  while (!held.load()) std::this_thread::yield();
  EXPECT_REFUSED(Code::kIoError, "the disk is gone", heap->persist());
  writer.join();
  TestPoints::clear();
}

// A replay begins; then a transaction fails, whose number it would count among what it replays.
TEST(HeapCrashTest, WhatIsLostWhileAReplayBeginsIsNotReplayed) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "no test points in this build";
  log::MemoryFiles files;
  const log::SubstituteFiles substitute(files);
  HeapOptions options = small_options();
  options.background_replay = false;
  auto heap = Heap::open(kPath, 1 << 20, options);
  ASSERT_OK(heap);
  ASSERT_OK(step(*heap, 0, 0, 0, false));
  TestPoints::on("heap.replay.begins", [&] {
    files.refuse_with([](const log::MemoryFiles::Call& call) {
      return call.kind == log::MemoryFiles::Call::Kind::kSync ? Status(Code::kIoError, "the disk is gone") : Status();
    });
    EXPECT_CODE(Code::kIoError, step(*heap, 0, 0, 1, false));
    files.refuse_with({});
  });
  const size_t calls = files.call_count();
  EXPECT_REFUSED(Code::kIoError, "the disk is gone", heap->replay());
  TestPoints::clear();
  EXPECT_EQ(heap->status().replayed_number, 0u);
  const auto all = files.calls();
  for (size_t i = calls; i < all.size(); ++i)
    EXPECT_LT(all[i].offset, heap->status().log_bytes) << "the heap's file has words of what is lost";
}

TEST(HeapCrashTest, WithoutADiskItCanBeReadAndSaysWhy) {
  log::MemoryFiles files;
  const log::SubstituteFiles substitute(files);
  auto heap = Heap::open(kPath, 1 << 20, small_options());
  ASSERT_OK(heap);
  ASSERT_OK(step(*heap, 0, 0, 0, false));
  files.refuse_with([](const log::MemoryFiles::Call& call) {
    return call.kind == log::MemoryFiles::Call::Kind::kSync ? Status(Code::kIoError, "the disk is gone") : Status();
  });
  EXPECT_REFUSED(Code::kIoError, "the disk is gone", step(*heap, 0, 0, 1, false));
  files.refuse_with({});
  EXPECT_REFUSED(Code::kIoError, "can only be read", step(*heap, 0, 0, 2, false));
  EXPECT_REFUSED(Code::kIoError, "the disk is gone", heap->persist());
  EXPECT_OK(heap->read([&](HeapReader& reader) { return reader.root<World>("world").status(); }));
  *heap = Heap();
  auto again = Heap::open(kPath, 1 << 20, small_options());
  ASSERT_OK(again);
  EXPECT_OK(step(*again, 0, 0, 2, false));
}

}  // namespace
}  // namespace elider::test
