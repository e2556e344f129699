// Pages: the pages of the process that a region can access without a fault.
//
// A page is mapped at its first read or write. A page of zeros that was only read faults again at
// its first write. The runtime records what instrumented code outside regions does to a page. For
// other pages it calls the kernel (mincore) once. If uninstrumented code maps new pages at an
// address that was used before, the runtime does not notice, and the emulator misses a fault.
// Thread safety: only the thread that holds the turn uses it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace elider::emulator {

class Pages {
 public:
  // Called before code outside regions accesses these bytes.
  void touch(uintptr_t address, size_t bytes, bool write);
  // Returns false if an access to this byte in a region would fault.
  bool present(uintptr_t address, bool write);
  // These bytes have been mapped or unmapped.
  void forget(uintptr_t address, size_t bytes);

 private:
  enum State : uint8_t { kUnknown, kReadable, kWritable };
  static constexpr uint32_t kPageShift = 12;
  static constexpr uint32_t kLeafShift = 18;
  static constexpr uint32_t kLeaves = 1u << 17;  // enough for 47-bit addresses

  // Returns null if no program can use the address.
  uint8_t* state_of(uintptr_t page);

  uint8_t* leaves_[kLeaves];
};

}  // namespace elider::emulator
