// Pages: which pages of the process a region may touch without a fault.
//
// A page is mapped at its first read or write. A page of zeros that was only read faults again at
// its first write. The runtime remembers what instrumented code outside regions does to a page. For
// other pages it asks the kernel (mincore) once. It does not notice if uninstrumented code maps new
// pages at an address that was used before: the emulator then misses a fault.
// Thread safety: only the thread that has the turn uses it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace elider::emulator {

class Pages {
 public:
  // Called before code outside regions accesses these bytes.
  void touch(uintptr_t address, size_t bytes, bool write);
  // False: an access of this byte in a region faults.
  bool present(uintptr_t address, bool write);
  // These bytes have been mapped or unmapped.
  void forget(uintptr_t address, size_t bytes);

 private:
  enum State : uint8_t { kUnknown, kReadable, kWritable };
  static constexpr uint32_t kPageShift = 12;
  static constexpr uint32_t kLeafShift = 18;
  static constexpr uint32_t kLeaves = 1u << 17;  // 47 bits of address

  // nullptr: not an address of a program.
  uint8_t* state_of(uintptr_t page);

  uint8_t* leaves_[kLeaves];
};

}  // namespace elider::emulator
