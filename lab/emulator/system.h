// System functions that do not call instrumented or intercepted code: raw system calls, memory
// allocation, copies, a random number generator, and die().
//
// Only files of the runtime may include this header, because they are compiled without
// instrumentation. If an instrumented file used one of the inline functions as well, the linker
// would keep only one of the two compiled versions. Thread safety: all threads may call all
// functions, but only one thread at a time may use a Random.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include <cstddef>
#include <cstdint>

namespace elider::emulator {

inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return result;
}

// Waits while `word` has this value. Also returns when another thread wakes this one, or after the
// given time.
inline void futex_wait(const uint32_t* word, uint32_t value, long nanoseconds) {
  const timespec time{0, nanoseconds};
  raw_syscall(SYS_futex, reinterpret_cast<long>(word), FUTEX_WAIT_PRIVATE, value, reinterpret_cast<long>(&time));
}
inline void futex_wake(const uint32_t* word) { raw_syscall(SYS_futex, reinterpret_cast<long>(word), FUTEX_WAKE_PRIVATE, 1); }
inline void give_up_processor() { raw_syscall(SYS_sched_yield); }
inline void sleep_ns(long nanoseconds) {
  const timespec time{0, nanoseconds};
  raw_syscall(SYS_nanosleep, reinterpret_cast<long>(&time), 0);
}

inline void compiler_barrier() { asm volatile("" ::: "memory"); }

// Like memcpy, but not intercepted by the runtime. `from` and `to` may overlap only if `to` is
// lower.
inline void copy_bytes(void* to, const void* from, size_t bytes) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes)::"memory");
}

// Returns zeroed memory, which the kernel backs with pages only when it is accessed. It is never
// freed.
void* map_memory(size_t bytes);

// Prints "elider emulator: ..." and aborts the process.
[[noreturn]] void die(const char* format, ...) __attribute__((format(printf, 1, 2)));

// splitmix64.
struct Random {
  uint64_t state;

  uint64_t next() {
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t n) { return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * n) >> 64); }
  bool with_probability(double p) { return static_cast<double>(next() >> 11) * 0x1.0p-53 < p; }
};

// A lock for short critical sections of the runtime. Not fair.
class Lock {
 public:
  void lock() {
    while (__atomic_exchange_n(&held_, 1u, __ATOMIC_ACQUIRE) != 0) give_up_processor();
  }
  void unlock() { __atomic_store_n(&held_, 0u, __ATOMIC_RELEASE); }
  void reset() { held_ = 0; }

 private:
  uint32_t held_ = 0;
};

}  // namespace elider::emulator
