#include "lab/emulator/pages.h"

#include "lab/emulator/system.h"

namespace elider::emulator {

namespace {

bool resident(uintptr_t page_address) {
  unsigned char answer = 0;
  const long result = raw_syscall(SYS_mincore, static_cast<long>(page_address), 1, reinterpret_cast<long>(&answer));
  return result == 0 && (answer & 1) != 0;
}

}  // namespace

uint8_t* Pages::state_of(uintptr_t page) {
  const uintptr_t leaf = page >> kLeafShift;
  if (leaf >= kLeaves) return nullptr;
  if (leaves_[leaf] == nullptr) leaves_[leaf] = static_cast<uint8_t*>(map_memory(1u << kLeafShift));
  return &leaves_[leaf][page & ((1u << kLeafShift) - 1)];
}

void Pages::touch(uintptr_t address, size_t bytes, bool write) {
  const uintptr_t last = (address + bytes - 1) >> kPageShift;
  for (uintptr_t page = address >> kPageShift; page <= last; ++page) {
    uint8_t* state = state_of(page);
    if (state == nullptr || *state == kWritable) continue;
    if (write || (*state == kUnknown && resident(page << kPageShift))) {
      *state = kWritable;
    } else {
      *state = kReadable;
    }
  }
}

bool Pages::present(uintptr_t address, bool write) {
  const uintptr_t page = address >> kPageShift;
  uint8_t* state = state_of(page);
  if (state == nullptr) return false;
  if (*state == kUnknown && resident(page << kPageShift)) *state = kWritable;
  return *state == kWritable || (*state == kReadable && !write);
}

void Pages::forget(uintptr_t address, size_t bytes) {
  if (bytes == 0) return;
  const uintptr_t last = (address + bytes - 1) >> kPageShift;
  for (uintptr_t page = address >> kPageShift; page <= last; ++page) {
    const uintptr_t leaf = page >> kLeafShift;
    if (leaf >= kLeaves) return;
    if (leaves_[leaf] == nullptr) {
      page |= (uintptr_t{1} << kLeafShift) - 1;
      continue;
    }
    leaves_[leaf][page & ((1u << kLeafShift) - 1)] = kUnknown;
  }
}

}  // namespace elider::emulator
