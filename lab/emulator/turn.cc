// The turn: how it passes between threads in both modes, and how a thread steals it from one that
// sleeps in the kernel.
#include <linux/membarrier.h>

#include <cstdio>

#include "lab/emulator/machine.h"

namespace elider::emulator {

namespace {

constexpr long kPatienceNs = 20'000'000;  // after this time, a waiting thread checks whether the holder of the turn sleeps
constexpr long kTimedOutNs = 200'000;

void membarrier_all() { raw_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0); }

// Returns true if the thread sleeps in a system call or has ended. Such a thread is not between a
// call into the runtime and the access that the call announced, so another thread may run.
bool asleep(int tid) {
  if (tid == 0) return false;
  char path[64];
  snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
  const long file = raw_syscall(SYS_open, reinterpret_cast<long>(path), 0, 0);
  if (file < 0) return true;
  char text[256];
  const long bytes = raw_syscall(SYS_read, file, reinterpret_cast<long>(text), sizeof(text) - 1);
  raw_syscall(SYS_close, file);
  if (bytes <= 0) return true;
  // The format is "tid (name) state ...". The name may contain parentheses, so the state follows
  // the last one.
  long i = bytes - 1;
  while (i > 0 && text[i] != ')') --i;
  return i + 2 < bytes && (text[i + 2] == 'S' || text[i + 2] == 'X' || text[i + 2] == 'Z');
}

// Chooses the thread that runs next: a random ready thread in Mode::kDeterministic, otherwise the
// one that has waited longest. Called under the lock. Returns null if no thread is ready.
Thread* choose() {
  if (machine.ready == 0) return nullptr;
  const bool drawn = machine.options.mode == Mode::kDeterministic;
  uint64_t skip = drawn ? machine.scheduler.below(machine.ready) : 0;
  Thread* oldest = nullptr;
  for (uint32_t i = 0; i < machine.threads_end; ++i) {
    Thread& thread = machine.threads[i];
    if (thread.state != ThreadState::kReady) continue;
    if (drawn && skip-- == 0) return &thread;
    if (oldest == nullptr || thread.ticket < oldest->ticket) oldest = &thread;
  }
  return oldest;
}

void set_state(Thread* thread, ThreadState state) {
  // The thread begins to wait, so a turn that it was given earlier must not end the wait.
  if (state != ThreadState::kRunning) thread->go = 0;
  machine.ready -= thread->state == ThreadState::kReady;
  machine.ready += state == ThreadState::kReady;
  if (state == ThreadState::kReady) thread->ticket = ++machine.tickets;
  thread->state = state;
}

// Called under the lock when no thread is ready. Ends one of the waits that have a timeout. If all
// threads wait for each other without a timeout, ends the process.
Thread* end_timed_wait() {
  bool any_blocked = false;
  for (uint32_t i = 0; i < machine.threads_end; ++i) {
    Thread& thread = machine.threads[i];
    if (thread.state == ThreadState::kAway) return nullptr;  // this thread may return and wake another one
    if (thread.state != ThreadState::kBlocked) continue;
    any_blocked = true;
    if (!thread.timed) continue;
    thread.timed_out = true;
    set_state(&thread, ThreadState::kReady);
    return &thread;
  }
  if (any_blocked) {
    die("deadlock: each thread of the schedule with seed %llu waits for another", static_cast<unsigned long long>(machine.options.seed));
  }
  return nullptr;
}

// Passes the turn to `next`, or to no thread if `next` is null. Called under the lock, and releases
// the lock.
void give_turn(Thread* next) {
  machine.holder = next;
  ++machine.turns;
  if (next != nullptr) {
    set_state(next, ThreadState::kRunning);
    __atomic_store_n(&next->go, 1u, __ATOMIC_RELEASE);
  }
  machine.lock.unlock();
  if (next != nullptr) futex_wake(&next->go);
}

// Called when the holder of the turn has not made progress for a while. If the holder sleeps in the
// kernel, passes the turn to `thread`.
void steal_turn(Thread* thread, Thread* seen, uint64_t seen_progress) {
  machine.lock.lock();
  Thread* const holder = machine.holder;
  if (holder == nullptr || holder == thread || holder != seen || holder->progress != seen_progress || !asleep(holder->tid)) {
    machine.lock.unlock();
    return;
  }
  // After the membarrier, either this thread sees that the holder is in the runtime, or the holder
  // sees that it has lost the turn when it enters the runtime.
  *const_cast<Thread* volatile*>(&machine.holder) = nullptr;
  membarrier_all();
  if (*const_cast<volatile uint32_t*>(&holder->inside) != 0 || !asleep(holder->tid)) {
    machine.holder = holder;
    machine.lock.unlock();
    return;
  }
  set_state(holder, ThreadState::kAway);
  give_turn(thread);
}

void wait_for_turn(Thread* thread) {
  Thread* seen = nullptr;
  uint64_t seen_progress = 0;
  while (__atomic_load_n(&thread->go, __ATOMIC_ACQUIRE) == 0) {
    futex_wait(&thread->go, 0, kPatienceNs);
    if (__atomic_load_n(&thread->go, __ATOMIC_ACQUIRE) != 0) break;
    Thread* const holder = __atomic_load_n(&machine.holder, __ATOMIC_ACQUIRE);
    if (holder == nullptr) continue;
    const uint64_t progress = *const_cast<volatile uint64_t*>(&holder->progress);
    if (holder == seen && progress == seen_progress && thread->state == ThreadState::kReady) steal_turn(thread, seen, seen_progress);
    seen = holder;
    seen_progress = progress;
  }
}

}  // namespace

void take_turn(Thread* thread) {
  machine.lock.lock();
  if (machine.holder == thread) {
    machine.lock.unlock();
    return;
  }
  if (machine.holder == nullptr) {
    machine.holder = thread;
    ++machine.turns;
    set_state(thread, ThreadState::kRunning);
    machine.lock.unlock();
    return;
  }
  set_state(thread, ThreadState::kReady);
  machine.lock.unlock();
  wait_for_turn(thread);
}

void pass_turn(Thread* thread, ThreadState state) {
  machine.lock.lock();
  set_state(thread, state);
  Thread* next = choose();
  if (next == nullptr && machine.options.mode == Mode::kDeterministic) next = end_timed_wait();
  if (next == thread) {
    set_state(thread, ThreadState::kRunning);
    machine.lock.unlock();
    return;
  }
  give_turn(next);
  if (state == ThreadState::kReady || state == ThreadState::kBlocked) wait_for_turn(thread);
}

void quantum_over(Thread* thread) {
  thread->quantum = next_quantum(thread);
  if (machine.ready != 0) pass_turn(thread, ThreadState::kReady);
}

void draw_turn(Thread* thread) {
  if (++machine.accesses > machine.accesses_max) {
    die("the schedule with seed %llu has not ended after %llu accesses", static_cast<unsigned long long>(machine.options.seed),
        static_cast<unsigned long long>(machine.accesses_max));
  }
  machine.trace = (machine.trace ^ thread->ordinal) * 0x100000001b3u;
  if (machine.ready == 0 || machine.scheduler.below(machine.switch_one_in) != 0) return;
  pass_turn(thread, ThreadState::kReady);
}

uint32_t wake(const void* address, uint32_t most) {
  uint32_t woken = 0;
  machine.lock.lock();
  while (woken < most) {
    Thread* oldest = nullptr;
    for (uint32_t i = 0; i < machine.threads_end; ++i) {
      Thread& thread = machine.threads[i];
      if (thread.state != ThreadState::kBlocked || thread.waits_for != address) continue;
      if (oldest == nullptr || thread.ticket < oldest->ticket) oldest = &thread;
    }
    if (oldest == nullptr) break;
    set_state(oldest, ThreadState::kReady);
    ++woken;
  }
  machine.lock.unlock();
  return woken;
}

bool block(Thread* thread, const void* address, bool timed) {
  machine.lock.lock();
  thread->waits_for = address;
  thread->timed = timed;
  thread->timed_out = false;
  thread->ticket = ++machine.tickets;
  machine.lock.unlock();
  pass_turn(thread, ThreadState::kBlocked);
  if (!thread->timed_out) return true;
  sleep_ns(kTimedOutNs);  // the caller may read the clock, and wait again if its time is not over yet
  return false;
}

// Binds a thread to the machine's processor. Only one thread runs at a time, so several processors
// do not help. Passing the turn to a thread on another processor would take at least ten times as
// long, because that processor must be woken.
void stay_on_its_processor(const Thread* thread) {
  constexpr uint32_t kProcessorsMax = 1024;
  unsigned char mask[kProcessorsMax / 8] = {};
  if (machine.processor >= kProcessorsMax) return;
  mask[machine.processor / 8] = static_cast<unsigned char>(1u << (machine.processor % 8));
  raw_syscall(SYS_sched_setaffinity, thread->tid, sizeof(mask), reinterpret_cast<long>(mask));
}

void arm() {
  if (__atomic_load_n(&machine.armed, __ATOMIC_ACQUIRE) != 0) return;
  if (self == nullptr) register_thread();
  static Lock arming;
  arming.lock();
  if (machine.armed == 0) {
    machine.lock.lock();
    machine.holder = self;
    set_state(self, ThreadState::kRunning);
    raw_syscall(SYS_getcpu, reinterpret_cast<long>(&machine.processor), 0);
    machine.lock.unlock();
    __atomic_store_n(&machine.armed, 1u, __ATOMIC_SEQ_CST);
    membarrier_all();
    // Waits until every other thread waits for the turn or sleeps. Until then, a thread may still
    // be between a call into the runtime and the access that the call announced.
    for (uint32_t i = 0; i < machine.threads_end; ++i) {
      Thread& other = machine.threads[i];
      if (other.state != ThreadState::kFree && other.tid != 0) stay_on_its_processor(&other);
      for (int round = 0; round < 20000; ++round) {
        machine.lock.lock();
        const bool runs = other.state == ThreadState::kAway && &other != self && !asleep(other.tid);
        machine.lock.unlock();
        if (!runs) break;
        sleep_ns(50'000);
      }
    }
  }
  arming.unlock();
}

}  // namespace elider::emulator
