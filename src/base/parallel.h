// parallel: runs independent pieces of work in several threads, for opening
// files and writing checkpoints.
//
// Not a pool: the threads live for one call. Thread safety: a pure
// function beside what `work` does.
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

// As many as the machine runs at once, `most` at the most.
inline uint32_t processors(uint32_t most) {
  const uint32_t there = std::thread::hardware_concurrency();
  return there < 1 ? 1 : there < most ? there : most;
}

// Calls work(thread, i) -> Status once for each i below `count`, with thread below `threads`, each
// thread's calls one after the other. After an error no further piece is begun; that of the
// smallest i is returned. An exception is thrown again once all have ended. Where the system gives
// fewer threads, fewer do it; with one, the caller's does it all.
template <class Work>
Status parallel(uint32_t threads, size_t count, Work&& work) {
  std::atomic<size_t> next{0};
  std::mutex mutex;  // guards what follows
  size_t failed_at = count;
  Status failure;
  std::exception_ptr thrown;
  const auto give_up = [&] { next.store(count, std::memory_order_relaxed); };  // relaxed: it only shares out numbers
  const auto run = [&](uint32_t thread) {
    try {
      for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) {  // likewise
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
  others.reserve(std::min<size_t>(threads, count));  // so that nothing throws while one runs
  for (uint32_t thread = 1; thread < threads && thread < count; ++thread) {
    try {
      others.emplace_back(run, thread);
    } catch (const std::exception&) {  // the system's limit, or no memory
      break;
    }
  }
  run(0);
  for (std::thread& other : others) other.join();
  if (thrown != nullptr) std::rethrow_exception(thrown);
  return failure;
}

}  // namespace elider
