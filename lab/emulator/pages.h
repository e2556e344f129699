// Pages: records which pages of the process a region can access without a page fault.
//
// The kernel maps a page at the first read or write. A page that has only been read, and therefore
// contains only zeros, faults again at its first write. Pages records the accesses of instrumented
// code outside regions. For a page without such accesses, it asks the kernel once (mincore). If
// uninstrumented code maps new pages at an address that was in use before, Pages does not notice,
// so the emulator misses a fault. Thread safety: used only by the thread that holds the turn
// (machine.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace elider::emulator {

class Pages {
 public:
  // Called before code outside regions reads or writes these bytes.
  void touch(uintptr_t address, size_t bytes, bool write);
  // Returns false if an access to this byte in a region would fault.
  bool present(uintptr_t address, bool write);
  // Called when these bytes are mapped or unmapped. Forgets the state of their pages.
  void forget(uintptr_t address, size_t bytes);

 private:
  enum State : uint8_t { kUnknown, kReadable, kWritable };
  static constexpr uint32_t kPageShift = 12;
  static constexpr uint32_t kLeafShift = 18;
  static constexpr uint32_t kLeaves = 1u << 17;  // enough for 47-bit addresses

  // Returns null if the address cannot belong to a program.
  uint8_t* state_of(uintptr_t page);

  uint8_t* leaves_[kLeaves];
};

}  // namespace elider::emulator
