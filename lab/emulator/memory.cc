// Wrappers around functions of libc and libstdc++, which the linker calls instead (--wrap). The
// wrappers of memcpy and similar functions report the accesses to the runtime. The other wrappers
// abort the region, because the effects of these functions could not be undone: the allocator,
// functions that end a thread, and functions of libstdc++.so that link the nodes of a map or a
// list.
//
// A copy is made line by line, and the turn may pass to another thread between two lines, because a
// copy is not atomic on a processor either.
#include <stdlib.h>

#include <new>

#include "lab/emulator/machine.h"

using namespace elider::emulator;

namespace {

constexpr size_t kPiece = 1u << kLineShift;

// Copies at most one line, after reporting the read of the source and the write of the destination.
void copy_piece(Thread* thread, char* to, const char* from, size_t bytes) {
  step(thread);
  access(thread, from, bytes, false);
  access(thread, to, bytes, true);
  char piece[kPiece];  // a buffer, because the two sides may overlap
  copy_bytes(piece, from, bytes);
  copy_bytes(to, piece, bytes);
}

void copy(Thread* thread, char* to, const char* from, size_t bytes) {
  thread->pending.bytes = 0;
  if (to <= from || from + bytes <= to) {
    for (size_t done = 0; done < bytes;) {
      const size_t in_line = kPiece - (reinterpret_cast<uintptr_t>(to + done) & (kPiece - 1));
      const size_t piece = bytes - done < in_line ? bytes - done : in_line;
      copy_piece(thread, to + done, from + done, piece);
      done += piece;
    }
  } else {
    for (size_t left = bytes; left > 0;) {
      const size_t piece = left < kPiece ? left : kPiece;
      left -= piece;
      copy_piece(thread, to + left, from + left, piece);
    }
  }
}

// Called before a function whose effects a region could not undo. Aborts the region if there is
// one.
void leave_region_for_call() {
  Thread* const thread = enter();
  if (thread == nullptr) return;
  if (thread->region.doomed && thread->region.suspended != Suspension::kAll) resume_doomed(thread);
  if (tracks(thread->region)) abort_region(thread, 0, &Counters::call_aborts);
  leave(thread);
}

}  // namespace

extern "C" {

void* __real_memcpy(void*, const void*, size_t);
void* __real_memmove(void*, const void*, size_t);
void* __real_memset(void*, int, size_t);
int __real_memcmp(const void*, const void*, size_t);

void* __wrap_memcpy(void* to, const void* from, size_t bytes) {
  Thread* const thread = enter();
  if (thread == nullptr) return __real_memcpy(to, from, bytes);
  copy(thread, static_cast<char*>(to), static_cast<const char*>(from), bytes);
  leave(thread);
  return to;
}

void* __wrap_memmove(void* to, const void* from, size_t bytes) {
  Thread* const thread = enter();
  if (thread == nullptr) return __real_memmove(to, from, bytes);
  copy(thread, static_cast<char*>(to), static_cast<const char*>(from), bytes);
  leave(thread);
  return to;
}

void* __wrap_memset(void* to, int value, size_t bytes) {
  Thread* const thread = enter();
  if (thread == nullptr) return __real_memset(to, value, bytes);
  thread->pending.bytes = 0;
  for (size_t done = 0; done < bytes;) {
    char* const at = static_cast<char*>(to) + done;
    const size_t in_line = kPiece - (reinterpret_cast<uintptr_t>(at) & (kPiece - 1));
    const size_t piece = bytes - done < in_line ? bytes - done : in_line;
    step(thread);
    access(thread, at, piece, true);
    __real_memset(at, value, piece);
    done += piece;
  }
  leave(thread);
  return to;
}

int __wrap_memcmp(const void* a, const void* b, size_t bytes) {
  Thread* const thread = enter();
  if (thread == nullptr) return __real_memcmp(a, b, bytes);
  thread->pending.bytes = 0;
  int result = 0;
  for (size_t done = 0; done < bytes && result == 0;) {
    const size_t piece = bytes - done < kPiece ? bytes - done : kPiece;
    const auto* at_a = static_cast<const char*>(a) + done;
    const auto* at_b = static_cast<const char*>(b) + done;
    step(thread);
    access(thread, at_a, piece, false);
    access(thread, at_b, piece, false);
    result = __real_memcmp(at_a, at_b, piece);
    done += piece;
  }
  leave(thread);
  return result;
}

// Defines R __wrap_name(parameters), which aborts a region, or calls the real function outside of
// regions.
#define ELIDER_CALL(R, name, parameters, arguments) \
  R __real_##name parameters;                       \
  R __wrap_##name parameters {                      \
    leave_region_for_call();                        \
    return __real_##name arguments;                 \
  }
ELIDER_CALL(void*, malloc, (size_t bytes), (bytes))
ELIDER_CALL(void*, calloc, (size_t count, size_t bytes), (count, bytes))
ELIDER_CALL(void*, realloc, (void* old, size_t bytes), (old, bytes))
ELIDER_CALL(void*, aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes))
ELIDER_CALL(int, posix_memalign, (void** result, size_t alignment, size_t bytes), (result, alignment, bytes))
ELIDER_CALL(void, free, (void* memory), (memory))
ELIDER_CALL(void*, _Znwm, (size_t bytes), (bytes))
ELIDER_CALL(void*, _Znam, (size_t bytes), (bytes))
ELIDER_CALL(void*, _ZnwmSt11align_val_t, (size_t bytes, std::align_val_t alignment), (bytes, alignment))
ELIDER_CALL(void*, _ZnamSt11align_val_t, (size_t bytes, std::align_val_t alignment), (bytes, alignment))
ELIDER_CALL(void, _ZdlPv, (void* memory), (memory))
ELIDER_CALL(void, _ZdaPv, (void* memory), (memory))
ELIDER_CALL(void, _ZdlPvm, (void* memory, size_t bytes), (memory, bytes))
ELIDER_CALL(void, _ZdaPvm, (void* memory, size_t bytes), (memory, bytes))
ELIDER_CALL(void, _ZdlPvmSt11align_val_t, (void* memory, size_t bytes, std::align_val_t alignment), (memory, bytes, alignment))
ELIDER_CALL(void, _ZdlPvSt11align_val_t, (void* memory, std::align_val_t alignment), (memory, alignment))
ELIDER_CALL(int, __cxa_guard_acquire, (uint64_t* guard), (guard))
ELIDER_CALL(void*, __cxa_allocate_exception, (size_t bytes), (bytes))
ELIDER_CALL(ssize_t, write, (int file, const void* from, size_t bytes), (file, from, bytes))
ELIDER_CALL(void, pthread_exit, (void* result), (result))
// std::_Rb_tree_insert_and_rebalance and std::_Rb_tree_rebalance_for_erase; _M_hook, _M_unhook and
// _M_transfer of std::list.
ELIDER_CALL(void, _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_, (bool left, void* node, void* parent, void* header),
            (left, node, parent, header))
ELIDER_CALL(void*, _ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_, (void* node, void* header), (node, header))
ELIDER_CALL(void, _ZNSt8__detail15_List_node_base7_M_hookEPS0_, (void* node, void* position), (node, position))
ELIDER_CALL(void, _ZNSt8__detail15_List_node_base9_M_unhookEv, (void* node), (node))
ELIDER_CALL(void, _ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_, (void* node, void* first, void* last), (node, first, last))
#undef ELIDER_CALL

// These wrappers also reset what is known about the pages, because the range may get new pages.
void* __real_mmap(void*, size_t, int, int, int, long);
void* __wrap_mmap(void* at, size_t bytes, int protection, int flags, int file, long offset) {
  leave_region_for_call();
  void* const address = __real_mmap(at, bytes, protection, flags, file, offset);
  if (machine.armed != 0 && address != reinterpret_cast<void*>(-1)) machine.pages.forget(reinterpret_cast<uintptr_t>(address), bytes);
  return address;
}
int __real_munmap(void*, size_t);
int __wrap_munmap(void* address, size_t bytes) {
  leave_region_for_call();
  if (machine.armed != 0) machine.pages.forget(reinterpret_cast<uintptr_t>(address), bytes);
  return __real_munmap(address, bytes);
}
int __real_madvise(void*, size_t, int);
int __wrap_madvise(void* address, size_t bytes, int advice) {
  leave_region_for_call();
  if (machine.armed != 0) machine.pages.forget(reinterpret_cast<uintptr_t>(address), bytes);
  return __real_madvise(address, bytes, advice);
}

}  // extern "C"
