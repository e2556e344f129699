// Tests the guarantees of each policy's guards, and the bits of the version word.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "sync/elided.h"
#include "lab/policies/exclusive.h"
#include "sync/optimistic.h"

namespace elider::sync {
namespace {

TEST(VersionWordTest, ARaisedWordIsUnlockedNotObsoleteAndDifferent) {
  for (const uint64_t word : {uint64_t{0}, VersionWord::kStep, 7 * VersionWord::kStep, ~uint64_t{0} & ~uint64_t{3}}) {
    for (const uint64_t bits : {uint64_t{0}, VersionWord::kLocked}) {
      const uint64_t raised = VersionWord::raised(word | bits);
      EXPECT_FALSE(VersionWord::locked(raised));
      EXPECT_FALSE(VersionWord::obsolete(raised));
      EXPECT_EQ(raised, word + VersionWord::kStep);
    }
  }
}

TEST(OptimisticTest, AReadIsValidUntilAWriterTakesTheNode) {
  VersionWord word;
  const Optimistic::ReadGuard read(word);
  EXPECT_TRUE(read.valid());
  {
    Optimistic::WriteGuard write(word, read);
    ASSERT_TRUE(write.owns());
    EXPECT_FALSE(read.valid());
    write.raise();
    EXPECT_EQ(write.after(), read.version() + VersionWord::kStep);
  }
  EXPECT_FALSE(read.valid());
  EXPECT_TRUE(Optimistic::ReadGuard(word).valid());
}

TEST(OptimisticTest, AWriterThatChangedNothingEndsNoRead) {
  VersionWord word;
  const Optimistic::ReadGuard read(word);
  { const Optimistic::WriteGuard write(word, read); }
  EXPECT_TRUE(read.valid());
}

TEST(OptimisticTest, OnlyOneOfTwoWritersOwns) {
  VersionWord word;
  const Optimistic::ReadGuard read(word);
  const Optimistic::WriteGuard first(word, read), second(word, read);
  EXPECT_TRUE(first.owns());
  EXPECT_FALSE(second.owns());
}

TEST(OptimisticTest, AWriterOfAnOldReadDoesNotOwn) {
  VersionWord word;
  const Optimistic::ReadGuard old(word);
  {
    Optimistic::WriteGuard write(word, old);
    write.raise();
  }
  EXPECT_FALSE(Optimistic::WriteGuard(word, old).owns());
  EXPECT_TRUE(Optimistic::WriteGuard(word, Optimistic::ReadGuard(word)).owns());
}

template <class Sync>
struct PolicyTest : testing::Test {};
using Policies = testing::Types<Optimistic, Latched, SingleThreaded, Elided<htm::None>, Elided<htm::AlwaysAborts>>;
TYPED_TEST_SUITE(PolicyTest, Policies);

TYPED_TEST(PolicyTest, RaiseAndRetireChangeTheWordWhenTheGuardEnds) {
  VersionWord word;
  const uint64_t at_first = word.read();
  typename TypeParam::ReadGuard read(word);
  {
    typename TypeParam::WriteGuard write(word, read);
    write.raise();
  }
  const uint64_t raised = word.read();
  EXPECT_EQ(raised, at_first + VersionWord::kStep);
  {
    typename TypeParam::WriteGuard write(word, typename TypeParam::ReadGuard(word));
    write.retire();
  }
  EXPECT_TRUE(VersionWord::obsolete(word.read()));
  EXPECT_NE(word.read(), raised);
  // Every policy detects a stale hint, even if its guards cannot fail otherwise.
  EXPECT_FALSE(TypeParam::ReadGuard::resume(word, raised).current());
  EXPECT_TRUE(TypeParam::ReadGuard::resume(word, word.read()).current());
}

TYPED_TEST(PolicyTest, ASectionReturnsWhatItsBodyReturns) {
  typename TypeParam::Latch latch;
  EXPECT_EQ(TypeParam::section(latch, Operation::kGet, [] { return 42; }), 42);
}

// A pair of numbers that writers keep equal. Readers that validate never see them differ.
TEST(OptimisticTest, ValidReadsAreWhole) {
  struct Node {
    VersionWord word;
    uint64_t a = 0, b = 0;
  } node;
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int t = 0; t < 2; ++t) {
    readers.emplace_back([&] {
      while (!done.load()) {
        const Optimistic::ReadGuard read(node.word);
        const uint64_t a = racy_load(node.a), b = racy_load(node.b);
        if (read.valid()) {
          ASSERT_EQ(a, b);
        }
      }
    });
  }
  uint64_t writes = 0;
  while (writes < 50000) {
    Optimistic::WriteGuard write(node.word, Optimistic::ReadGuard(node.word));
    if (!write.owns()) continue;
    ++writes;
    racy_store(node.a, writes);
    racy_store(node.b, writes);
    write.raise();
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
}

// A backend whose regions begin and end without isolation, for single-threaded tests.
struct OneThread {
  static constexpr std::string_view kName = "one-thread";
  static constexpr bool kRunsRegions = true;
  static unsigned begin() { return htm::kStarted; }
  static void commit() {}
  template <uint8_t Code>
  static void abort() {
    ADD_FAILURE() << "aborted with code " << int{Code};
  }
  static bool active() { return false; }
};

TEST(ElidedTest, ASectionRunsUnderItsLatchOnlyWhereTheRegionFails) {
  ElidedLatch latch;
  const auto latched = [&] { return latch.latch().held(); };
  EXPECT_FALSE(Elided<OneThread>::section(latch, Operation::kGet, latched));
  EXPECT_TRUE(Elided<htm::AlwaysAborts>::section(latch, Operation::kInsert, latched));
  EXPECT_TRUE(Elided<htm::None>::section(latch, Operation::kRemove, latched));
  EXPECT_FALSE(latch.latch().held());
  EXPECT_EQ(latch.site(Operation::kGet).counts().commits, 1u);
  EXPECT_EQ(latch.site(Operation::kInsert).counts().fallbacks, 1u);
  EXPECT_EQ(latch.site(Operation::kRemove).counts().direct, 1u);
}

TEST(LatchedTest, SectionsExcludeEachOther) {
  Latched::Latch latch;
  uint64_t count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) Latched::section(latch, Operation::kGet, [&] { return ++count; });
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 80000u);
}

}  // namespace
}  // namespace elider::sync
