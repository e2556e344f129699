// Threads: how the runtime starts, and how it registers and removes threads.
#include <limits.h>
#include <linux/membarrier.h>
#include <pthread.h>

#include "lab/emulator/machine.h"
#include "lab/emulator/real.h"

namespace elider::emulator {

constinit Machine machine{};
constinit thread_local Thread* self __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

pthread_key_t ending_key;
// A thread is removed in the last of the rounds in which libc calls destructors of thread-specific
// data, because destructors also run instrumented code.
constexpr uintptr_t kEndingRounds = PTHREAD_DESTRUCTOR_ITERATIONS;

void add(Counters& sum, const Counters& more) {
  sum.begun += more.begun;
  sum.committed += more.committed;
  sum.explicit_aborts += more.explicit_aborts;
  sum.conflict_aborts += more.conflict_aborts;
  sum.capacity_aborts += more.capacity_aborts;
  sum.interrupt_aborts += more.interrupt_aborts;
  sum.spurious_aborts += more.spurious_aborts;
  sum.page_fault_aborts += more.page_fault_aborts;
  sum.call_aborts += more.call_aborts;
  if (more.lines_written_max > sum.lines_written_max) sum.lines_written_max = more.lines_written_max;
  if (more.lines_read_max > sum.lines_read_max) sum.lines_read_max = more.lines_read_max;
  sum.lines_read += more.lines_read;
  sum.lines_written += more.lines_written;
}

void end_thread(void* round) {
  if (reinterpret_cast<uintptr_t>(round) < kEndingRounds) {
    pthread_setspecific(ending_key, reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(round) + 1));
    return;
  }
  Thread* const thread = self;
  if (thread == nullptr) return;
  if (thread->region.depth != 0) die("a thread ended inside a region: a commit is missing");
  thread->inside = 1;
  if (machine.armed != 0) {
    if (machine.holder != thread) take_turn(thread);
    wake(thread, kThreadsMax);  // wakes a thread that joins this one
    add(machine.ended, thread->counters);
    pass_turn(thread, ThreadState::kFree);
  } else {
    machine.lock.lock();
    thread->state = ThreadState::kFree;
    machine.lock.unlock();
  }
  self = nullptr;
}

// Called in the child of a fork, where only the calling thread exists.
void forked() {
  machine.lock.reset();
  machine.ready = 0;
  for (uint32_t i = 0; i < machine.threads_end; ++i) {
    Thread& thread = machine.threads[i];
    if (&thread != self) thread.state = ThreadState::kFree;
  }
  if (self == nullptr) return;
  self->tid = static_cast<int>(raw_syscall(SYS_gettid));
  self->state = machine.armed != 0 ? ThreadState::kRunning : ThreadState::kAway;
  machine.holder = machine.armed != 0 ? self : nullptr;
  raw_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

void initialize() {
  find_real_functions();
  raw_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
  if (pthread_key_create(&ending_key, end_thread) != 0) die("cannot create a key for thread-local data");
  pthread_atfork(nullptr, nullptr, forked);
  register_thread();
  configure_from_environment();
}

}  // namespace

void seed_thread(Thread* thread) {
  thread->random.state = machine.options.seed * 0x9e3779b97f4a7c15u + thread->ordinal;
  thread->quantum = next_quantum(thread);
  const uint64_t period = machine.options.accesses_per_interrupt;
  thread->until_interrupt = period == 0 ? 0 : 1 + thread->random.below(period);
}

Thread* allocate_thread(pthread_t handle) {
  machine.lock.lock();
  uint32_t i = 0;
  while (i < machine.threads_end && machine.threads[i].state != ThreadState::kFree) ++i;
  if (i == kThreadsMax) die("the process has more than %u threads", kThreadsMax);
  if (i == machine.threads_end) ++machine.threads_end;
  Thread& thread = machine.threads[i];
  thread.state = ThreadState::kAway;
  thread.inside = 0;
  thread.pending = {};
  thread.progress = 0;
  thread.counters = {};
  thread.waits_for = nullptr;
  thread.go = 0;
  thread.tid = 0;
  thread.ordinal = ++machine.ordinals;
  thread.handle = handle;
  seed_thread(&thread);
  machine.lock.unlock();
  return &thread;
}

void start_thread(Thread* thread) {
  self = thread;
  thread->tid = static_cast<int>(raw_syscall(SYS_gettid));
  compiler_barrier();  // arm() reads `tid` after its membarrier, so this thread sees that the machine is armed, or arm() sees `tid`
  if (*const_cast<volatile uint32_t*>(&machine.armed) != 0) stay_on_its_processor(thread);
  pthread_setspecific(ending_key, reinterpret_cast<void*>(uintptr_t{1}));
}

Thread* register_thread() {
  Thread* const thread = allocate_thread(pthread_self());
  thread->inside = 1;  // because start_thread() may call the runtime
  start_thread(thread);
  thread->inside = 0;
  return thread;
}

RegionSize last_region() { return self == nullptr ? RegionSize{} : self->region.last; }

Counters thread_counters() { return self == nullptr ? Counters{} : self->counters; }

Counters counters() {
  Counters sum = machine.ended;
  for (uint32_t i = 0; i < machine.threads_end; ++i) {
    if (machine.threads[i].state != ThreadState::kFree) add(sum, machine.threads[i].counters);
  }
  return sum;
}

void reset_counters() {
  machine.ended = {};
  for (uint32_t i = 0; i < machine.threads_end; ++i) machine.threads[i].counters = {};
}

}  // namespace elider::emulator

// Every instrumented file has a constructor that calls this function. The first call initializes
// the machine.
extern "C" void __tsan_init() {
  static bool initialized = false;
  if (initialized) return;
  initialized = true;
  elider::emulator::initialize();
}
