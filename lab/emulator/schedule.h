// run_schedule() runs some functions (bodies) as threads, one at a time, under the emulator's
// seeded scheduler. At every instrumented access, the scheduler decides which thread runs next. The
// same seed produces the same interleaving if the bodies do not depend on the time, on addresses,
// or on files.
//
// A body may start and join threads, lock mutexes, and wait; the scheduler controls all of this. If
// all threads wait for each other, or if the schedule exceeds `accesses_max`, for example because a
// thread retries forever, the process ends with a message that names the seed. Thread safety: only
// one schedule may run at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "htm/emulator.h"

namespace elider::emulator {

struct Schedule {
  uint64_t accesses = 0;  // number of instrumented accesses, at which the scheduler decided
  uint64_t switches = 0;  // how many times another thread continued
  uint64_t trace = 0;     // a hash of the order in which threads ran: two equal schedules have the same hash
};

// Runs body(context, 0) to body(context, bodies - 1), each on its own thread. Returns when all have
// ended.
Schedule run_schedule(uint64_t seed, uint64_t accesses_max, size_t bodies, void (*body)(void*, size_t), void* context);

inline Schedule run_schedule(uint64_t seed, const std::vector<std::function<void()>>& bodies, uint64_t accesses_max = 20'000'000) {
  const auto call = [](void* context, size_t index) { (*static_cast<const std::vector<std::function<void()>>*>(context))[index](); };
  return run_schedule(seed, accesses_max, bodies.size(), call, const_cast<std::vector<std::function<void()>>*>(&bodies));
}

}  // namespace elider::emulator
