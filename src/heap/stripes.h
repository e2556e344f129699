// Stripes: for each cache line of the heap, the number of the transaction that last wrote it, and
// whether a commit has locked it. A published commit (slots.h) stores its number in the stripe and
// keeps the lock until its words are in the heap. Until then, a transaction whose snapshot includes
// that number may read the cache line, but no other transaction may write it. Several cache lines
// share a stripe, which can cause false conflicts. Thread safety: all threads may call all
// functions.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace elider::heap {

class Stripes {
 public:
  static constexpr uint64_t kCount = 1u << 18;

  Stripes() : words_(std::make_unique<std::atomic<uint64_t>[]>(kCount)) {}

  static constexpr uint64_t kWords = 8;  // words of a cache line

  // Returns the stripe that covers a word of the heap.
  static uint32_t of(uint64_t word) { return static_cast<uint32_t>((word / kWords) & (kCount - 1)); }
  // Returns the number of cache lines that `count` words from `first` on occupy.
  static uint64_t lines(uint64_t first, uint64_t count) { return count == 0 ? 0 : (first + count - 1) / kWords - first / kWords + 1; }

  enum class Locking : uint8_t { kLocked, kOwn, kRefused };
  // kLocked: *number is the stripe's number before the call. kOwn: the slot has already locked the
  // stripe. kRefused: another slot has locked the stripe, or its number is above `moment`.
  Locking try_lock(uint32_t stripe, uint32_t slot, uint64_t moment, uint64_t* number) {
    uint64_t word = words_[stripe].load(std::memory_order_acquire);
    if ((word & kLocked) != 0) return slot_of(word) == slot ? Locking::kOwn : Locking::kRefused;
    *number = word >> kNumberShift;
    if (*number > moment) return Locking::kRefused;
    const uint64_t locked = word | kLocked | uint64_t{slot} << 2;
    return words_[stripe].compare_exchange_strong(word, locked, std::memory_order_seq_cst) ? Locking::kLocked : Locking::kRefused;
  }
  // Called by the owner of the lock, which has published this number.
  void publish(uint32_t stripe, uint32_t slot, uint64_t number) {
    words_[stripe].store(number << kNumberShift | uint64_t{slot} << 2 | kPublished | kLocked, std::memory_order_release);
  }
  void unlock(uint32_t stripe, uint64_t number) { words_[stripe].store(number << kNumberShift, std::memory_order_release); }
  bool is_locked(uint32_t stripe) const { return (words_[stripe].load(std::memory_order_acquire) & kLocked) != 0; }
  // Returns true if the stripe's number is at most `moment` and no other slot has locked it for a
  // commit that is not published yet.
  bool holds(uint32_t stripe, uint32_t slot, uint64_t moment) const {
    const uint64_t word = words_[stripe].load(std::memory_order_seq_cst);
    return word >> kNumberShift <= moment && ((word & kLocked) == 0 || (word & kPublished) != 0 || slot_of(word) == slot);
  }

 private:
  static constexpr uint64_t kLocked = 1, kPublished = 2;
  static constexpr uint32_t kNumberShift = 8;
  static uint32_t slot_of(uint64_t word) { return static_cast<uint32_t>(word >> 2 & 0x3f); }
  std::unique_ptr<std::atomic<uint64_t>[]> words_;
};

}  // namespace elider::heap
