#include "engine/runtime/turns.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace elider::detail {
namespace {

// Runs threads that begin and end transactions, each with its turns, until they are stopped.
class TurnsTest : public testing::Test {
 protected:
  static constexpr uint32_t kAtOnce = 2;

  void run_threads(uint32_t threads, uint64_t rounds_of_each) {
    turns_.set_threads(threads);
    std::vector<std::thread> all;
    for (uint32_t i = 0; i < threads; ++i)
      all.emplace_back([&] {
        Turn turn;
        for (uint64_t round = 0; round < rounds_of_each; ++round) {
          if (turns_.crowded()) turns_.begin(turn);
          if (turns_.crowded()) turns_.end(turn);
        }
        turns_.forget(turn);
      });
    for (std::thread& thread : all) thread.join();
  }

  Turns turns_{kAtOnce};
};

TEST_F(TurnsTest, FewThreadsNeedNone) {
  turns_.set_threads(kAtOnce);
  EXPECT_FALSE(turns_.crowded());
  run_threads(kAtOnce, 1000);
  EXPECT_EQ(turns_.waits(), 0u);
}

TEST_F(TurnsTest, AllThreadsComeToTheirEnd) {
  run_threads(16, 20000);
}

// A new thread takes over the turn of a thread that is between two transactions.
TEST_F(TurnsTest, TurnsOfThreadsThatDoOtherWorkAreTakenOver) {
  turns_.set_threads(4);
  Turn idle[kAtOnce];
  for (Turn& turn : idle) {
    turns_.begin(turn);
    turns_.end(turn);
  }
  Turn other;
  turns_.begin(other);
  turns_.end(other);
  for (Turn& turn : idle) {  // the threads that lost their turns continue as well
    turns_.begin(turn);
    turns_.end(turn);
    turns_.forget(turn);
  }
  turns_.forget(other);
}

// Both threads stay within their transactions until the third transaction has run.
TEST_F(TurnsTest, ATransactionThatWaitsForAnotherOneIsNoDeadlock) {
  turns_.set_threads(4);
  Turn waiting[kAtOnce];
  for (Turn& turn : waiting) turns_.begin(turn);
  std::thread third([&] {
    Turn turn;
    turns_.begin(turn);
    turns_.end(turn);
    turns_.forget(turn);
  });
  third.join();
  EXPECT_EQ(turns_.waits(), 1u);
  for (Turn& turn : waiting) {
    turns_.end(turn);
    turns_.forget(turn);
  }
}

TEST_F(TurnsTest, ACrowdThatComesAndGoesMeanwhileHarmsNobody) {
  std::atomic<bool> stop{false};
  std::thread changes([&] {
    for (uint32_t threads = 0; !stop.load(); ++threads) turns_.set_threads(threads % 6);
  });
  std::vector<std::thread> all;
  for (int i = 0; i < 6; ++i)
    all.emplace_back([&] {
      Turn turn;
      for (int round = 0; round < 5000; ++round) {
        if (turns_.crowded()) turns_.begin(turn);
        if (turns_.crowded()) turns_.end(turn);
      }
      turns_.forget(turn);
    });
  for (std::thread& thread : all) thread.join();
  stop.store(true);
  changes.join();
}

}  // namespace
}  // namespace elider::detail
