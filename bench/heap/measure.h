// measure(): measures how much work several threads do in a given time.
// Thread safety: one thread calls measure().
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "bench/heap/heap_study.h"
#include "tools/common/interrupt.h"

namespace elider::bench {

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The work of one thread. It must end soon after `stop` is set, and leave the number of its
// measured operations in *done.
using Work = std::function<Status(uint32_t thread, const std::atomic<bool>& stop, uint64_t* done)>;

// Runs `work` on all threads. Returns the number of operations per second of all threads together,
// or the error of a thread that failed.
inline Result<double> measure(const HeapStudyOptions& options, const Work& work) {
  constexpr size_t kApart = 16;  // puts the counters of different threads on different cache lines
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  std::vector<uint64_t> done(options.threads * kApart, 0);
  std::vector<Status> statuses(options.threads);
  const auto begin = std::chrono::steady_clock::now();
  for (uint32_t thread = 0; thread < options.threads; ++thread)
    threads.emplace_back([&, thread] { statuses[thread] = work(thread, stop, &done[thread * kApart]); });
  while (seconds_since(begin) < options.seconds && !tools::interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  const double elapsed = seconds_since(begin);
  uint64_t sum = 0;
  for (uint32_t thread = 0; thread < options.threads; ++thread) {
    if (!statuses[thread].ok()) return statuses[thread];
    sum += done[thread * kApart];
  }
  return static_cast<double>(sum) / elapsed;
}

}  // namespace elider::bench
