// Races of the durable heap, forced by test points. tests/race/mutants.sh shows that each test
// fails with the defect that it is for.
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "base/test_points.h"
#include "elider/heap.h"
#include "elider/try.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace elider::test {
namespace {

struct Pair {
  uint64_t x;
  uint64_t apart[63];
  uint64_t y;
};

// A thread that reaches the point waits there until go(). It may still be there when this object is
// destroyed.
class Held {
 public:
  explicit Held(std::string point) : point_(std::move(point)) {
    TestPoints::on(point_, [state = state_] {
      if (state->reached.exchange(true)) return;
      while (!state->go.load()) std::this_thread::yield();
    });
  }
  ~Held() {
    go();
    TestPoints::off(point_);
  }
  void wait() const {
    while (!state_->reached.load()) std::this_thread::yield();
  }
  void go() { state_->go.store(true); }

 private:
  struct State {
    std::atomic<bool> reached{false}, go{false};
  };
  const std::string point_;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

class HeapRaceTest : public testing::Test {
 protected:
  explicit HeapRaceTest(HeapWait wait = HeapWait::kPruned) : folder_("heap_race") {
    HeapOptions options;
    options.wait = wait;
    options.medium = HeapMedium::kDelay;
    options.flush_ns = 0;
    options.capacity_bytes = 64 << 20;
    auto opened = Heap::open((folder_.path() / "a.heap").string(), 1 << 20, options);
    EXPECT_OK(opened);
    heap_ = std::move(*opened);
    EXPECT_OK(heap_.transaction([&](HeapTransaction& txn) -> Status {
      ELIDER_ASSIGN(pair_, txn.root<Pair>("pair"));
      return {};
    }));
  }
  void SetUp() override {
    if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  }
  // Reads x, and then y once it may continue.
  struct Reading {
    uint64_t x = 0, y = 0;
    std::atomic<bool> has_x{false}, may_go_on{false};
    std::thread thread;

    void wait_for_x() const {
      while (!has_x.load()) std::this_thread::yield();
    }
    void finish() {
      may_go_on.store(true);
      thread.join();
    }
  };
  void begin(Reading& reading) {
    reading.thread = std::thread([this, &reading] {
      EXPECT_OK(heap_.read([&](HeapReader& reader) {
        reading.x = reader.read(reader[pair_].x);
        reading.has_x.store(true);
        while (!reading.may_go_on.load()) std::this_thread::yield();
        reading.y = reader.read(reader[pair_].y);
      }));
    });
  }
  // Reads x in a thread while `held` is held. The thread must not answer before `held` is released.
  void expect_no_answer_while(Held& held, uint64_t x) {
    std::atomic<bool> answered{false};
    std::thread reader([&] {
      EXPECT_OK(heap_.read([&](HeapReader& its) { EXPECT_EQ(its.read(its[pair_].x), x); }));
      answered.store(true);
    });
    // This is long enough for a reader that does not wait. A reader that waits cannot answer,
    // however long this takes.
    for (int i = 0; i < 100 && !answered.load(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_FALSE(answered.load());
    held.go();
    reader.join();
  }
  std::thread write(uint64_t value) {
    return std::thread([this, value] {
      EXPECT_OK(heap_.transaction([&](HeapTransaction& txn) {
        txn.write(txn[pair_].x, value);
        txn.write(txn[pair_].y, value);
      }));
    });
  }

  TemporaryFolder folder_;
  Heap heap_;
  HeapPtr<Pair> pair_;
};

// A reader stops between reading the clock and filling its slot. A commit comes and looks for
// readers. Then the reader continues.
TEST_F(HeapRaceTest, AReaderThatBeginsWithinACommitSeesAllOfIt) {
  Reading reading;
  Held beginning("heap.begin.before_active");
  begin(reading);
  beginning.wait();
  std::thread writer;
  {
    Held isolated("heap.commit.isolated");
    writer = write(1);
    isolated.wait();
    beginning.go();
    reading.wait_for_x();
  }
  writer.join();
  reading.finish();
  EXPECT_EQ(reading.x, reading.y);
  EXPECT_EQ(reading.x, 1u) << "the commit had its number before the reader had its moment";
}

TEST_F(HeapRaceTest, ACommitThatTheHeapDoesNotHaveYetIsRead) {
  Reading reading;
  Held isolated("heap.commit.isolated");
  std::thread writer = write(1);
  isolated.wait();
  begin(reading);
  reading.wait_for_x();
  isolated.go();
  writer.join();
  reading.finish();
  EXPECT_EQ(reading.x, 1u);
  EXPECT_EQ(reading.y, 1u);
}

TEST_F(HeapRaceTest, ACommitWaitsForReadersOfEarlierMoments) {
  Reading reading;
  std::atomic<bool> written{false};
  TestPoints::on("heap.commit.written", [&] { written.store(true); });
  begin(reading);
  reading.wait_for_x();
  Held published("heap.commit.published");
  std::thread writer = write(1);
  published.wait();
  published.go();
  // This is long enough for a commit that does not wait. A commit that waits cannot get there,
  // however long this takes.
  for (int i = 0; i < 100 && !written.load(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(written.load());
  reading.finish();
  writer.join();
  TestPoints::off("heap.commit.written");
  EXPECT_EQ(reading.x, 0u);
  EXPECT_EQ(reading.y, 0u);
}

TEST_F(HeapRaceTest, WhatWasReadIsDurableBeforeAReaderAnswers) {
  Held written("heap.commit.written");
  std::thread writer = write(1);
  written.wait();
  expect_no_answer_while(written, 1);
  writer.join();
}

class HeapOwnWaitRaceTest : public HeapRaceTest {
 protected:
  HeapOwnWaitRaceTest() : HeapRaceTest(HeapWait::kOwn) {}
};

TEST_F(HeapOwnWaitRaceTest, NobodySeesWhatIsNotDurable) {
  Held before_marker("heap.commit.before_marker");
  std::thread writer = write(1);
  before_marker.wait();
  expect_no_answer_while(before_marker, 1);
  writer.join();
}

// Recovery would drop every transaction whose moment includes that number.
TEST_F(HeapOwnWaitRaceTest, NobodySeesANumberThatWasGivenUpAndIsNotInTheLog) {
  std::thread other;
  std::unique_ptr<Held> before_marker;
  std::atomic<bool> again{false}, holds{false};
  TestPoints::on("heap.commit.published", [] {});
  TestPoints::on("heap.commit.locked", [&] {
    if (again.exchange(true)) return;
    // What the first one has read changes after it looked, and before it has its number.
    other = std::thread([&] { EXPECT_OK(heap_.transaction([&](HeapTransaction& txn) { txn.write(txn[pair_].y, 5); })); });
    while (TestPoints::reached("heap.commit.published") == 0) std::this_thread::yield();
    before_marker = std::make_unique<Held>("heap.commit.before_marker");
    holds.store(true);
  });
  std::thread writer(
      [&] { EXPECT_OK(heap_.transaction([&](HeapTransaction& txn) { txn.write(txn[pair_].x, txn.read(txn[pair_].y) + 1); })); });
  while (!holds.load()) std::this_thread::yield();
  before_marker->wait();
  expect_no_answer_while(*before_marker, 0);
  writer.join();
  other.join();
  TestPoints::clear();
  EXPECT_OK(heap_.read([&](HeapReader& its) { EXPECT_EQ(its.read(its[pair_].x), 6u); }));
}

// A reader that waits for the number of the cancelled thread does not wait forever.
TEST_F(HeapRaceTest, AThreadThatIsCancelledWithinItsCommitEndsIt) {
  Held published("heap.commit.published");
  std::atomic<bool> ended{false};
  std::thread writer([&] {
    EXPECT_OK(heap_.transaction([&](HeapTransaction& txn) { txn.write(txn[pair_].x, 7); }));
    ended.store(true);
    ::pthread_testcancel();
  });
  published.wait();
  ::pthread_cancel(writer.native_handle());
  std::thread reader([&] { EXPECT_OK(heap_.read([&](HeapReader& its) { EXPECT_EQ(its.read(its[pair_].x), 7u); })); });
  published.go();
  writer.join();
  reader.join();
  EXPECT_TRUE(ended.load());
  EXPECT_OK(heap_.persist());
}

// A thread may be cancelled within its procedure. Then nothing of the transaction takes effect.
TEST_F(HeapRaceTest, AThreadThatIsCancelledWithinItsProcedureIsRolledBack) {
  std::atomic<bool> within{false};
  std::thread writer([&] {
    static_cast<void>(heap_.transaction([&](HeapTransaction& txn) {
      txn.write(txn[pair_].x, 7);
      within.store(true);
      for (;; std::this_thread::yield()) ::pthread_testcancel();
    }));
  });
  while (!within.load()) std::this_thread::yield();
  ::pthread_cancel(writer.native_handle());
  writer.join();
  EXPECT_OK(heap_.transaction([&](HeapTransaction& txn) {
    EXPECT_EQ(txn.read(txn[pair_].x), 0u);
    txn.write(txn[pair_].x, 8);
  }));
}

// A number that was given up does not leave a gap in the log: later transactions are replayed.
TEST_F(HeapRaceTest, ACommitThatGivesItsNumberUpHoldsNothingUp) {
  std::thread other;
  std::atomic<bool> again{false};
  TestPoints::on("heap.commit.locked", [&] {
    if (again.exchange(true)) return;
    // What the first one has read changes after it looked, and before it has its number.
    other = std::thread([&] { EXPECT_OK(heap_.transaction([&](HeapTransaction& txn) { txn.write(txn[pair_].y, 5); })); });
    while (heap_.status().last_number < 2) std::this_thread::yield();
  });
  int runs = 0;
  EXPECT_OK(heap_.transaction([&](HeapTransaction& txn) {
    ++runs;
    txn.write(txn[pair_].x, txn.read(txn[pair_].y) + 1);
  }));
  other.join();
  TestPoints::clear();
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(heap_.status().last_number, 4u);  // the root's, the other's, the one given up, and the last
  EXPECT_OK(heap_.replay());
  EXPECT_EQ(heap_.status().replayed_number, 4u);
  EXPECT_OK(heap_.read([&](HeapReader& reader) { EXPECT_EQ(reader.read(reader[pair_].x), 6u); }));
}

}  // namespace
}  // namespace elider::test
