// Sequences: when a chunk's first number is given, and what becomes of chunks that threads of one
// zone fetch at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <thread>
#include <vector>

#include "elider/sequence.h"
#include "tests/race/race_test.h"
#include "tests/support/temporary_folder.h"

namespace elider::test {
namespace {

class SequenceRaceTest : public RaceTest {
 protected:
  static constexpr uint32_t kChunk = 4;

  Sequence sequence() {
    auto made = db_.sequence("ids", kChunk);
    EXPECT_OK(made);
    return made.ok() ? *made : Sequence();
  }
  static uint64_t next(Sequence& ids) {
    auto number = ids.next();
    EXPECT_OK(number);
    return number.ok() ? *number : 0;
  }
};
ELIDER_ON_RACING(SequenceRaceTest);

TEST_P(SequenceRaceTest, NoNumberIsGivenBeforeItsChunkIsDurable) {
  const TemporaryFolder folder("sequence_race");
  Options options;
  options.data_folders = {folder.path()};
  reopen(options);
  Sequence ids = sequence();
  const uint64_t before = db_.statistics().commits;
  TestStop write("log.before_write");
  std::atomic<bool> given{false};
  Background asks([&] {
    EXPECT_EQ(next(ids), 1u);
    given = true;
  });
  write.wait_until_reached();
  while (db_.statistics().commits == before && !given) std::this_thread::yield();
  for (int i = 0; i < 1000 && !given; ++i) std::this_thread::yield();
  EXPECT_FALSE(given) << "its chunk is committed, and not written";
  write.go();
  asks.join();
  EXPECT_TRUE(given);
  reopen({});
}

// One has fetched its chunk when another, of the same zone, fetches the next one: no number of
// either is given twice, and none is lost.
TEST_P(SequenceRaceTest, ThreadsOfAZoneKeepTheChunksThatBothFetch) {
  Sequence ids = sequence();
  TestStop fetched("sequences.fetched");
  uint64_t early = 0;
  Background one([&] { early = next(ids); });
  fetched.wait_until_reached();
  // Threads go round the zones in the order in which they ask first: of so many, several are of its
  // zone.
  std::vector<uint64_t> numbers;
  const uint32_t zones = std::bit_ceil(2 * std::max(1u, std::thread::hardware_concurrency()));
  const auto ask = [&](uint32_t times) {
    for (uint32_t i = 0; i < times; ++i) Background([&] { numbers.push_back(next(ids)); }).join();
  };
  ask(2 * zones);  // so that no zone has used its chunk up
  fetched.go();
  one.join();
  EXPECT_EQ(early, 1u);
  ask(16 * zones);
  numbers.push_back(early);
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(std::adjacent_find(numbers.begin(), numbers.end()), numbers.end()) << "given twice";
  for (uint64_t number = 1; number <= kChunk; ++number)
    EXPECT_TRUE(std::binary_search(numbers.begin(), numbers.end(), number)) << number << ", of the chunk that waited, is lost";
}

}  // namespace
}  // namespace elider::test
