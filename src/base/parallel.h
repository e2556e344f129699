// parallel: runs independent pieces of work in several threads. The engine uses it to open files
// and write checkpoints.
//
// It is not a thread pool, because the threads exist only during one call. Thread safety: may be
// called from any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "elider/status.h"

namespace elider {

// Returns the number of hardware threads, but at most `most`.
inline uint32_t processors(uint32_t most) {
  const uint32_t there = std::thread::hardware_concurrency();
  return there < 1 ? 1 : there < most ? there : most;
}

// Calls work(thread, i) -> Status once for each i below `count`, with `thread` below `threads`.
// Calls with the same `thread` never overlap. After an error, no further call starts, and
// parallel() returns the error with the smallest i. If work() throws, parallel() rethrows the
// exception after all threads have ended. If the system cannot create all threads, fewer threads do
// the work, at worst only the caller's.
template <class Work>
Status parallel(uint32_t threads, size_t count, Work&& work) {
  std::atomic<size_t> next{0};
  std::mutex mutex;  // guards the following
  size_t failed_at = count;
  Status failure;
  std::exception_ptr thrown;
  const auto give_up = [&] { next.store(count, std::memory_order_relaxed); };  // relaxed: the counter only distributes work
  const auto run = [&](uint32_t thread) {
    try {
      for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) {  // as above
        Status status = work(thread, i);
        if (status.ok()) continue;
        give_up();
        std::lock_guard lock(mutex);
        if (i < failed_at) {
          failed_at = i;
          failure = std::move(status);
        }
        return;
      }
    } catch (...) {
      give_up();
      std::lock_guard lock(mutex);
      thrown = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  others.reserve(std::min<size_t>(threads, count));  // so that later code cannot throw while a thread runs
  for (uint32_t thread = 1; thread < threads && thread < count; ++thread) {
    try {
      others.emplace_back(run, thread);
    } catch (const std::exception&) {  // the system's thread limit is reached, or memory is exhausted
      break;
    }
  }
  run(0);
  for (std::thread& other : others) other.join();
  if (thrown != nullptr) std::rethrow_exception(thrown);
  return failure;
}

}  // namespace elider
