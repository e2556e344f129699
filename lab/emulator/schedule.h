// run_schedule() runs a few threads, one at a time, under the emulator's seeded scheduler. At every
// instrumented access the scheduler decides which thread runs next. The same seed gives the same
// interleaving if the bodies depend only on the seed, and not on the time, on addresses, or on
// files.
//
// A body may start threads, join them, lock and wait; the scheduler controls all of this. The
// process ends with a message that names the seed if all threads wait for each other, or if the
// schedule exceeds its maximum length because a thread retries forever. Thread safety: one schedule
// at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "htm/emulator.h"

namespace elider::emulator {

struct Schedule {
  uint64_t accesses = 0;  // decisions of the scheduler
  uint64_t switches = 0;  // decisions that passed the turn to another thread
  uint64_t trace = 0;     // a hash of the order in which threads ran; equal for equal schedules
};

// Runs body(context, 0) to body(context, bodies - 1), each on its own thread.
Schedule run_schedule(uint64_t seed, uint64_t accesses_max, size_t bodies, void (*body)(void*, size_t), void* context);

inline Schedule run_schedule(uint64_t seed, const std::vector<std::function<void()>>& bodies, uint64_t accesses_max = 20'000'000) {
  const auto call = [](void* context, size_t index) { (*static_cast<const std::vector<std::function<void()>>*>(context))[index](); };
  return run_schedule(seed, accesses_max, bodies.size(), call, const_cast<std::vector<std::function<void()>>*>(&bodies));
}

}  // namespace elider::emulator
