// What the crash tests of the heap do, and what must hold after any crash. Two threads make steps,
// and every third step touches data of both threads.
// ELIDER_HEAP_IMAGES: the number of images that a test checks (default 1,500; 150 or 300 with a
// sanitizer). ELIDER_SEED: selects other images.
// Thread safety: one thread per story.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/sanitizer.h"
#include "elider/heap.h"
#include "elider/try.h"
#include "tests/support/crash_disk.h"
#include "tests/support/memory_files.h"
#include "tests/heap/defaults.h"
#include "tests/support/random.h"
#include "tests/support/status_matchers.h"

namespace elider::test {

inline constexpr uint64_t kThreads = 2, kHistory = 4096;

// How many shared steps and own steps each thread has made, and all shared steps in their order.
struct World {
  uint64_t shared[kThreads][8];
  uint64_t own[kThreads][8];
  uint64_t order_count;
  uint64_t order[kHistory];  // thread << 32 | its shared step
};

struct Answered {
  size_t calls;
  uint64_t thread, shared, own;
};

inline HeapOptions small_options() {
  HeapOptions options;
  options.threads_max = 4;
  options.log_bytes = 64 << 10;
  options.markers = 256;
  options.capacity_bytes = 4 << 20;
  set_backend(options);
  return options;
}

// Draws the wait of a story, so that the stories cover all orders of becoming durable and becoming
// visible. Regions support two of the three waits.
inline HeapWait draw_wait(TestRandom& random) {
  switch (random.below(heap_backend() == HtmBackend::kAutomatic ? 4 : 3)) {
    case 2: return HeapWait::kTotal;
    case 3: return HeapWait::kOwn;
    default: return HeapWait::kPruned;
  }
}

// Makes one step of a thread. Every third step touches data of both threads.
inline Status step(Heap& heap, uint64_t thread, uint64_t shared, uint64_t own, bool is_shared) {
  return heap.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_ASSIGN(auto at, txn.root<World>("world"));
    World& world = txn[at];
    if (is_shared) {
      const uint64_t count = txn.read(world.order_count);
      txn.write(world.order[count], thread << 32 | (shared + 1));
      txn.write(world.order_count, count + 1);
      txn.write(world.shared[thread][0], shared + 1);
    } else {
      for (uint64_t i = 0; i < 1 + own % 8; ++i) txn.write(world.own[thread][i], own + 1);
    }
    return {};
  });
}

// The heap contains complete transactions only. It contains the predecessors of each of them, and
// every transaction that was answered.
inline void expect_world(const io::CrashDisk::Contents& contents, const std::vector<Answered>& answered, size_t calls) {
  io::MemoryFiles files(contents);
  const io::SubstituteFiles substitute(files);
  HeapOptions options = small_options();
  options.background_replay = false;
  auto heap = Heap::open(kPath, 1 << 20, options);
  ASSERT_OK(heap);
  uint64_t shared[kThreads] = {}, own[kThreads] = {};
  const Status status = heap->read([&](HeapReader& reader) -> Status {
    ELIDER_ASSIGN(auto at, reader.root<World>("world"));
    const World& world = reader[at];
    uint64_t found[kThreads] = {};
    const uint64_t count = reader.read(world.order_count);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t entry = reader.read(world.order[i]);
      EXPECT_LT(entry >> 32, kThreads);
      if (entry >> 32 < kThreads) {
        EXPECT_EQ(entry & 0xffffffff, ++found[entry >> 32]) << "a predecessor is lost";
      }
    }
    for (uint64_t t = 0; t < kThreads; ++t) {
      shared[t] = reader.read(world.shared[t][0]);
      own[t] = reader.read(world.own[t][0]);
      EXPECT_EQ(shared[t], found[t]) << "half of a transaction";
      for (uint64_t i = 0; own[t] != 0 && i < 1 + (own[t] - 1) % 8; ++i)
        EXPECT_EQ(reader.read(world.own[t][i]), own[t]) << "half of a transaction";
    }
    return {};
  });
  if (!status.not_found()) {
    EXPECT_OK(status);
  }
  for (const Answered& one : answered) {
    if (one.calls > calls) break;
    EXPECT_GE(shared[one.thread], one.shared) << "answered, and lost";
    EXPECT_GE(own[one.thread], one.own) << "answered, and lost";
  }
  EXPECT_OK(heap->transaction([](HeapTransaction& txn) { return txn.root<uint64_t>("usable").status(); }));
  *heap = Heap();
  auto checked = Heap::check(kPath);
  ASSERT_OK(checked);
  EXPECT_EQ(checked->lost_bytes, 0u);
}

inline uint64_t images_asked() {
  const char* const asked = std::getenv("ELIDER_HEAP_IMAGES");
  return asked != nullptr ? std::strtoull(asked, nullptr, 10) : kThreadSanitizer ? 150 : kAddressSanitizer ? 300 : 1500;
}

// Makes all steps of a story. `now()` returns how far the medium is, for `answered`. `later`: steps
// of all threads are answered by Heap::persist(), which threads call from time to time.
template <class Now>
void run_story(Heap& heap, TestRandom& random, uint64_t story, bool later, Now&& now, std::vector<Answered>* answered) {
  std::mutex mutex;
  uint64_t made[kThreads][2] = {};  // shared steps and own ones
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t, its = random.split(story * kThreads + t)]() mutable {
      uint64_t shared = 0, own = 0;
      for (int i = 0; i < 200; ++i) {
        const bool is_shared = its.below(3) == 0;
        EXPECT_OK(step(heap, t, shared, own, is_shared));
        (is_shared ? shared : own) += 1;
        std::unique_lock lock(mutex);
        made[t][0] = shared;
        made[t][1] = own;
        if (!later) {
          answered->push_back({now(), t, shared, own});
        } else if (its.below(8) == 0) {
          const std::vector<Answered> durable = {{0, 0, made[0][0], made[0][1]}, {0, 1, made[1][0], made[1][1]}};
          lock.unlock();
          EXPECT_OK(heap.persist());
          lock.lock();
          for (const Answered& one : durable) answered->push_back({now(), one.thread, one.shared, one.own});
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace elider::test
