#include "storage/snapshots.h"

#include <gtest/gtest.h>

namespace elider::storage {
namespace {

constexpr uint32_t kWorkers = 4;

TEST(Snapshots, ReadersTakeNumbersThatRise) {
  Snapshots snapshots(kWorkers);
  const uint64_t first = snapshots.begin_reading(0), second = snapshots.begin_reading(1);
  EXPECT_LT(first, second);
  EXPECT_GT(snapshots.current(), second);
  EXPECT_EQ(snapshots.advance(), second + 1);
}

TEST(Snapshots, ACommitSeesTheNewestReaderBelowItsNumber) {
  Snapshots snapshots(kWorkers);
  EXPECT_EQ(snapshots.newest_reader_before(snapshots.current(), kWorkers), 0u);
  const uint64_t first = snapshots.begin_reading(0), second = snapshots.begin_reading(3);
  EXPECT_EQ(snapshots.newest_reader_before(snapshots.current(), kWorkers), second);
  EXPECT_EQ(snapshots.newest_reader_before(second, kWorkers), first) << "one of the commit's own number comes later";
  EXPECT_EQ(snapshots.newest_reader_before(snapshots.current(), 3), first) << "of the workers that were used";
  snapshots.end_reading(3);
  EXPECT_EQ(snapshots.newest_reader_before(snapshots.current(), kWorkers), first);
  snapshots.end_reading(0);
  EXPECT_EQ(snapshots.newest_reader_before(snapshots.current(), kWorkers), 0u);
}

TEST(Snapshots, AReaderThatHasPassedATableDoesNotReadIt) {
  Snapshots snapshots(kWorkers);
  const uint64_t passing = snapshots.begin_reading(0), n = snapshots.current();
  EXPECT_TRUE(snapshots.read_before(n, 0, kWorkers));
  EXPECT_FALSE(snapshots.read_before(n, passing, kWorkers));
  EXPECT_FALSE(snapshots.read_before(passing, 0, kWorkers)) << "it reads at that number or later";
  const uint64_t other = snapshots.begin_reading(1);
  EXPECT_FALSE(snapshots.read_before(n, passing, kWorkers)) << "it began after the commit";
  EXPECT_TRUE(snapshots.read_before(other + 1, passing, kWorkers));
  snapshots.end_reading(1);
  EXPECT_FALSE(snapshots.read_before(other + 1, passing, kWorkers));
}

TEST(Snapshots, TheOldestReaderIsTheSmallestNumber) {
  Snapshots snapshots(kWorkers);
  EXPECT_EQ(snapshots.oldest_reader(kWorkers), Snapshots::kNobody);
  const uint64_t first = snapshots.begin_reading(2);
  snapshots.begin_reading(1);
  EXPECT_EQ(snapshots.oldest_reader(kWorkers), first);
  snapshots.end_reading(2);
  EXPECT_EQ(snapshots.oldest_reader(kWorkers), first + 1);
}

TEST(Snapshots, WhileNothingRunsNumbersCanBeSkipped) {
  Snapshots snapshots(kWorkers);
  snapshots.start_at(100);
  EXPECT_EQ(snapshots.current(), 100u);
  snapshots.start_at(50);
  EXPECT_EQ(snapshots.current(), 100u) << "never back";
}

}  // namespace
}  // namespace elider::storage
