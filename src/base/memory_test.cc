#include "base/memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/sanitizer.h"

namespace elider {
namespace {

constexpr auto kPart = MemoryPart::kRows;
constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST(SizeClass, EverySizeIsCoveredByTheSmallestClass) {
  for (size_t bytes = 1; bytes <= kLargestClassBytes; bytes += bytes < 5000 ? 1 : 37) {
    const unsigned size_class = size_class_of(bytes);
    ASSERT_LT(size_class, kSizeClasses);
    ASSERT_GE(class_bytes(size_class), bytes);
    ASSERT_TRUE(size_class == 0 || class_bytes(size_class - 1) < bytes) << bytes;
  }
}

TEST(SizeClass, StepsAreAnEighthAtMostAndWholeLines) {
  for (unsigned i = 0; i < kSizeClasses; ++i) {
    const size_t bytes = class_bytes(i);
    EXPECT_EQ(bytes % 16, 0u);
    EXPECT_TRUE(bytes <= 256 || bytes % 64 == 0) << bytes;
    EXPECT_TRUE(bytes <= 1024 || bytes - class_bytes(i - 1) <= bytes / 8) << bytes;
  }
}

// Returns the kernel's flags of the mapping that contains the address. Each flag is two letters.
// "hg" means huge pages.
std::string flags_of_mapping(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  const auto number = reinterpret_cast<uintptr_t>(address);
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2) inside = begin <= number && number < end;
    else if (inside && line.starts_with("VmFlags:")) return line + ' ';
  }
  return "";
}

TEST(Memory, HugePagesAreAskedForUnlessTurnedOff) {
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) GTEST_SKIP() << "this kernel lacks transparent huge pages";
  for (const bool huge_pages : {true, false}) {
    Memory memory(0, huge_pages);
    Allocator allocator(memory);
    const std::string flags = flags_of_mapping(allocator.allocate(1000, kPart));
    ASSERT_NE(flags, "");
    EXPECT_EQ(flags.find(" hg ") != std::string::npos, huge_pages) << flags;
  }
}

TEST(Memory, PrefaultedMemoryIsThereBeforeItIsUsed) {
  Memory memory;
  ASSERT_TRUE(memory.prefault(5 * kMiB));
  EXPECT_EQ(memory.reserved_bytes(), 0u);
  Allocator allocator(memory);
  rusage before{}, after{};
  std::byte* last = nullptr;
  ASSERT_EQ(::getrusage(RUSAGE_THREAD, &before), 0);
  for (int i = 0; i < 40; ++i) {
    last = static_cast<std::byte*>(allocator.allocate(100'000, kPart));
    for (size_t at = 0; at < 100'000; at += 4096) last[at] = std::byte{1};
  }
  ASSERT_EQ(::getrusage(RUSAGE_THREAD, &after), 0);
#if !ELIDER_ASAN && !ELIDER_TSAN  // their shadow memory causes page faults
  EXPECT_LE(after.ru_minflt - before.ru_minflt, 4);
#endif
  // After this memory is used up, allocations still succeed.
  for (int i = 0; i < 100; ++i) ASSERT_NE(allocator.allocate(100'000, kPart), nullptr);
  EXPECT_GE(memory.reserved_bytes(), 13 * kMiB);
  EXPECT_FALSE(Memory().prefault(uint64_t{1} << 46));
}

TEST(Allocator, ObjectsAreApartAlignedAndKeepTheirContent) {
  Memory memory;
  Allocator allocator(memory);
  Random random(1);
  std::map<std::byte*, size_t> objects;
  for (int i = 0; i < 3000; ++i) {
    const size_t bytes = i % 100 == 0 ? random.between(1, 600000) : random.between(1, 3000);
    auto* object = static_cast<std::byte*>(allocator.allocate(bytes, kPart));
    ASSERT_NE(object, nullptr);
    const size_t alignment = bytes > kLargestClassBytes ? 4096 : class_bytes(size_class_of(bytes)) % 64 == 0 ? 64 : 16;
    ASSERT_EQ(reinterpret_cast<uintptr_t>(object) % alignment, 0u) << bytes;
    std::memset(object, static_cast<int>(bytes % 251), bytes);
    objects[object] = bytes;
    if (i % 3 == 0) {
      auto victim = objects.lower_bound(object + random.between(0, 100000));
      if (victim == objects.end()) victim = objects.begin();
      allocator.free(victim->first, victim->second, kPart);
      objects.erase(victim);
    }
  }
  std::byte* end = nullptr;
  for (const auto& [object, bytes] : objects) {
    ASSERT_GE(object, end);
    end = object + bytes;
    for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(static_cast<size_t>(object[i]), bytes % 251);
  }
  for (const auto& [object, bytes] : objects) allocator.free(object, bytes, kPart);
  EXPECT_EQ(memory.used_bytes(), 0u);
}

TEST(Allocator, ObjectsOfOneClassAreNeighbours) {
  Memory memory;
  Allocator allocator(memory);
  int neighbours = 0;
  std::byte* last = nullptr;
  for (int i = 0; i < 10000; ++i) {
    auto* object = static_cast<std::byte*>(allocator.allocate(120, kPart));
    static_cast<void>(allocator.allocate(256, MemoryPart::kIndexes));
    neighbours += object == last + 128;
    last = object;
  }
  EXPECT_GE(neighbours, 9900);
}

TEST(Allocator, FreedObjectsAreUsedAgainBeforeFreshOnes) {
  Memory memory;
  Allocator allocator(memory);
  for (int round = 0; round < 1000; ++round) {
    std::vector<void*> objects;
    for (int i = 0; i < 500; ++i) objects.push_back(allocator.allocate(200, kPart));
    for (void* object : objects) allocator.free(object, 200, kPart);
  }
  EXPECT_EQ(memory.reserved_bytes(), memory.chunk_bytes());
}

TEST(Allocator, CountsBytesByPart) {
  Memory memory;
  Allocator allocator(memory);
  void* row = allocator.allocate(100, MemoryPart::kRows);
  void* node = allocator.allocate(256, MemoryPart::kIndexes);
  void* block = allocator.allocate(1000000, MemoryPart::kBlocks);
  EXPECT_EQ(memory.used_bytes(MemoryPart::kRows), 112u);
  EXPECT_EQ(memory.used_bytes(MemoryPart::kIndexes), 256u);
  EXPECT_EQ(memory.used_bytes(MemoryPart::kVersions), 0u);
  EXPECT_GE(memory.used_bytes(MemoryPart::kBlocks), 1000000u);
  EXPECT_EQ(memory.used_bytes() + memory.free_bytes(), memory.reserved_bytes());
  allocator.free(row, 100, MemoryPart::kRows);
  allocator.free(node, 256, MemoryPart::kIndexes);
  allocator.free(block, 1000000, MemoryPart::kBlocks);
  EXPECT_EQ(memory.used_bytes(), 0u);
  EXPECT_EQ(memory.reserved_bytes(), memory.chunk_bytes());
}

TEST(Allocator, OneAllocatesAnotherFreesStaysBounded) {
  Memory memory;
  Allocator producer(memory), consumer(memory);
  for (int round = 0; round < 2000; ++round) {
    void* objects[300];
    for (void*& object : objects) object = producer.allocate(512, kPart);
    for (void* object : objects) consumer.free(object, 512, kPart);
  }
  EXPECT_EQ(memory.used_bytes(), 0u);
  EXPECT_LE(memory.reserved_bytes(), 2 * memory.chunk_bytes());
}

TEST(Allocator, TwoThreadsPassingObjectsStayBounded) {
  Memory memory;
  std::vector<std::thread> threads;
  // Each thread frees the objects that the other one allocated. Batches move between the threads
  // through an exchanged pointer.
  constexpr int kObjects = 64;
  using Batch = std::array<void*, kObjects>;
  std::array<std::atomic<Batch*>, 2> mailbox{};
  std::atomic<int> done{0};
  for (int me = 0; me < 2; ++me) {
    threads.emplace_back([&, me] {
      Allocator allocator(memory);
      for (int round = 0; round < 20000; ++round) {
        auto batch = std::make_unique<Batch>();
        for (void*& object : *batch) {
          object = allocator.allocate(256, kPart);
          std::memset(object, me, 256);
        }
        std::unique_ptr<Batch> old(mailbox[1 - me].exchange(batch.release(), std::memory_order_acq_rel));
        if (old == nullptr) old.reset(mailbox[me].exchange(nullptr, std::memory_order_acq_rel));
        if (old != nullptr)
          for (void* object : *old) allocator.free(object, 256, kPart);
      }
      done.fetch_add(1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(memory.reserved_bytes(), 4 * memory.chunk_bytes());
  EXPECT_LE(memory.used_bytes(), 2u * kObjects * 256);
  for (auto& slot : mailbox) delete slot.load();
}

TEST(Allocator, AllocatorsThatComeAndGoStayBounded) {
  Memory memory;
  for (int round = 0; round < 2000; ++round) {
    Allocator allocator(memory);
    void* small = allocator.allocate(40, kPart);
    void* large = allocator.allocate(5000, kPart);
    allocator.free(small, 40, kPart);
    allocator.free(large, 5000, kPart);
  }
  EXPECT_EQ(memory.reserved_bytes(), memory.chunk_bytes());
}

class MemoryLimit : public testing::TestWithParam<uint64_t> {};

TEST_P(MemoryLimit, AllocationFailsThereAndWorksAgainAfterFrees) {
  const uint64_t limit = GetParam() * kMiB;
  Memory memory(limit);
  Allocator allocator(memory);
  for (int round = 0; round < 3; ++round) {
    std::vector<void*> objects;
    while (void* object = allocator.allocate(1000, kPart)) objects.push_back(object);
    EXPECT_LE(memory.reserved_bytes(), limit);
    EXPECT_GE(objects.size() * 1024, limit - limit / 20);
    for (void* object : objects) allocator.free(object, 1000, kPart);
    EXPECT_EQ(memory.used_bytes(), 0u);
  }
}

TEST_P(MemoryLimit, SmallerObjectsFitWhereLargerOnesWereFreed) {
  const uint64_t limit = GetParam() * kMiB;
  Memory memory(limit);
  Allocator allocator(memory);
  std::vector<void*> objects;
  while (void* object = allocator.allocate(4096, kPart)) objects.push_back(object);
  for (void* object : objects) allocator.free(object, 4096, kPart);
  uint64_t count = 0;
  while (allocator.allocate(96, kPart) != nullptr) ++count;
  EXPECT_GE(count * 96, limit - limit / 10);
}

TEST_P(MemoryLimit, LargeObjectsCount) {
  const uint64_t limit = GetParam() * kMiB;
  Memory memory(limit);
  Allocator allocator(memory);
  EXPECT_EQ(allocator.allocate(limit + 1, kPart), nullptr);
  EXPECT_EQ(memory.reserved_bytes(), 0u);
  void* half = allocator.allocate(limit / 2, kPart);
  ASSERT_NE(half, nullptr);
  EXPECT_EQ(allocator.allocate(limit / 2 + kMiB, kPart), nullptr);
  allocator.free(half, limit / 2, kPart);
  EXPECT_EQ(memory.reserved_bytes(), 0u);
}

TEST_P(MemoryLimit, SeveralWorkersFit) {
  Memory memory(GetParam() * kMiB);
  std::vector<std::unique_ptr<Allocator>> allocators;
  for (int i = 0; i < 8; ++i) {
    allocators.push_back(std::make_unique<Allocator>(memory));
    for (size_t bytes : {24, 128, 256, 700, 5000}) EXPECT_NE(allocators.back()->allocate(bytes, kPart), nullptr) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(MiB, MemoryLimit, testing::Values(4, 32, 100), testing::PrintToStringParamName());

TEST(Memory, WithoutHugePagesWorksTheSame) {
  Memory memory(0, false);
  Allocator allocator(memory);
  void* object = allocator.allocate(3 * kMiB, kPart);
  std::memset(object, 1, 3 * kMiB);
  EXPECT_EQ(memory.used_bytes(), 3 * kMiB);
  allocator.free(object, 3 * kMiB, kPart);
}

// EngineParts::own_allocators is false here. The next allocation of any allocator returns the
// object that another allocator has freed, and no object is returned twice.
TEST(Memory, OneAllocatorServesAllUnderItsLock) {
  Memory memory(0, true, false);
  {
    Allocator one(memory), other(memory);
    void* const freed = one.allocate(128, kPart);
    one.free(freed, 128, kPart);
    EXPECT_EQ(other.allocate(128, kPart), freed);
    other.free(freed, 128, kPart);
  }
  EXPECT_EQ(memory.used_bytes(), 0u);
  std::vector<std::thread> threads;
  for (uint64_t me = 1; me <= 3; ++me)
    threads.emplace_back([&memory, me] {
      Allocator allocator(memory);
      Random random(me);
      std::vector<std::pair<uint64_t*, size_t>> mine;
      for (int step = 0; step < 5000; ++step) {
        if (mine.size() < 100) {
          const size_t bytes = 16 + random.below(3000);
          auto* const object = static_cast<uint64_t*>(allocator.allocate(bytes, kPart));
          *object = object[1] = me;
          mine.emplace_back(object, bytes);
        } else {
          std::swap(mine[random.below(mine.size())], mine.back());
          const auto [object, bytes] = mine.back();
          ASSERT_TRUE(*object == me && object[1] == me);
          allocator.free(object, bytes, kPart);
          mine.pop_back();
        }
      }
      for (const auto& [object, bytes] : mine) allocator.free(object, bytes, kPart);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory.used_bytes(), 0u);
}

#if ELIDER_ASAN
TEST(AllocatorDeathTest, UseAfterFreeIsReported) {
  Memory memory;
  Allocator allocator(memory);
  auto* object = static_cast<volatile char*>(allocator.allocate(64, kPart));
  allocator.free(const_cast<char*>(object), 64, kPart);
  EXPECT_DEATH(object[8] = 1, "use-after-poison");
  EXPECT_DEATH(allocator.free(const_cast<char*>(object), 64, kPart), "freed once");
}
#endif

}  // namespace
}  // namespace elider
