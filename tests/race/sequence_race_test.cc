// Sequences: when a chunk's first number is given, and what becomes of chunks that threads of one
// zone fetch at the same time.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
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
  for (int i = 0; i < 50 && !given; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(given) << "its chunk is committed, and not written";
  write.go();
  asks.join();
  EXPECT_TRUE(given);
  reopen({});
}

// A thread has fetched its chunk when another of its zone fetches the next: no number is given
// twice, and none of what both have fetched is lost.
TEST_P(SequenceRaceTest, ThreadsOfAZoneKeepTheChunksThatBothFetch) {
  Sequence ids = sequence();
  TestStop fetched("sequences.fetched");
  uint64_t early = 0;
  Background one([&] { early = next(ids); });
  fetched.wait_until_reached();
  std::vector<uint64_t> numbers;
  // As sequences.cc counts them. New threads take them in turn.
  const uint32_t zones = std::min(std::bit_ceil(2 * std::max(1u, std::thread::hardware_concurrency())), 128u);
  const auto ask = [&](uint32_t times) {
    for (uint32_t i = 0; i < times; ++i) Background([&] { numbers.push_back(next(ids)); }).join();
  };
  ask(2 * zones);  // each zone has a chunk, and half of it left
  fetched.go();
  one.join();
  EXPECT_EQ(early, 1u);
  ask(16 * zones);  // more than all chunks have left
  numbers.push_back(early);
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(std::adjacent_find(numbers.begin(), numbers.end()), numbers.end()) << "given twice";
  for (uint64_t number = 1; number <= (zones + 1) * kChunk; ++number)
    EXPECT_TRUE(std::binary_search(numbers.begin(), numbers.end(), number)) << number << " is lost";
}

}  // namespace
}  // namespace elider::test
