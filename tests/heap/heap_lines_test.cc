// What a crash leaves of a heap on persistent memory, which none of our machines has. A model of it
// records each store, flush and fence (persistent_memory.h). Images of what the lines may contain
// after each of them are opened again (crash_story.h).
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "base/checksum.h"
#include "heap/format.h"
#include "tests/heap/crash_story.h"
#include "tests/heap/persistent_heap.h"

namespace elider::test {
namespace {

HeapOptions persistent_options() {
  HeapOptions options = small_options();
  options.medium = HeapMedium::kDax;
  return options;
}

TEST(HeapLinesTest, EveryImageHasWholeTransactionsAndAllThatWereAnswered) {
  const uint64_t images = images_asked();
  TestRandom random;
  const auto below = [&](uint64_t bound) { return random.below(bound); };
  uint64_t looked = 0, stories = 0;
  while (looked < images && !testing::Test::HasFailure()) {
    ++stories;
    std::vector<Answered> answered;
    std::vector<PersistentMemory::Event> events;
    std::vector<std::byte> before;
    {
      HeapOptions options = persistent_options();
      options.background_replay = random.below(2) == 0;
      options.wait = draw_wait(random);
      if (stories % 2 == 0) options.durability = HeapDurability::kLater;
      PersistentHeap persistent({}, options);
      ASSERT_OK(persistent.heap);
      run_story(
          *persistent.heap, random, stories, stories % 2 == 0, [&] { return persistent.memory->event_count(); }, &answered);
      *persistent.heap = Heap();
      events = persistent.memory->events();
      before = persistent.before;
    }
    const uint64_t wanted = std::min<uint64_t>(images - looked, 500);
    CrashedMemory crashed(before);
    for (size_t i = 0; i < events.size() && !testing::Test::HasFailure(); ++i) {
      crashed.apply(events[i]);
      if (random.below(events.size()) >= wanted) continue;
      SCOPED_TRACE("story " + std::to_string(stories) + ", after event " + std::to_string(i + 1) + " of " + std::to_string(events.size()));
      ++looked;
      switch (random.below(5)) {
        case 0: expect_world(file_of(crashed.nothing_unsure()), answered, i + 1); break;
        case 1: expect_world(file_of(crashed.everything()), answered, i + 1); break;
        default: expect_world(file_of(crashed.image(below)), answered, i + 1);
      }
    }
  }
  std::cout << looked << " images of " << stories << " stories\n";
}

// Opening a heap of version 1 changes its header. A crash may leave any words of the header.
TEST(HeapLinesTest, AHeapOfVersion1IsOneThroughout) {
  std::vector<std::byte> contents;
  {
    PersistentHeap persistent({}, persistent_options());
    ASSERT_OK(persistent.heap);
    ASSERT_OK(step(*persistent.heap, 0, 0, 0, true));
    *persistent.heap = Heap();
    contents.assign(persistent.memory->memory(), persistent.memory->memory() + persistent.memory->size());
  }
  heap::FileHeader header;
  std::memcpy(&header, contents.data(), sizeof(header));
  ASSERT_EQ(header.version, heap::kVersion);
  header.version = 1;
  header.checksum = checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(heap::FileHeader, checksum)), 0x6865617031);
  std::memcpy(contents.data(), &header, sizeof(header));
  std::vector<PersistentMemory::Event> events;
  {
    PersistentHeap persistent(contents, persistent_options());
    ASSERT_OK(persistent.heap);
    events = persistent.memory->events();
  }
  TestRandom random;
  CrashedMemory crashed(contents);
  for (const PersistentMemory::Event& event : events) {
    crashed.apply(event);
    for (int i = 0; i < 10; ++i)
      expect_world(file_of(crashed.image([&](uint64_t bound) { return random.below(bound); })), {{0, 0, 1, 0}}, 0);
  }
  std::memcpy(&header, crashed.everything().data(), sizeof(header));
  EXPECT_EQ(header.version, heap::kVersion);
}

// Room was reserved, but its length could not be made durable. The heap does not ask for another
// size. It does so only if the disk is full.
TEST(HeapLinesTest, AGrowthWhoseSyncFailsIsNotTriedAgain) {
  PersistentHeap persistent({}, persistent_options());
  ASSERT_OK(persistent.heap);
  const auto allocate = [&] {
    return persistent.heap->transaction([](HeapTransaction& txn) { return txn.allocate<std::byte>(1 << 20).status(); });
  };
  persistent.memory->refuse_extension();
  EXPECT_CODE(Code::kIoError, allocate());
  EXPECT_OK(allocate());
}

// A fence applies to what its own thread has flushed. persist() applies to all threads.
TEST(HeapLinesTest, PersistIsForTheLinesOfAllThreads) {
  HeapOptions options = persistent_options();
  options.durability = HeapDurability::kLater;
  options.background_replay = false;
  PersistentHeap persistent({}, options);
  ASSERT_OK(persistent.heap);
  std::thread([&] { ASSERT_OK(step(*persistent.heap, 0, 0, 0, true)); }).join();
  ASSERT_OK(persistent.heap->persist());
  CrashedMemory crashed(persistent.before);
  for (const PersistentMemory::Event& event : persistent.memory->events()) crashed.apply(event);
  *persistent.heap = Heap();
  io::MemoryFiles after(file_of(crashed.nothing_unsure()));
  const io::SubstituteFiles substitute(after);
  auto heap = Heap::open(kPath, 1 << 20, small_options());
  ASSERT_OK(heap);
  EXPECT_OK(heap->read([](HeapReader& reader) -> Status {
    ELIDER_ASSIGN(auto world, reader.root<World>("world"));
    EXPECT_EQ(reader.read(reader[world].shared[0][0]), 1u);
    return {};
  }));
}

// A killed process leaves flushes for which no fence has waited. The process that opens the heap
// next applies what it finds, and the machine stops meanwhile.
TEST(HeapLinesTest, TheLogIsDurableBeforeOpeningChangesTheHeap) {
  TestRandom random;
  const auto below = [&](uint64_t bound) { return random.below(bound); };
  std::vector<PersistentMemory::Event> events;
  std::vector<std::byte> before;
  std::vector<Answered> answered;
  {
    HeapOptions options = persistent_options();
    options.background_replay = false;
    PersistentHeap persistent({}, options);
    ASSERT_OK(persistent.heap);
    // Each transaction is alone in the log, so replaying another one does not repair what it left.
    for (uint64_t k = 0; k < 10; ++k) {
      ASSERT_OK(step(*persistent.heap, 0, k, 0, true));
      answered.push_back({persistent.memory->event_count(), 0, k + 1, 0});
      ASSERT_OK(persistent.heap->replay());
    }
    events = persistent.memory->events();
    before = persistent.before;
  }
  CrashedMemory killed(before);
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    killed.apply(events[i]);
    // Between a marker and its fence.
    using Kind = PersistentMemory::Event::Kind;
    if (events[i].kind != Kind::kFlushedStore || events[i].bytes.size() != sizeof(heap::Marker) || events[i + 1].kind != Kind::kFence)
      continue;
    SCOPED_TRACE("killed after event " + std::to_string(i + 1));
    CrashedMemory reopened = killed;
    std::vector<PersistentMemory::Event> its_events;
    {
      PersistentHeap persistent(killed.everything(), persistent_options());
      ASSERT_OK(persistent.heap);
      its_events = persistent.memory->events();
    }
    for (PersistentMemory::Event& event : its_events) {
      event.thread += 100;  // another process's
      reopened.apply(event);
      for (int k = 0; k < 5 && !testing::Test::HasFailure(); ++k) expect_world(file_of(reopened.image(below)), answered, i + 1);
    }
  }
}

}  // namespace
}  // namespace elider::test
