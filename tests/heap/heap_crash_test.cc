// What a crash leaves of a heap on a disk. Threads use a heap through a file system in memory that
// records each call. Images of what the disk may contain after each call are opened again
// (crash_story.h).
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/test_points.h"
#include "elider/heap.h"
#include "elider/try.h"
#include "tests/support/crash_disk.h"
#include "tests/support/memory_files.h"
#include "tests/heap/crash_story.h"
#include "tests/support/random.h"
#include "tests/support/status_matchers.h"

namespace elider::test {
namespace {

// The process is killed. Another one opens the heap and makes a step, and the machine stops
// meanwhile.
void expect_worlds_of_reopening(io::CrashDisk disk, std::vector<Answered> answered, size_t calls, TestRandom& random) {
  io::MemoryFiles files(disk.everything());
  size_t made = 0;
  {
    const io::SubstituteFiles substitute(files);
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
  const io::CrashDisk::Contents contents = disk.image([&] { return random.below(2) == 0; });
  expect_world(contents, answered, calls);
  if (stop < made) return;
  io::MemoryFiles after(contents);
  const io::SubstituteFiles substitute(after);
  auto heap = Heap::open(kPath, 1 << 20, small_options());
  ASSERT_OK(heap);
  EXPECT_OK(heap->read([](HeapReader& reader) { return reader.root<uint64_t>("reopened").status(); }));
}

TEST(HeapCrashTest, EveryImageHasWholeTransactionsAndAllThatWereAnswered) {
  const uint64_t images = images_asked();
  TestRandom random;
  uint64_t looked = 0, stories = 0;
  while (looked < images && !testing::Test::HasFailure()) {
    ++stories;
    io::MemoryFiles files;
    std::vector<Answered> answered;
    {
      const io::SubstituteFiles substitute(files);
      HeapOptions options = small_options();
      options.background_replay = random.below(2) == 0;
      options.wait = draw_wait(random);
      if (stories % 2 == 0) options.durability = HeapDurability::kLater;
      auto heap = Heap::open(kPath, 1 << 20, options);
      ASSERT_OK(heap);
      run_story(
          *heap, random, stories, options.durability == HeapDurability::kLater, [&] { return files.call_count(); }, &answered);
    }
    const auto calls = files.calls();
    const uint64_t wanted = std::min<uint64_t>(images - looked, 500);
    io::CrashDisk disk;
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

// A killed process leaves transactions that are in the page cache and not on the disk. The process
// that opens the heap next applies them to the heap, and the machine stops meanwhile.
TEST(HeapCrashTest, TheLogIsDurableBeforeOpeningChangesTheHeap) {
  io::MemoryFiles files;
  io::CrashDisk killed;
  uint64_t heap_at = 0;
  {
    const io::SubstituteFiles substitute(files);
    HeapOptions options = small_options();
    options.durability = HeapDurability::kLater;
    options.background_replay = false;
    auto heap = Heap::open(kPath, 1 << 20, options);
    ASSERT_OK(heap);
    ASSERT_OK(step(*heap, 0, 0, 0, false));
    ASSERT_OK(heap->replay());
    for (uint64_t i = 0; i < 100; ++i) ASSERT_OK(step(*heap, 0, i, 1, true));
    heap_at = heap->status().log_bytes;
    for (const io::MemoryFiles::Call& call : files.calls()) killed.apply(call);
  }
  io::MemoryFiles reopened(killed.everything());
  {
    const io::SubstituteFiles substitute(reopened);
    ASSERT_OK(Heap::open(kPath, 1 << 20, small_options()));
  }
  TestRandom random;
  for (const io::MemoryFiles::Call& call : reopened.calls()) {
    killed.apply(call);
    // More images are checked where the process has changed the heap.
    const int images = call.kind == io::MemoryFiles::Call::Kind::kWrite && call.offset >= heap_at ? 40 : random.below(8) == 0 ? 1 : 0;
    for (int i = 0; i < images; ++i) expect_world(killed.image([&] { return random.below(2) == 0; }), {}, 0);
  }
}

struct Words {
  uint64_t values[200];
};
Status put(Heap& heap, uint64_t value) {
  return heap.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_ASSIGN(auto words, txn.root<Words>("words"));
    for (uint64_t& place : txn[words].values) txn.write(place, value);
    return {};
  });
}
uint64_t value_of(Heap& heap) {
  uint64_t value = 0;
  EXPECT_OK(heap.read([&](HeapReader& reader) -> Status {
    ELIDER_ASSIGN(auto words, reader.root<Words>("words"));
    value = reader.read(reader[words].values[0]);
    for (const uint64_t& place : reader[words].values) EXPECT_EQ(reader.read(place), value) << "half of a transaction";
    return {};
  }));
  return value;
}
HeapOptions foreground_options() {
  HeapOptions options = small_options();
  options.background_replay = false;
  return options;
}
using Calls = std::vector<io::MemoryFiles::Call>;
// The nth sync from now on fails, once.
void refuse_sync(io::MemoryFiles& files, int nth) {
  files.refuse_with([nth, syncs = 0](const io::MemoryFiles::Call& call) mutable {
    return call.kind == io::MemoryFiles::Call::Kind::kSync && ++syncs == nth ? Status(Code::kIoError, "once") : Status();
  });
}

// A commit extended the file. Its marker and record reached the disk, but the new length did not.
TEST(HeapCrashTest, TheLogKnowsTheLengthThatTheFileHasLost) {
  io::MemoryFiles files;
  size_t before = 0;
  {
    const io::SubstituteFiles substitute(files);
    auto heap = Heap::open(kPath, 1 << 20, foreground_options());
    ASSERT_OK(heap);
    ASSERT_OK(put(*heap, 1));
    ASSERT_OK(heap->replay());
    before = files.call_count();
    ASSERT_OK(heap->transaction([](HeapTransaction& txn) { return txn.allocate<std::byte>(2 << 20).status(); }));
  }
  io::CrashDisk disk;
  const Calls calls = files.calls();
  size_t i = 0;
  while (i < before || calls[i].kind != io::MemoryFiles::Call::Kind::kSync) disk.apply(calls[i++]);
  int asked = 0;
  io::MemoryFiles after(disk.image([&] { return asked++ < 2; }));  // sectors in their order: the marker's and the record's
  const io::SubstituteFiles substitute(after);
  ASSERT_OK(Heap::check(kPath));
  auto heap = Heap::open(kPath, 1 << 20, foreground_options());
  ASSERT_OK(heap);
  EXPECT_EQ(heap->status().recovered, 1u);
  EXPECT_GT(heap->status().used_bytes, 2u << 20);
  EXPECT_OK(put(*heap, 2));
}

// A process is killed while it stores how far the log was replayed. The next process overwrites the
// log.
TEST(HeapCrashTest, HowFarTheLogWasReplayedIsDurableBeforeItIsWrittenAnew) {
  io::MemoryFiles files;
  {
    const io::SubstituteFiles substitute(files);
    auto heap = Heap::open(kPath, 1 << 20, foreground_options());
    ASSERT_OK(heap);
    for (uint64_t i = 1; i <= 30; ++i) ASSERT_OK(put(*heap, i));
  }
  Calls calls = files.calls();
  ASSERT_EQ(calls.back().kind, io::MemoryFiles::Call::Kind::kSync);
  calls.pop_back();
  io::CrashDisk disk;
  for (const io::MemoryFiles::Call& call : calls) disk.apply(call);
  io::MemoryFiles second(disk.everything());
  {
    const io::SubstituteFiles substitute(second);
    auto heap = Heap::open(kPath, 1 << 20, foreground_options());
    ASSERT_OK(heap);
    EXPECT_EQ(value_of(*heap), 30u);
    ASSERT_OK(heap->transaction([](HeapTransaction& txn) { return txn.root<Words>("other").status(); }));
  }
  TestRandom random;
  for (const io::MemoryFiles::Call& call : second.calls()) {
    disk.apply(call);
    for (int k = 0; k < 20; ++k) {
      io::MemoryFiles after(disk.image([&] { return random.below(2) == 0; }));
      const io::SubstituteFiles substitute(after);
      auto heap = Heap::open(kPath, 1 << 20, foreground_options());
      ASSERT_OK(heap);
      ASSERT_EQ(value_of(*heap), 30u);
    }
  }
}

// After a failed sync, the system treats data that it did not write as written. The process that
// opens the heap next must write what it relies on again.
TEST(HeapCrashTest, AHeaderWhoseSyncFailedIsStoredAgain) {
  io::MemoryFiles files;
  {
    const io::SubstituteFiles substitute(files);
    refuse_sync(files, 3);
    EXPECT_CODE(Code::kIoError, Heap::open(kPath, 1 << 20, foreground_options()));
    auto heap = Heap::open(kPath, 1 << 20, foreground_options());
    ASSERT_OK(heap);
    ASSERT_OK(put(*heap, 7));
  }
  io::CrashDisk disk;
  for (const io::MemoryFiles::Call& call : files.calls()) disk.apply(call);
  io::MemoryFiles after(disk.nothing_unsure());
  const io::SubstituteFiles substitute(after);
  auto heap = Heap::open(kPath, 1 << 20, foreground_options());
  ASSERT_OK(heap);
  EXPECT_EQ(value_of(*heap), 7u);
}

TEST(HeapCrashTest, ALengthWhoseSyncFailedIsStoredAgain) {
  io::MemoryFiles files;
  io::CrashDisk disk;
  {
    const io::SubstituteFiles substitute(files);
    auto heap = Heap::open(kPath, 1 << 20, foreground_options());
    ASSERT_OK(heap);
    const uint64_t bytes = heap->status().heap_bytes;
    while (heap->transaction([&](HeapTransaction& txn) -> Status {
                 ELIDER_TRY(txn.allocate<std::byte>(100'000).status());
                 if (heap->status().heap_bytes > bytes) refuse_sync(files, 1);  // it has just grown
                 return {};
               })
               .ok()) {
    }
    *heap = Heap();
    auto again = Heap::open(kPath, 1 << 20, foreground_options());
    ASSERT_OK(again);
    ASSERT_OK(put(*again, 7));
    for (const io::MemoryFiles::Call& call : files.calls()) disk.apply(call);
  }
  io::MemoryFiles after(disk.nothing_unsure());
  const io::SubstituteFiles substitute(after);
  ASSERT_OK(Heap::check(kPath));
  auto heap = Heap::open(kPath, 1 << 20, foreground_options());
  ASSERT_OK(heap);
  EXPECT_EQ(value_of(*heap), 7u);
}

TEST(HeapCrashTest, HowFarTheLogWasReplayedIsStoredAgainIfItsSyncFailed) {
  io::MemoryFiles files;
  io::CrashDisk disk;
  {
    const io::SubstituteFiles substitute(files);
    auto heap = Heap::open(kPath, 1 << 20, foreground_options());
    ASSERT_OK(heap);
    for (uint64_t i = 1; i <= 30; ++i) ASSERT_OK(put(*heap, i));
    refuse_sync(files, 2);
    EXPECT_CODE(Code::kIoError, heap->replay());
    *heap = Heap();
    auto again = Heap::open(kPath, 1 << 20, foreground_options());
    ASSERT_OK(again);
    ASSERT_OK(again->transaction([](HeapTransaction& txn) { return txn.root<Words>("other").status(); }));
    for (const io::MemoryFiles::Call& call : files.calls()) disk.apply(call);
  }
  io::MemoryFiles after(disk.nothing_unsure());
  const io::SubstituteFiles substitute(after);
  auto heap = Heap::open(kPath, 1 << 20, foreground_options());
  ASSERT_OK(heap);
  EXPECT_EQ(value_of(*heap), 30u);
  EXPECT_OK(heap->read([](HeapReader& reader) { return reader.root<Words>("other").status(); }));
}

TEST(HeapCrashTest, ARecordWhoseSyncFailedIsStoredAgain) {
  io::MemoryFiles files;
  {
    const io::SubstituteFiles substitute(files);
    auto heap = Heap::open(kPath, 1 << 20, foreground_options());
    ASSERT_OK(heap);
    ASSERT_OK(put(*heap, 1));
    ASSERT_OK(heap->replay());
    refuse_sync(files, 1);
    EXPECT_CODE(Code::kIoError, put(*heap, 2));
  }
  io::CrashDisk disk;
  for (const io::MemoryFiles::Call& call : files.calls()) disk.apply(call);
  io::MemoryFiles second(disk.everything());
  {
    const io::SubstituteFiles substitute(second);
    ASSERT_OK(Heap::open(kPath, 1 << 20, foreground_options()));
  }
  TestRandom random;
  for (const io::MemoryFiles::Call& call : second.calls()) {
    disk.apply(call);
    for (int k = 0; k < 50; ++k) {
      io::MemoryFiles after(disk.image([&] { return random.below(2) == 0; }));
      const io::SubstituteFiles substitute(after);
      auto heap = Heap::open(kPath, 1 << 20, foreground_options());
      ASSERT_OK(heap);
      value_of(*heap);  // all of it, or nothing
    }
  }
}

// T1's marker is not in the log yet. T2 has read from T1, and T2's marker is in the log. A crash
// loses both.
TEST(HeapCrashTest, WhoReadFromALostTransactionIsLostWithIt) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  io::MemoryFiles files;
  std::atomic<bool> held{false}, go{false};
  std::thread first, second;
  size_t calls = 0;
  {
    const io::SubstituteFiles substitute(files);
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
        if (all[i].kind == io::MemoryFiles::Call::Kind::kSync) return true;
      return false;
    };
    while (!synced()) std::this_thread::yield();
    calls = files.call_count();
    go.store(true);
    first.join();
    second.join();
    TestPoints::clear();
  }
  io::CrashDisk disk;
  const auto all = files.calls();
  for (size_t i = 0; i < calls; ++i) disk.apply(all[i]);
  io::MemoryFiles after(disk.nothing_unsure());
  const io::SubstituteFiles substitute(after);
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

Status refuse_writes(const io::MemoryFiles::Call& call) {
  return call.kind == io::MemoryFiles::Call::Kind::kWrite ? Status(Code::kIoError, "the disk is gone") : Status();
}

// persist() begins. Then a transaction that it waits for fails.
TEST(HeapCrashTest, WhatIsLostWhilePersistWaitsIsNotCalledDurable) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  io::MemoryFiles files;
  const io::SubstituteFiles substitute(files);
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

// A replay begins. Then a transaction fails whose number the replay would include.
TEST(HeapCrashTest, WhatIsLostWhileAReplayBeginsIsNotReplayed) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  io::MemoryFiles files;
  const io::SubstituteFiles substitute(files);
  HeapOptions options = small_options();
  options.background_replay = false;
  auto heap = Heap::open(kPath, 1 << 20, options);
  ASSERT_OK(heap);
  ASSERT_OK(step(*heap, 0, 0, 0, false));
  TestPoints::on("heap.replay.begins", [&] {
    files.refuse_with([](const io::MemoryFiles::Call& call) {
      return call.kind == io::MemoryFiles::Call::Kind::kSync ? Status(Code::kIoError, "the disk is gone") : Status();
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
  io::MemoryFiles files;
  const io::SubstituteFiles substitute(files);
  auto heap = Heap::open(kPath, 1 << 20, small_options());
  ASSERT_OK(heap);
  ASSERT_OK(step(*heap, 0, 0, 0, false));
  files.refuse_with([](const io::MemoryFiles::Call& call) {
    return call.kind == io::MemoryFiles::Call::Kind::kSync ? Status(Code::kIoError, "the disk is gone") : Status();
  });
  EXPECT_REFUSED(Code::kIoError, "the disk is gone", step(*heap, 0, 0, 1, false));
  files.refuse_with({});
  EXPECT_REFUSED(Code::kIoError, "is now read-only", step(*heap, 0, 0, 2, false));
  EXPECT_REFUSED(Code::kIoError, "the disk is gone", heap->persist());
  EXPECT_OK(heap->read([&](HeapReader& reader) { return reader.root<World>("world").status(); }));
  *heap = Heap();
  auto again = Heap::open(kPath, 1 << 20, small_options());
  ASSERT_OK(again);
  EXPECT_OK(step(*again, 0, 0, 2, false));
}

}  // namespace
}  // namespace elider::test
