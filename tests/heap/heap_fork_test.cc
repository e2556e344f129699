// A process forks while it has a heap open. The child can use nothing of it and harms nothing, and
// it ends, wherever the parent's threads were.
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "elider/try.h"
#include "tests/heap/heap_fixture.h"
#include "tests/support/forked.h"

namespace elider::test {
namespace {

struct ForkCounter {
  uint64_t count;
};

class HeapForkTest : public HeapFixture, public testing::Test {
 protected:
  void SetUp() override {
    if (!kMayFork) GTEST_SKIP() << "threads and fork() do not go together here";
    reopen();
  }
  Status count_up() {
    return heap_.transaction([&](HeapTransaction& txn) -> Status {
      ELIDER_ASSIGN(auto counter, txn.root<ForkCounter>("counter"));
      txn.write(txn[counter].count, txn.read(txn[counter].count) + 1);
      return {};
    });
  }
  Result<uint64_t> counted() {
    uint64_t count = 0;
    Status status = heap_.read([&](HeapReader& reader) -> Status {
      ELIDER_ASSIGN(auto counter, reader.root<ForkCounter>("counter"));
      count = reader.read(reader[counter].count);
      return {};
    });
    if (!status.ok()) return status;
    return count;
  }
  // What a child returns: 0, or the position of the first call that is not refused.
  int try_all_calls() {
    int position = 0;
    for (const Status& status : {count_up(), counted().status(), heap_.persist(), heap_.replay()}) {
      ++position;
      if (!is_refused(Code::kInvalidArgument, "open the heap after fork()", status)) return position;
    }
    return heap_.status().commits == 0 ? 0 : 100;
  }
};

TEST_F(HeapForkTest, AChildIsRefusedEveryCallAndChangesNothing) {
  for (uint64_t i = 1; i <= 5; ++i) {
    ASSERT_OK(count_up());
    EXPECT_EQ(run_in_child([&] {
                const int wrong = try_all_calls();
                heap_ = {};
                return wrong;
              }),
              0);
    EXPECT_CODE(Code::kInvalidArgument, Heap::open(path_, 1 << 20, options_)) << "the child has not unlocked it";
    EXPECT_EQ(*counted(), i);
  }
  EXPECT_EQ(check().roots, 1u);
  EXPECT_EQ(*counted(), 5u);
}

TEST_F(HeapForkTest, AChildThatLivesOnDoesNotKeepTheFile) {
  const LivingChild child;
  reopen();
  EXPECT_TRUE(heap_.is_open());
}

// The replayer's thread waits or works when the process forks. The child's destructor joins
// nothing.
TEST_F(HeapForkTest, AChildEndsWhateverTheParentsThreadsDo) {
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> counts{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      while (!stop.load()) {
        EXPECT_OK(count_up());
        ++counts;
      }
    });
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(run_in_child([&] {
                const int wrong = try_all_calls();
                heap_ = {};
                return wrong;
              }),
              0)
        << "fork " << i;
  }
  static Heap kept;
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  kept = std::move(heap_);
  EXPECT_EQ(run_in_child([]() -> int { std::exit(0); }), 0);
  heap_ = std::move(kept);
  EXPECT_EQ(*counted(), counts.load());
}

TEST_F(HeapForkTest, WhatAChildOpensItselfWorks) {
  EXPECT_EQ(run_in_child([&] {
              path_ += ".own";
              heap_ = {};
              auto own = Heap::open(path_, 1 << 20, options_);
              if (!own.ok()) return 1;
              heap_ = std::move(*own);
              if (!count_up().ok() || !counted().ok()) return 2;
              heap_ = {};
              return Heap::check(path_).ok() ? 0 : 3;
            }),
            0);
}

}  // namespace
}  // namespace elider::test
