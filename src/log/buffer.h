// Buffer: the records that one worker has appended and the logger has not taken yet. It is a ring
// of bytes of bounded size, with one writer and one reader, and without locks. It also holds the
// worker's announcement that the worker is inside a commit.
//
// A record is written in place. reserve() returns the room, and publish() makes the record visible
// to the logger. A record that is larger than half the ring is stored in a block of its own. All
// such blocks together have at most as many bytes as the ring, unless there is only one block.
//
//   ring record: number (8 bytes) | bytes (4) | kind (4) | the bytes, padded to a multiple of 16;
//                or, for a block of its own, its address (8) and size (8)
//
// Thread safety: the functions of each half belong to one thread at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "base/cache_line.h"
#include "base/clock.h"
#include "elider/snapshot_number.h"
#include "log/format.h"

namespace elider::log {

class alignas(kCacheLinePairBytes) Buffer {
 public:
  // -- the worker ---------------------------------------------------------------------------------

  // seq_cst in all three: the worker announces a number and then reads the snapshot number. The
  // logger raises the snapshot number and then reads the announcement (Dekker's pattern).
  void announce(SnapshotNumber number) { committing_.store(number); }
  void withdraw() { committing_.store(0, std::memory_order_release); }  // release: a thread that sees this also sees what was published
  bool unused() const { return memory_ == nullptr; }

  // Called before the first reservation. Returns false if memory is exhausted.
  bool open(size_t capacity) {
    memory_.reset(new (std::nothrow) std::byte[capacity]);  // not set to zero, so the system provides pages only as they are used
    capacity_ = capacity;
    return memory_ != nullptr;
  }
  // Reserves room for `bytes` and discards an earlier reservation. Returns null if the buffer is
  // not open, if memory for a block is exhausted (heap_exhausted()), or if the logger must first
  // take some records.
  std::byte* reserve(size_t bytes) {
    if (memory_ == nullptr) [[unlikely]] return nullptr;
    const bool outside = ring_bytes(bytes) > capacity_ / 2;
    const size_t needed = outside ? kHeaderBytes + kUnit : ring_bytes(bytes);
    const uint64_t tail = tail_.load(std::memory_order_acquire);  // the logger has copied what was stored before it
    if (tail == end_) oldest_ns_.store(now_ns(), std::memory_order_relaxed);  // relaxed: a statistic
    const size_t to_end = capacity_ - offset(end_);
    const size_t skipped = to_end < needed ? to_end : 0;
    const size_t blocks = block_bytes_.load(std::memory_order_relaxed);  // relaxed: a count, which may only be too large
    half_full_ = std::max<size_t>(end_ - tail, blocks) > capacity_ / 2;
    if (capacity_ - (end_ - tail) < skipped + needed) return nullptr;
    if (outside && blocks != 0 && blocks + bytes > capacity_) return nullptr;
    if (skipped != 0) put_header(end_, 0, static_cast<uint32_t>(skipped - kHeaderBytes), kSkip);
    place_ = end_ + skipped;
    if (!outside) prefetch(at(place_), needed);
    block_.reset(outside ? new (std::nothrow) std::byte[bytes] : nullptr);
    block_size_ = bytes;
    heap_exhausted_ = outside && block_ == nullptr;
    return outside ? block_.get() : at(place_) + kHeaderBytes;
  }

  // Whether memory was exhausted in the last call of reserve() that found room in the ring.
  bool heap_exhausted() const { return heap_exhausted_; }
  // Whether the logger should take some records before the buffer fills up, as of the last
  // reservation.
  bool half_full() const { return half_full_; }

  // Makes the first `bytes` of the reserved room a record.
  void publish(SnapshotNumber number, size_t bytes) {
    if (block_ != nullptr) {
      block_bytes_.fetch_add(block_size_, std::memory_order_relaxed);  // relaxed: a count
      std::byte* block = block_.release();
      std::memcpy(at(place_) + kHeaderBytes, &block, sizeof block);
      std::memcpy(at(place_) + kHeaderBytes + sizeof block, &block_size_, sizeof block_size_);
      put_header(place_, number, static_cast<uint32_t>(bytes), kOutside);
      end_ = place_ + kHeaderBytes + kUnit;
    } else {
      put_header(place_, number, static_cast<uint32_t>(bytes), kInside);
      end_ = place_ + ring_bytes(bytes);
    }
    head_.store(end_, std::memory_order_release);  // pairs with take()'s acquire
  }

  // -- the logger ---------------------------------------------------------------------------------

  uint64_t committing() const { return committing_.load(); }
  uint64_t head() const { return head_.load(std::memory_order_acquire); }
  // Approximately when the oldest record was made, or a little earlier. The logger may be taking
  // that record.
  uint64_t oldest_ns() const { return oldest_ns_.load(std::memory_order_relaxed); }  // relaxed: a statistic
  bool empty() const { return head() == tail_.load(std::memory_order_relaxed); }  // relaxed: only the logger writes it

  // Sets the limit of take_marked(). So a round ends even if the worker continues to append.
  void mark() { marked_ = head(); }
  bool marked_taken() const { return tail_.load(std::memory_order_relaxed) == marked_; }  // relaxed: only the logger writes it
  template <class F>
  bool take_marked(F&& take_one) {
    return take(marked_, take_one);
  }
  // Calls take_one(number, bytes) for each record before `head`, until take_one() returns false.
  // The record for which it returned false stays in the buffer.
  template <class F>
  bool take(uint64_t head, F&& take_one) {
    uint64_t tail = tail_.load(std::memory_order_relaxed);  // relaxed: only the logger writes it
    bool more = true;
    while (more && tail != head) {
      SnapshotNumber number;
      uint32_t bytes, kind;
      std::memcpy(&number, at(tail), 8);
      std::memcpy(&bytes, at(tail) + 8, 4);
      std::memcpy(&kind, at(tail) + 12, 4);
      if (kind == kSkip) {
        tail += kHeaderBytes + bytes;
        continue;
      }
      std::byte* block = at(tail) + kHeaderBytes;
      if (kind == kOutside) std::memcpy(&block, at(tail) + kHeaderBytes, sizeof block);
      more = take_one(number, Bytes(block, bytes));
      if (!more) break;
      if (kind == kOutside) {
        size_t size;
        std::memcpy(&size, at(tail) + kHeaderBytes + sizeof block, sizeof size);
        delete[] block;
        block_bytes_.fetch_sub(size, std::memory_order_relaxed);  // relaxed: a count
      }
      tail += kind == kOutside ? kHeaderBytes + kUnit : ring_bytes(bytes);
    }
    tail_.store(tail, std::memory_order_release);  // pairs with reserve()'s acquire, which then sees free room
    return more;
  }

  Buffer() = default;
  ~Buffer() {
    if (memory_ != nullptr) take(head(), [](uint64_t, Bytes) { return true; });
  }

 private:
  static constexpr size_t kHeaderBytes = 16, kUnit = 16;
  static constexpr uint32_t kInside = 0, kOutside = 1, kSkip = 2;
  static constexpr size_t ring_bytes(size_t bytes) { return kHeaderBytes + (bytes + kUnit - 1) / kUnit * kUnit; }
  // The logger has read these cache lines on another processor. Prefetching them overlaps the cache
  // misses of the writes that follow.
  static void prefetch(const std::byte* from, size_t bytes) {
    constexpr size_t kBytesMax = 1024;
    for (size_t i = 0; i < std::min(bytes, kBytesMax); i += kCacheLineBytes) __builtin_prefetch(from + i, 1);
  }
  size_t offset(uint64_t position) const { return static_cast<size_t>(position & (capacity_ - 1)); }
  std::byte* at(uint64_t position) { return memory_.get() + offset(position); }
  void put_header(uint64_t position, SnapshotNumber number, uint32_t bytes, uint32_t kind) {
    std::memcpy(at(position), &number, 8);
    std::memcpy(at(position) + 8, &bytes, 4);
    std::memcpy(at(position) + 12, &kind, 4);
  }

  // Owned by the worker. memory_ and capacity_ are constant once head_ is not 0.
  std::unique_ptr<std::byte[]> memory_;
  size_t capacity_ = 0;  // a power of two
  uint64_t end_ = 0;     // equal to head_
  uint64_t place_ = 0;   // position of the reservation
  bool half_full_ = false;
  bool heap_exhausted_ = false;
  std::unique_ptr<std::byte[]> block_;
  size_t block_size_ = 0;

  std::atomic<SnapshotNumber> committing_{0};  // no commit in progress has a smaller number; 0: no commit is in progress
  std::atomic<uint64_t> head_{0};
  std::atomic<uint64_t> oldest_ns_{0};
  std::atomic<size_t> block_bytes_{0};  // bytes of the blocks that the logger has not taken
  alignas(kCacheLinePairBytes) std::atomic<uint64_t> tail_{0};  // written by the logger
  uint64_t marked_ = 0;                                         // used only by the logger
};

}  // namespace elider::log
