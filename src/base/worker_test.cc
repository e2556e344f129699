#include "base/worker.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "base/spin.h"
#include "base/test_points.h"

namespace elider {
namespace {

constexpr auto kPart = MemoryPart::kRows;

// A retired object that counts its reclamation.
void count_reclaim(Worker&, void* object, uint64_t argument) { *static_cast<uint64_t*>(object) += argument; }

struct WorkerTest : testing::Test {
  // The counters of the callbacks. They are declared before `workers`, because the last callbacks
  // run when `workers` is destroyed.
  uint64_t reclaimed = 0;
  uint64_t late = 0;
  Memory memory;
  Workers workers{memory, 16, 1};

  // Enters and leaves without retiring anything.
  static void pass(Worker& worker) {
    worker.enter();
    worker.leave();
  }
};

TEST_F(WorkerTest, IdsAreUniqueLowAndUsedAgain) {
  Worker* a = workers.acquire();
  Worker* b = workers.acquire();
  EXPECT_EQ(a->id(), 0u);
  EXPECT_EQ(b->id(), 1u);
  EXPECT_EQ(workers.in_use(), 2u);
  workers.release(a);
  Worker* c = workers.acquire();
  EXPECT_EQ(c->id(), 0u);
  EXPECT_EQ(workers.ids_used_max(), 2u);
  workers.release(b);
  workers.release(c);
  EXPECT_EQ(workers.in_use(), 0u);
}

TEST_F(WorkerTest, AcquireGivesNullWhenAllAreInUse) {
  std::vector<Worker*> all;
  for (int i = 0; i < 16; ++i) all.push_back(workers.acquire());
  EXPECT_EQ(workers.acquire(), nullptr);
  workers.collect();  // does not do anything, and returns
  for (Worker* worker : all) workers.release(worker);
  EXPECT_NE(workers.acquire(), nullptr);
}

TEST_F(WorkerTest, NothingIsReclaimedWhileAReaderIsInside) {
  Worker* reader = workers.acquire();
  Worker* writer = workers.acquire();
  reader->enter();
  for (int i = 0; i < 10000; ++i) {
    writer->enter();
    writer->retire(&count_reclaim, &reclaimed, 1);
    writer->leave();
  }
  workers.collect();
  EXPECT_EQ(reclaimed, 0u);
  EXPECT_EQ(workers.retired_objects(), 10000u);
  reader->leave();
  workers.collect();
  EXPECT_EQ(reclaimed, 10000u);
  EXPECT_EQ(workers.retired_objects(), 0u);
}

TEST_F(WorkerTest, AReaderThatEntersLaterHoldsOnlyLaterObjects) {
  Worker* reader = workers.acquire();
  Worker* writer = workers.acquire();
  writer->enter();
  writer->retire(&count_reclaim, &reclaimed, 1);
  writer->leave();
  for (int i = 0; i < 3; ++i) workers.collect();
  reader->enter();
  writer->enter();
  writer->retire(&count_reclaim, &late, 1);
  writer->leave();
  workers.collect();
  EXPECT_EQ(reclaimed, 1u);
  EXPECT_EQ(late, 0u);
  reader->leave();
}

TEST_F(WorkerTest, WorkersReclaimByThemselvesAndStayBounded) {
  Worker* worker = workers.acquire();
  uint64_t waiting_max = 0;
  for (int i = 0; i < 100000; ++i) {
    worker->enter();
    for (int k = 0; k < i % 7; ++k) worker->retire(&count_reclaim, &reclaimed, 1);
    worker->leave();
    waiting_max = std::max(waiting_max, workers.retired_objects());
  }
  EXPECT_LE(waiting_max, 5'000u);  // three grace epochs of 1024, and the present epoch
  EXPECT_GE(reclaimed, 290'000u);
}

TEST_F(WorkerTest, AWorkerThatRetiresManyAtATimeStaysBounded) {
  Worker* worker = workers.acquire();
  constexpr uint64_t kAtATime = 5000;
  uint64_t waiting_max = 0;
  for (int i = 0; i < 1000; ++i) {
    worker->enter();
    for (uint64_t k = 0; k < kAtATime; ++k) worker->retire(&count_reclaim, &reclaimed, 1);
    worker->leave();
    waiting_max = std::max(waiting_max, workers.retired_objects());
  }
  EXPECT_LE(waiting_max, 20 * kAtATime);
  for (int i = 0; i < 5 * 5000; ++i) pass(*worker);
  EXPECT_EQ(reclaimed, 1000 * kAtATime);  // without new objects, the worker continues until all are reclaimed
}

// An advance interrupts other processors, so a worker that has much to reclaim does not advance
// each time.
TEST_F(WorkerTest, TheEpochAdvancesOnceInACountdown) {
  constexpr uint64_t kObjects = 100'000;
  const auto advances = [](Workers& of, auto&& retire) {
    Worker* worker = of.acquire();
    const uint64_t epoch = of.epoch();
    for (uint64_t i = 0; i < kObjects; ++i) {
      worker->enter();
      retire(*worker);
      worker->leave();
    }
    return of.epoch() - epoch;
  };
  const auto retire = [this](Worker& worker) { worker.retire(&count_reclaim, &reclaimed, 1); };
  // Each object counts with its weight, and each leave() with 1.
  const auto near = [](uint64_t found, uint64_t weight) {
    const uint64_t wanted = kObjects * (weight + 1) / 4096 + 1;
    EXPECT_TRUE(found > wanted / 2 && found <= wanted) << found << " of " << wanted;
  };
  near(advances(workers, retire), 4);
  EXPECT_GE(reclaimed, kObjects - 5'000);
  near(advances(workers, [this](Worker& worker) { worker.retire_linked(&count_reclaim, &reclaimed, 1); }), 16);
  near(advances(workers, [this](Worker& worker) { worker.retire(&count_reclaim, &reclaimed, 1, 64 << 10); }), 4 + 512);
  Memory small_memory(4u << 20);
  Workers small(small_memory, 1, 1);
  near(advances(small, retire), 16);
}

// Otherwise the retired objects would wait for another countdown.
TEST_F(WorkerTest, WhoeverIsInTheWayOfAnAdvanceIsLookedAtAgainSooner) {
  Worker* reader = workers.acquire();
  Worker* worker = workers.acquire();
  const auto retire = [&](int times) {
    for (int i = 0; i < times; ++i) {
      worker->enter();
      worker->retire(&count_reclaim, &reclaimed, 1);
      worker->leave();
    }
  };
  reader->enter();
  retire(3000);  // the reader does not prevent the first advance, but the next ones
  const uint64_t epoch = workers.epoch();
  reader->leave();
  retire(200);
  EXPECT_GT(workers.epoch(), epoch);
}

TEST_F(WorkerTest, LargeObjectsAreReclaimedSooner) {
  Worker* worker = workers.acquire();
  for (int i = 0; i < 10000; ++i) {
    worker->enter();
    void* object = worker->allocate(100000, kPart);
    ASSERT_NE(object, nullptr);
    worker->retire_memory(object, 100000, kPart);
    worker->leave();
  }
  EXPECT_LE(memory.reserved_bytes(), uint64_t{8} << 20);
}

TEST_F(WorkerTest, CallbacksRetireFurtherObjectsInOrder) {
  Worker* worker = workers.acquire();
  static std::vector<int> order;
  order.clear();
  worker->enter();
  worker->retire(
      [](Worker& w, void* memory_of_node, uint64_t) {
        EXPECT_TRUE(w.inside());
        order.push_back(1);
        w.retire(
            [](Worker& v, void* node, uint64_t) {
              order.push_back(2);
              v.free(node, 64, kPart);
            },
            memory_of_node, 0);
      },
      worker->allocate(64, kPart), 0);
  worker->leave();
  workers.collect();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_EQ(memory.used_bytes(), 0u);
}

TEST_F(WorkerTest, AReleasedWorkersObjectsAreReclaimedByOthers) {
  Worker* other = workers.acquire();
  Worker* leaving = workers.acquire();
  leaving->enter();
  for (int i = 0; i < 100; ++i) leaving->retire(&count_reclaim, &reclaimed, 1);
  leaving->leave();
  workers.release(leaving);
  EXPECT_EQ(workers.retired_objects(), 100u);
  for (int i = 0; i < 4 * 5000; ++i) pass(*other);
  EXPECT_EQ(reclaimed, 100u);
}

TEST_F(WorkerTest, CollectEmptiesTheListOfAWorkerThatIsIdle) {
  Worker* idle = workers.acquire();
  idle->enter();
  idle->retire(&count_reclaim, &reclaimed, 1);
  idle->leave();
  workers.collect();
  EXPECT_EQ(reclaimed, 1u);
  pass(*idle);
}

// A worker that reaches the limit may retry only once a millisecond, so reclamation must not wait
// for a countdown. All retired objects belong to an idle worker.
TEST_F(WorkerTest, AWorkerThatIsShortOfMemoryReclaimsAtOnce) {
  constexpr uint64_t kLimit = 4u << 20;
  constexpr size_t kBytes = 256;
  Memory small(kLimit);
  Workers few(small, 3, 1);
  Worker* idle = few.acquire();
  Worker* hungry = few.acquire();
  Worker* reader = few.acquire();
  reader->enter();
  idle->enter();
  while (void* object = idle->allocate(kBytes, kPart)) idle->retire_memory(object, kBytes, kPart);
  idle->leave();
  const auto tries = [&](int tries_max) {
    for (int tries = 1; tries <= tries_max; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      hungry->enter();
      void* const object = hungry->allocate(kBytes, kPart);
      if (object != nullptr) hungry->free(object, kBytes, kPart);
      hungry->leave();
      if (object != nullptr) return tries;
    }
    return 0;
  };
  EXPECT_EQ(tries(100), 0);  // the reader may still see all objects
  reader->leave();
  EXPECT_NE(tries(100), 0);
  for (int i = 0; i < 1000 && few.retired_objects() != 0; ++i) pass(*hungry);
  EXPECT_EQ(few.retired_objects(), 0u);  // and continues, although memory is not exhausted now
  for (Worker* worker : {idle, hungry, reader}) few.release(worker);
}

// If the memory is really in use, hurrying does not help. A worker that occasionally fails must not
// hurry between failures.
TEST_F(WorkerTest, AWorkerThatStaysShortOfMemoryDoesNotHurryForEver) {
  Memory small(4u << 20);
  Workers few(small, 1, 1);
  Worker* worker = few.acquire();
  worker->enter();
  std::vector<void*> used;
  while (void* object = worker->allocate(256, kPart)) used.push_back(object);
  worker->leave();
  constexpr uint64_t kRounds = 200, kLeaves = 64;
  const uint64_t epoch = few.epoch();
  for (uint64_t round = 0; round < kRounds; ++round)
    for (uint64_t leave = 0; leave < kLeaves; ++leave) {
      worker->enter();
      if (leave == 0) {
        EXPECT_EQ(worker->allocate(256, kPart), nullptr);
      }
      worker->retire(&count_reclaim, &reclaimed, 1);
      worker->leave();
    }
  EXPECT_LT(few.epoch() - epoch, kRounds * kLeaves / 4);
  worker->enter();
  for (void* object : used) worker->free(object, 256, kPart);
  worker->leave();
  few.release(worker);
}

TEST(Workers, DestructorReclaimsEverythingInOrder) {
  Memory memory;
  static std::vector<uint64_t> order;
  order.clear();
  {
    Workers workers(memory, 4, 1);
    Worker* worker = workers.acquire();
    worker->enter();
    for (uint64_t i = 0; i < 100; ++i) {
      worker->retire(
          [](Worker& w, void* object, uint64_t argument) {
            order.push_back(argument);
            w.retire([](Worker& v, void* o, uint64_t) { v.free(o, 100, kPart); }, object, 0);
          },
          worker->allocate(100, kPart), i);
    }
    worker->leave();
  }
  ASSERT_EQ(order.size(), 100u);
  for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(order[i], i);
  EXPECT_EQ(memory.used_bytes(), 0u);
}

TEST_F(WorkerTest, TheOldestStayInsideIsTimed) {
  EXPECT_EQ(workers.oldest_entered_ns(), 0u);
  Worker* first = workers.acquire();
  Worker* second = workers.acquire();
  const uint64_t before = now_ns();
  first->enter();
  const uint64_t after = now_ns();
  while (now_ns() < after + 20000000) pass(*second);
  second->enter();
  const uint64_t oldest = workers.oldest_entered_ns();
  constexpr uint64_t kError = 8'000'000;  // one clock's time is computed from the other's
  EXPECT_GE(oldest + kError, before);
  EXPECT_LE(oldest, after + kError);
  first->leave();
  EXPECT_GE(workers.oldest_entered_ns(), oldest + 10000000);
  second->leave();
  EXPECT_EQ(workers.oldest_entered_ns(), 0u);
}

TEST_F(WorkerTest, AReaderThatEntersAtTheFenceIsNotOverlooked) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  // The advance has checked once and fenced. Then a reader enters, and an object that the reader
  // sees is retired. However often the epoch advances, the object stays until the reader leaves.
  Worker* reader = workers.acquire();
  Worker* writer = workers.acquire();
  writer->enter();
  writer->retire(&count_reclaim, &reclaimed, 0);  // otherwise collect() would not have work
  writer->leave();
  TestStop stop("worker.advance.after_fence");
  std::thread collector([&] { workers.collect(); });
  stop.wait_until_reached();
  reader->enter();
  writer->enter();
  writer->retire(&count_reclaim, &reclaimed, 1);
  writer->leave();
  stop.go();
  collector.join();
  workers.collect();
  EXPECT_EQ(reclaimed, 0u);
  reader->leave();
  workers.collect();
  EXPECT_EQ(reclaimed, 1u);
}

// A shared cell that writers replace while readers follow it. Threads join and leave all the time.
// A reclaimed object is overwritten, so a reader that sees the mark has found a broken grace
// period. ASan and TSan also find it.
class Churn {
 public:
  static constexpr uint64_t kAlive = 0x600d600d600d600d, kDead = 0xdeaddeaddeaddead;
  struct Object {
    uint64_t mark;
    uint64_t filler[7];
  };

  Churn() : workers_(memory_, 8, 7) {}

  void run(int threads, int joins, int stays) {
    std::vector<std::thread> running;
    for (int t = 0; t < threads; ++t) {
      running.emplace_back([=, this] {
        for (int j = 0; j < joins; ++j) join_once(stays);
      });
    }
    std::thread collector([&] {
      while (!stop_.load()) {
        workers_.collect();
        std::this_thread::yield();
      }
    });
    for (std::thread& thread : running) thread.join();
    stop_.store(true);
    collector.join();
    for (auto& cell : cells_) delete_now(cell.load());
    workers_.collect();
    EXPECT_EQ(workers_.retired_objects(), 0u);
    EXPECT_EQ(broken_.load(), 0u);
    EXPECT_EQ(memory_.used_bytes(), 0u);
  }

 private:
  void join_once(int stays) {
    Worker* worker = workers_.acquire();
    for (int i = 0; i < stays; ++i) {
      worker->enter();
      for (int k = 0; k < 4; ++k) step(*worker);
      worker->leave();
    }
    workers_.release(worker);
  }

  void step(Worker& worker) {
    std::atomic<Object*>& cell = cells_[worker.random().below(cells_.size())];
    if (worker.random().one_in(3)) {
      auto* fresh = static_cast<Object*>(worker.allocate(sizeof(Object), kPart));
      fresh->mark = kAlive;
      Object* old = cell.exchange(fresh, std::memory_order_acq_rel);
      if (old != nullptr) worker.retire(&reclaim, old, 0);
    } else {
      const Object* object = cell.load(std::memory_order_acquire);
      if (object == nullptr) return;
      for (int spin = 0; spin < 10; ++spin) {
        if (object->mark != kAlive) broken_.fetch_add(1);
        pause();
      }
    }
  }

  static void reclaim(Worker& worker, void* object, uint64_t) {
    static_cast<Object*>(object)->mark = kDead;
    worker.free(object, sizeof(Object), kPart);
  }

  void delete_now(Object* object) {
    if (object == nullptr) return;
    Worker* worker = workers_.acquire();
    worker->free(object, sizeof(Object), kPart);
    workers_.release(worker);
  }

  Memory memory_{8u << 20};  // small, so that workers check the epoch often
  Workers workers_;
  std::array<std::atomic<Object*>, 8> cells_{};
  std::atomic<uint64_t> broken_{0};
  std::atomic<bool> stop_{false};
};

TEST(WorkersStress, ThreadsThatJoinAndLeaveNeverSeeReclaimedObjects) {
  Churn churn;
  churn.run(4, 40, 500);
}

}  // namespace
}  // namespace elider
