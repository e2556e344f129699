// Replaces operator new of the whole process, and lets one allocation of a thread fail. The program
// in C declares the two functions.
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

thread_local uint64_t until_failure = 0;  // the allocation that fails, counted from now; 0: none
thread_local bool failed = false;

void* allocate_or_null(size_t bytes) {
  if (until_failure != 0 && --until_failure == 0) {
    failed = true;
    return nullptr;
  }
  return std::malloc(bytes != 0 ? bytes : 1);
}
void* aligned_or_null(size_t bytes, std::align_val_t alignment) {
  if (until_failure != 0 && --until_failure == 0) {
    failed = true;
    return nullptr;
  }
  const auto multiple = static_cast<size_t>(alignment);
  return std::aligned_alloc(multiple, (bytes + multiple) / multiple * multiple);
}
void* or_throw(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

extern "C" void fail_allocation(uint64_t count) {
  until_failure = count;
  failed = false;
}
extern "C" bool allocation_failed() {
  until_failure = 0;
  return failed;
}

[[gnu::noinline]] void* operator new(size_t bytes) { return or_throw(allocate_or_null(bytes)); }
[[gnu::noinline]] void* operator new[](size_t bytes) { return or_throw(allocate_or_null(bytes)); }
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return allocate_or_null(bytes); }
[[gnu::noinline]] void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return allocate_or_null(bytes); }
[[gnu::noinline]] void* operator new(size_t bytes, std::align_val_t alignment) { return or_throw(aligned_or_null(bytes, alignment)); }
[[gnu::noinline]] void* operator new[](size_t bytes, std::align_val_t alignment) { return or_throw(aligned_or_null(bytes, alignment)); }
[[gnu::noinline]] void* operator new(size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return aligned_or_null(bytes, alignment);
}
[[gnu::noinline]] void* operator new[](size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return aligned_or_null(bytes, alignment);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
