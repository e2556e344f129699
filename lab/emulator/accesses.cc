// The functions that instrumented code calls before each plain access, and instead of each atomic
// operation.
#include "lab/emulator/machine.h"

namespace elider::emulator {

namespace {

inline void on_read(const void* address, size_t bytes) {
  Thread* const thread = enter();
  if (thread == nullptr) return;
  step(thread);
  PendingWrite& pending = thread->pending;
  // This read may be part of the copy of an object. The compiler announces the write of a copy
  // before the read, although the write happens after the read. If another thread has run since the
  // announcement, the write must abort conflicting regions again.
  if (pending.bytes == bytes && pending.turns != machine.turns && !tracks(thread->region)) {
    outside_access(thread, pending.address, pending.bytes, true);
  }
  pending.bytes = 0;
  access(thread, address, bytes, false);
  leave(thread);
}

inline void on_write(const void* address, size_t bytes) {
  Thread* const thread = enter();
  if (thread == nullptr) return;
  step(thread);
  access(thread, address, bytes, true);
  thread->pending = {reinterpret_cast<uintptr_t>(address), bytes, machine.turns};
  leave(thread);
}

// Performs an atomic operation while this thread holds the turn, so that no other thread runs
// during the operation.
template <class Operation>
inline auto on_atomic(const volatile void* address, size_t bytes, bool write, Operation&& operation) {
  Thread* const thread = enter();
  if (thread == nullptr) return operation();
  step(thread);
  thread->pending.bytes = 0;
  access(thread, address, bytes, write);
  const auto result = operation();
  leave(thread);
  return result;
}

// A failed exchange also counts as a write, because the processor requests the line for writing.
template <class T>
inline int compare_exchange(volatile T* address, T* expected, T desired) {
  const T wanted = *expected;
  const T seen = on_atomic(address, sizeof(T), true, [&] { return __sync_val_compare_and_swap(address, wanted, desired); });
  if (seen == wanted) return 1;
  Thread* const thread = enter();
  if (thread != nullptr) {
    access(thread, expected, sizeof(T), true);
    leave(thread);
  }
  *expected = seen;
  return 0;
}

using Wide = unsigned __int128;

// Compares and exchanges 16 bytes with cmpxchg16b. All atomic operations on 16 bytes use this
// instruction, because the processor does not have any other atomic instruction for 16 bytes.
inline Wide compare_and_swap(volatile Wide* address, Wide expected, Wide desired) {
  return __sync_val_compare_and_swap(address, expected, desired);
}
template <class Change>
Wide change_wide(volatile Wide* address, Change&& change) {
  Wide seen = compare_and_swap(address, 0, 0);
  while (true) {
    const Wide now = compare_and_swap(address, seen, change(seen));
    if (now == seen) return seen;
    seen = now;
  }
}

}  // namespace

}  // namespace elider::emulator

using namespace elider::emulator;

extern "C" {

#define ELIDER_ACCESSES(bytes)                                                            \
  void __tsan_read##bytes(void* address) { on_read(address, bytes); }                     \
  void __tsan_write##bytes(void* address) { on_write(address, bytes); }                   \
  void __tsan_unaligned_read##bytes(void* address) { on_read(address, bytes); }           \
  void __tsan_unaligned_write##bytes(void* address) { on_write(address, bytes); }         \
  void __tsan_volatile_read##bytes(void* address) { on_read(address, bytes); }            \
  void __tsan_volatile_write##bytes(void* address) { on_write(address, bytes); }          \
  void __tsan_unaligned_volatile_read##bytes(void* address) { on_read(address, bytes); }  \
  void __tsan_unaligned_volatile_write##bytes(void* address) { on_write(address, bytes); }
ELIDER_ACCESSES(1)
ELIDER_ACCESSES(2)
ELIDER_ACCESSES(4)
ELIDER_ACCESSES(8)
ELIDER_ACCESSES(16)
#undef ELIDER_ACCESSES

void __tsan_read_range(void* address, unsigned long bytes) { on_read(address, bytes); }
void __tsan_write_range(void* address, unsigned long bytes) { on_write(address, bytes); }
void __tsan_vptr_update(void** address, void*) { on_write(address, sizeof(void*)); }
void __tsan_vptr_read(void** address) { on_read(address, sizeof(void*)); }

void __tsan_func_entry(void*) {}
void __tsan_func_exit() {
  if (machine.armed != 0 && self != nullptr) check_exit(self, *static_cast<const uintptr_t*>(__builtin_frame_address(0)));
}

// All atomic operations are sequentially consistent, which is at least as strong as the order that
// the program requests.
#define ELIDER_FETCH(bits, T, name, function)                                                             \
  T __tsan_atomic##bits##_##name(volatile T* address, T operand, int) {                                   \
    return on_atomic(address, sizeof(T), true, [&] { return function(address, operand); });              \
  }
#define ELIDER_ATOMICS(bits, T)                                                                           \
  T __tsan_atomic##bits##_load(const volatile T* address, int) {                                          \
    return on_atomic(address, sizeof(T), false, [&] { return __atomic_load_n(address, __ATOMIC_SEQ_CST); }); \
  }                                                                                                       \
  void __tsan_atomic##bits##_store(volatile T* address, T value, int) {                                   \
    on_atomic(address, sizeof(T), true, [&] {                                                             \
      __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                                 \
      return 0;                                                                                           \
    });                                                                                                   \
  }                                                                                                       \
  T __tsan_atomic##bits##_exchange(volatile T* address, T value, int) {                                   \
    return on_atomic(address, sizeof(T), true, [&] { return __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST); }); \
  }                                                                                                       \
  ELIDER_FETCH(bits, T, fetch_add, __sync_fetch_and_add)                                                  \
  ELIDER_FETCH(bits, T, fetch_sub, __sync_fetch_and_sub)                                                  \
  ELIDER_FETCH(bits, T, fetch_and, __sync_fetch_and_and)                                                  \
  ELIDER_FETCH(bits, T, fetch_or, __sync_fetch_and_or)                                                    \
  ELIDER_FETCH(bits, T, fetch_xor, __sync_fetch_and_xor)                                                  \
  ELIDER_FETCH(bits, T, fetch_nand, __sync_fetch_and_nand)                                                \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* address, T* expected, T desired, int, int) { \
    return compare_exchange(address, expected, desired);                                                  \
  }                                                                                                       \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile T* address, T* expected, T desired, int, int) { \
    return compare_exchange(address, expected, desired);                                                  \
  }
ELIDER_ATOMICS(8, uint8_t)
ELIDER_ATOMICS(16, uint16_t)
ELIDER_ATOMICS(32, uint32_t)
ELIDER_ATOMICS(64, uint64_t)
#undef ELIDER_ATOMICS
#undef ELIDER_FETCH

#define ELIDER_WIDE(name, expression)                                                                     \
  Wide __tsan_atomic128_##name(volatile Wide* address, Wide operand, int) {                               \
    return on_atomic(address, sizeof(Wide), true, [&] {                                                   \
      return change_wide(address, [&]([[maybe_unused]] Wide old) -> Wide { return expression; });         \
    });                                                                                                   \
  }
ELIDER_WIDE(exchange, operand)
ELIDER_WIDE(fetch_add, old + operand)
ELIDER_WIDE(fetch_sub, old - operand)
ELIDER_WIDE(fetch_and, old & operand)
ELIDER_WIDE(fetch_or, old | operand)
ELIDER_WIDE(fetch_xor, old ^ operand)
ELIDER_WIDE(fetch_nand, ~(old & operand))
#undef ELIDER_WIDE

Wide __tsan_atomic128_load(const volatile Wide* address, int) {
  return on_atomic(address, sizeof(Wide), false, [&] { return compare_and_swap(const_cast<volatile Wide*>(address), 0, 0); });
}
void __tsan_atomic128_store(volatile Wide* address, Wide value, int) { __tsan_atomic128_exchange(address, value, 0); }
int __tsan_atomic128_compare_exchange_strong(volatile Wide* address, Wide* expected, Wide desired, int, int) {
  const Wide wanted = *expected;
  const Wide seen = on_atomic(address, sizeof(Wide), true, [&] { return compare_and_swap(address, wanted, desired); });
  if (seen == wanted) return 1;
  Thread* const thread = enter();
  if (thread != nullptr) {
    access(thread, expected, sizeof(Wide), true);
    leave(thread);
  }
  *expected = seen;
  return 0;
}
int __tsan_atomic128_compare_exchange_weak(volatile Wide* address, Wide* expected, Wide desired, int, int) {
  return __tsan_atomic128_compare_exchange_strong(address, expected, desired, 0, 0);
}

void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) { compiler_barrier(); }

}  // extern "C"
