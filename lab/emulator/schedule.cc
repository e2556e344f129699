#include "lab/emulator/schedule.h"

#include <pthread.h>

#include "lab/emulator/machine.h"

namespace elider::emulator {

namespace {

constexpr size_t kBodiesMax = 64;

struct Body {
  void (*body)(void*, size_t);
  void* context;
  size_t index;
};

void* run_body(void* argument) {
  const Body& body = *static_cast<const Body*>(argument);
  body.body(body.context, body.index);
  return nullptr;
}

}  // namespace

Schedule run_schedule(uint64_t seed, uint64_t accesses_max, size_t bodies, void (*body)(void*, size_t), void* context) {
  if (bodies > kBodiesMax) die("run_schedule() was called with %zu bodies; the maximum is %zu", bodies, kBodiesMax);
  const Options before = machine.options;
  Options deterministic = before;
  deterministic.mode = Mode::kDeterministic;
  deterministic.seed = seed;
  configure(deterministic);
  Thread* const thread = enter();
  if (thread == nullptr || thread->region.depth != 0) die("run_schedule() was called inside a region or inside the runtime");
  machine.ordinals = 0;
  machine.accesses_max = accesses_max;
  const uint64_t turns_before = machine.turns;
  leave(thread);

  // The scheduler also controls the calling thread, so the first bodies may run before the last one
  // is started.
  Body arguments[kBodiesMax];
  pthread_t threads[kBodiesMax];
  for (size_t i = 0; i < bodies; ++i) {
    arguments[i] = Body{body, context, i};
    if (pthread_create(&threads[i], nullptr, run_body, &arguments[i]) != 0) die("cannot start another thread");
  }
  for (size_t i = 0; i < bodies; ++i) pthread_join(threads[i], nullptr);
  const Schedule schedule{machine.accesses, machine.turns - turns_before, machine.trace};
  configure(before);
  return schedule;
}

}  // namespace elider::emulator
