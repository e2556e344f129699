// run_schedule: runs a few threads under the seeded scheduler of the emulator, one at a time. At
// every instrumented access it decides which thread runs next. The same seed gives the same
// interleaving, provided that the bodies depend only on it, and not on the time, on addresses, or
// on files.
//
// A body may start threads, join them, lock and wait: all of it is scheduled. If every thread waits
// for another, or the schedule is longer than allowed (a thread retries for ever), the process ends
// with a message that names the seed. Thread safety: one schedule at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "htm/emulator.h"

namespace elider::emulator {

struct Schedule {
  uint64_t accesses = 0;  // decisions of the scheduler
  uint64_t switches = 0;  // those that passed the turn
  uint64_t trace = 0;     // a hash of which thread ran when: equal for equal schedules
};

// Runs body(context, 0) to body(context, bodies - 1), a thread each.
Schedule run_schedule(uint64_t seed, uint64_t accesses_max, size_t bodies, void (*body)(void*, size_t), void* context);

inline Schedule run_schedule(uint64_t seed, const std::vector<std::function<void()>>& bodies, uint64_t accesses_max = 20'000'000) {
  const auto call = [](void* context, size_t index) { (*static_cast<const std::vector<std::function<void()>>*>(context))[index](); };
  return run_schedule(seed, accesses_max, bodies.size(), call, const_cast<std::vector<std::function<void()>>*>(&bodies));
}

}  // namespace elider::emulator
