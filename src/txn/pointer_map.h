// PointerMap: maps addresses to positions in one of a transaction's lists, for example its write
// set.
//
// A generation number makes it possible to clear the map in constant time. A filter of 512 bits
// answers most lookups of absent addresses. Thread safety: none; a map belongs to one transaction.
#pragma once

#include <cstdint>
#include <vector>

namespace elider::txn {

class PointerMap {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  PointerMap() : slots_(kSlotsMin) {}

  void clear() {
    for (uint64_t& word : filter_) word = 0;
    count_ = 0;
    if (++generation_ == 0) [[unlikely]] {
      for (Slot& slot : slots_) slot = {};
      generation_ = 1;
    }
  }

  uint32_t find(const void* address) const {
    const uint64_t hash = hash_of(address);
    if (!(filter_[hash >> 61] >> (hash >> 55 & 63) & 1)) [[likely]] return kNone;
    for (uint32_t i = hash & mask();; i = (i + 1) & mask()) {
      const Slot& slot = slots_[i];
      if (slot.generation != generation_) return kNone;
      if (slot.address == address) return slot.position;
    }
  }

  // Returns a pointer to the position of `address`, or null if the map does not contain the
  // address. The caller may change the position.
  uint32_t* find_position(const void* address) {
    for (uint32_t i = hash_of(address) & mask();; i = (i + 1) & mask()) {
      Slot& slot = slots_[i];
      if (slot.generation != generation_) return nullptr;
      if (slot.address == address) return &slot.position;
    }
  }

  // Inserts `address`, which must not be in the map.
  void insert(const void* address, uint32_t position) {
    make_room(1);
    ++count_;
    place(address, position);
  }
  // Allocates memory for this many further insertions.
  void make_room(uint32_t count) {
    while ((count_ + count) * 2 > slots_.size()) [[unlikely]] grow();
  }

 private:
  static constexpr uint32_t kSlotsMin = 128;
  struct Slot {
    const void* address = nullptr;
    uint32_t generation = 0;
    uint32_t position = 0;
  };
  // A multiplicative hash. The low bits of the result choose the slot, so the high half of the
  // product is folded into them.
  static uint64_t hash_of(const void* address) {
    const uint64_t product = (reinterpret_cast<uintptr_t>(address) >> 3) * 0x9e3779b97f4a7c15u;
    return product ^ product >> 32;
  }
  uint32_t mask() const { return static_cast<uint32_t>(slots_.size() - 1); }
  void place(const void* address, uint32_t position) {
    const uint64_t hash = hash_of(address);
    filter_[hash >> 61] |= uint64_t{1} << (hash >> 55 & 63);
    uint32_t i = hash & mask();
    while (slots_[i].generation == generation_) i = (i + 1) & mask();
    slots_[i] = {address, generation_, position};
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.generation == generation_) place(slot.address, slot.position);
  }

  uint64_t filter_[8] = {};  // one bit per address
  uint32_t generation_ = 1;
  uint32_t count_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace elider::txn
