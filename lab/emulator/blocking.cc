// Replacements for the blocking functions of libc. They have the same names, so that calls from
// libstdc++ also reach them.
//
// Inside a region, each of them aborts the region. In Mode::kParallel, a thread that may block
// gives up the turn, calls the real function, and requests the turn again at its next access. In
// Mode::kDeterministic, the runtime models mutexes, condition variables, read-write locks, futexes
// and joins: it tries the operation without blocking, and waits in its own scheduler, so that the
// schedule does not depend on the kernel. A wait times out only when no other thread can run.
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <unistd.h>

#include "lab/emulator/machine.h"
#include "lab/emulator/real.h"

namespace elider::emulator {

RealFunctions real;

namespace {

template <class Function>
void find(Function*& function, const char* name, const char* version = nullptr) {
  void* address = version != nullptr ? dlvsym(RTLD_NEXT, name, version) : nullptr;
  if (address == nullptr) address = dlsym(RTLD_NEXT, name);
  if (address == nullptr) die("libc does not define %s", name);
  function = reinterpret_cast<Function*>(address);
}

inline void need_real() {
  if (real.syscall == nullptr) find_real_functions();
}

// Enters the runtime for a call that a region must not make, and aborts the region if there is one.
// Returns the thread, which then holds the turn, or null if the runtime must ignore the call.
Thread* enter_call() {
  need_real();
  Thread* const thread = enter();
  if (thread == nullptr) return nullptr;
  step(thread);
  if (tracks(thread->region)) abort_region(thread, 0, &Counters::call_aborts);
  thread->pending.bytes = 0;
  return thread;
}

bool modelled() { return machine.options.mode == Mode::kDeterministic; }

// For Mode::kParallel. Gives up the turn, because the thread is about to block.
void go_away(Thread* thread) {
  pass_turn(thread, ThreadState::kAway);
  leave(thread);
}

// For Mode::kDeterministic. Calls attempt() until an attempt acquires the lock. Between two
// attempts, the thread waits in the scheduler.
template <class Try>
int lock_modelled(Thread* thread, const void* lock, Try&& attempt) {
  int result = attempt();
  while (result == EBUSY) {
    block(thread, lock, false);
    result = attempt();
  }
  return result;
}

// Acquires a lock in either mode. `attempt` and `blocking` are the real functions.
template <class Lock, class Try, class Blocking>
int lock(Lock* lock, Try* attempt, Blocking* blocking) {
  Thread* const thread = enter_call();
  if (thread == nullptr) return blocking(lock);
  if (modelled()) {
    const int result = lock_modelled(thread, lock, [&] { return attempt(lock); });
    leave(thread);
    return result;
  }
  const int result = attempt(lock);
  if (result != EBUSY) {
    leave(thread);
    return result;
  }
  go_away(thread);
  return blocking(lock);
}

template <class Lock, class Unlock>
int unlock(Lock* lock, Unlock* function) {
  Thread* const thread = enter_call();
  const int result = function(lock);
  if (thread == nullptr) return result;
  if (modelled()) wake(lock, kThreadsMax);
  leave(thread);
  return result;
}

// Waits for a condition variable in either mode. `wait` calls the real function. `timed` means that
// the wait has a timeout.
template <class Wait>
int wait_for(pthread_cond_t* condition, pthread_mutex_t* mutex, bool timed, Wait&& wait) {
  Thread* const thread = enter_call();
  if (thread == nullptr) return wait();
  if (!modelled()) {
    go_away(thread);
    return wait();
  }
  real.pthread_mutex_unlock(mutex);
  wake(mutex, kThreadsMax);
  const bool woken = block(thread, condition, timed);
  const int result = lock_modelled(thread, mutex, [&] { return real.pthread_mutex_trylock(mutex); });
  leave(thread);
  return result != 0 || woken ? result : ETIMEDOUT;
}

int notify(pthread_cond_t* condition, int (*function)(pthread_cond_t*), uint32_t most) {
  Thread* const thread = enter_call();
  const int result = function(condition);  // also wakes threads that called the real function before the mode changed
  if (thread == nullptr) return result;
  if (modelled()) wake(condition, most);
  leave(thread);
  return result;
}

// Passes the turn to a ready thread and leaves the runtime. Returns false if no thread was ready.
bool yield(Thread* thread) {
  const bool others = machine.ready != 0;
  if (others) pass_turn(thread, ThreadState::kReady);
  leave(thread);
  return others;
}

// Handles the functions that sleep. `sleep` calls the real function.
template <class Sleep>
int rest(Sleep&& sleep) {
  Thread* const thread = enter_call();
  if (thread == nullptr) return sleep();
  if (modelled()) return yield(thread) ? 0 : sleep();
  go_away(thread);
  return sleep();
}

long futex_modelled(Thread* thread, int operation, const uint32_t* word, uint32_t value, const timespec* time) {
  const int command = operation & FUTEX_CMD_MASK;
  if (command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET) return wake(word, value);
  if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value) {
    errno = EAGAIN;
    return -1;
  }
  if (block(thread, word, time != nullptr)) return 0;
  errno = ETIMEDOUT;
  return -1;
}

bool is_modelled_futex(int operation) {
  const int command = operation & FUTEX_CMD_MASK;
  return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET;
}

// The start function of all threads. The function to call and its argument are stored in the
// Thread, because memory on the heap may be exhausted.
void* start_instrumented(void* argument) {
  Thread* const thread = static_cast<Thread*>(argument);
  start_thread(thread);
  thread->handle = pthread_self();
  return thread->function(thread->argument);
}

// Returns the thread with this handle, or null if it has ended.
Thread* unfinished(pthread_t handle) {
  Thread* found = nullptr;
  machine.lock.lock();
  for (uint32_t i = 0; i < machine.threads_end; ++i) {
    Thread& thread = machine.threads[i];
    if (thread.state != ThreadState::kFree && thread.handle == handle) found = &thread;
  }
  machine.lock.unlock();
  return found;
}

}  // namespace

void find_real_functions() {
  if (real.syscall != nullptr) return;
  find(real.pthread_create, "pthread_create");
  find(real.pthread_join, "pthread_join");
  find(real.pthread_mutex_lock, "pthread_mutex_lock");
  find(real.pthread_mutex_trylock, "pthread_mutex_trylock");
  find(real.pthread_mutex_unlock, "pthread_mutex_unlock");
  // libc has two versions of these functions. The older one uses a different layout of
  // pthread_cond_t.
  find(real.pthread_cond_wait, "pthread_cond_wait", "GLIBC_2.3.2");
  find(real.pthread_cond_timedwait, "pthread_cond_timedwait", "GLIBC_2.3.2");
  find(real.pthread_cond_clockwait, "pthread_cond_clockwait");
  find(real.pthread_cond_signal, "pthread_cond_signal", "GLIBC_2.3.2");
  find(real.pthread_cond_broadcast, "pthread_cond_broadcast", "GLIBC_2.3.2");
  find(real.pthread_rwlock_rdlock, "pthread_rwlock_rdlock");
  find(real.pthread_rwlock_tryrdlock, "pthread_rwlock_tryrdlock");
  find(real.pthread_rwlock_wrlock, "pthread_rwlock_wrlock");
  find(real.pthread_rwlock_trywrlock, "pthread_rwlock_trywrlock");
  find(real.pthread_rwlock_unlock, "pthread_rwlock_unlock");
  find(real.sched_yield, "sched_yield");
  find(real.nanosleep, "nanosleep");
  find(real.clock_nanosleep, "clock_nanosleep");
  find(real.usleep, "usleep");
  find(real.syscall, "syscall");
}

}  // namespace elider::emulator

using namespace elider::emulator;

extern "C" {

int pthread_create(pthread_t* handle, const pthread_attr_t* attributes, void* (*function)(void*), void* argument) {
  Thread* const thread = enter_call();
  Thread* const child = allocate_thread(0);
  child->function = function;
  child->argument = argument;
  const int result = real.pthread_create(handle, attributes, start_instrumented, child);
  machine.lock.lock();
  if (result != 0) {
    child->state = ThreadState::kFree;
  } else if (child->state == ThreadState::kAway) {
    child->handle = *handle;
    if (thread != nullptr && modelled()) {
      // The scheduler can choose the child from now on, even if the child has not started yet.
      child->state = ThreadState::kReady;
      child->ticket = ++machine.tickets;
      ++machine.ready;
    }
  }
  machine.lock.unlock();
  if (thread != nullptr) leave(thread);
  return result;
}

int pthread_join(pthread_t handle, void** result) {
  Thread* const thread = enter_call();
  if (thread == nullptr) return real.pthread_join(handle, result);
  if (!modelled()) {
    go_away(thread);
    return real.pthread_join(handle, result);
  }
  while (Thread* const other = unfinished(handle)) block(thread, other, false);
  const int joined = real.pthread_join(handle, result);  // the other thread no longer needs the turn
  leave(thread);
  return joined;
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  need_real();
  return lock(mutex, real.pthread_mutex_trylock, real.pthread_mutex_lock);
}
int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  need_real();
  return unlock(mutex, real.pthread_mutex_unlock);
}
int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  Thread* const thread = enter_call();
  const int result = real.pthread_mutex_trylock(mutex);
  if (thread != nullptr) leave(thread);
  return result;
}

int pthread_rwlock_rdlock(pthread_rwlock_t* rwlock) {
  need_real();
  return lock(rwlock, real.pthread_rwlock_tryrdlock, real.pthread_rwlock_rdlock);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* rwlock) {
  need_real();
  return lock(rwlock, real.pthread_rwlock_trywrlock, real.pthread_rwlock_wrlock);
}
int pthread_rwlock_unlock(pthread_rwlock_t* rwlock) {
  need_real();
  return unlock(rwlock, real.pthread_rwlock_unlock);
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  need_real();
  return wait_for(condition, mutex, false, [&] { return real.pthread_cond_wait(condition, mutex); });
}
int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* time) {
  need_real();
  return wait_for(condition, mutex, true, [&] { return real.pthread_cond_timedwait(condition, mutex, time); });
}
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* time) {
  need_real();
  return wait_for(condition, mutex, true, [&] { return real.pthread_cond_clockwait(condition, mutex, clock, time); });
}
int pthread_cond_signal(pthread_cond_t* condition) {
  need_real();
  return notify(condition, real.pthread_cond_signal, 1);
}
int pthread_cond_broadcast(pthread_cond_t* condition) {
  need_real();
  return notify(condition, real.pthread_cond_broadcast, kThreadsMax);
}

int sched_yield() {
  Thread* const thread = enter_call();
  return thread != nullptr && yield(thread) ? 0 : real.sched_yield();
}
int nanosleep(const timespec* time, timespec* left) {
  need_real();
  return rest([&] { return real.nanosleep(time, left); });
}
int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  need_real();
  return rest([&] { return real.clock_nanosleep(clock, flags, time, left); });
}
int usleep(useconds_t time) {
  need_real();
  return rest([&] { return real.usleep(time); });
}

long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  const long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
  const long d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
  va_end(list);
  need_real();
  if (number == SYS_nanosleep) return rest([&] { return static_cast<int>(real.syscall(number, a, b)); });
  Thread* const thread = enter_call();
  if (thread == nullptr) return real.syscall(number, a, b, c, d, e, f);
  if (number != SYS_futex || !modelled() || !is_modelled_futex(static_cast<int>(b))) {
    // A futex can block for long, so the thread gives up the turn. Other system calls do not need
    // the turn either, but they return soon, and the thread would then have to request the turn
    // again.
    if (number == SYS_futex) {
      go_away(thread);
      return real.syscall(number, a, b, c, d, e, f);
    }
    leave(thread);
    return real.syscall(number, a, b, c, d, e, f);
  }
  const long result = futex_modelled(thread, static_cast<int>(b), reinterpret_cast<const uint32_t*>(a), static_cast<uint32_t>(c),
                                     reinterpret_cast<const timespec*>(d));
  leave(thread);
  return result;
}

}  // extern "C"
