// Buffer: a bounded, lock-free ring buffer with one writer and one reader. It holds the log records
// that a worker has appended and its logger thread has not taken yet. It also holds the number that
// the worker announces while it is inside a commit.
//
// A record is written in place: reserve() returns space for it, and publish() makes it visible to
// the logger. A record that is larger than half the ring is stored in a separately allocated block.
// The total size of these blocks is limited to the ring's capacity, except that a single block may
// be larger.
//
//   ring record: number (8 bytes) | bytes (4) | kind (4) | the bytes, padded to a multiple of 16;
//                or, for a separate block, the block's address (8) and size (8)
//
// Thread safety: one thread at a time may call the worker's functions, and one the logger's.
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

  // The store here and the load in committing() are seq_cst, as in Dekker's algorithm: the worker
  // announces a number and then reads the snapshot number, and the logger raises the snapshot
  // number and then reads the announcement.
  void announce(SnapshotNumber number) { committing_.store(number); }
  void withdraw() { committing_.store(0, std::memory_order_release); }  // release: a thread that reads this 0 also sees the record
  bool unused() const { return memory_ == nullptr; }

  // Called before the first reservation. Returns false if memory is exhausted.
  bool open(size_t capacity) {
    memory_.reset(new (std::nothrow) std::byte[capacity]);  // not zeroed, so the system allocates pages only as they are used
    capacity_ = capacity;
    return memory_ != nullptr;
  }
  // Reserves space for a record of at most `bytes` bytes, and discards an earlier reservation that
  // was not published. Returns null in three cases: the buffer is not open; a separate block cannot
  // be allocated (heap_exhausted() then returns true); or the buffer is full until the logger takes
  // some records.
  std::byte* reserve(size_t bytes) {
    if (memory_ == nullptr) [[unlikely]] return nullptr;
    const bool outside = ring_bytes(bytes) > capacity_ / 2;
    const size_t needed = outside ? kHeaderBytes + kUnit : ring_bytes(bytes);
    const uint64_t tail = tail_.load(std::memory_order_acquire);  // the logger has copied all records before `tail`
    if (tail == end_) oldest_ns_.store(now_ns(), std::memory_order_relaxed);  // relaxed: a statistic
    const size_t to_end = capacity_ - offset(end_);
    const size_t skipped = to_end < needed ? to_end : 0;
    const size_t blocks = block_bytes_.load(std::memory_order_relaxed);  // relaxed: at worst too large, since the logger reduces it
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

  // Returns true if the last call to reserve() that found space in the ring could not allocate a
  // separate block.
  bool heap_exhausted() const { return heap_exhausted_; }
  // Returns true if the buffer was more than half full at the last call to reserve(), so that the
  // logger should take some records soon.
  bool half_full() const { return half_full_; }

  // Publishes the first `bytes` bytes of the reserved space as a record with this number.
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
  // Returns the time, as by now_ns(), at which the worker last reserved space in an empty buffer.
  // No record in the buffer is older.
  uint64_t oldest_ns() const { return oldest_ns_.load(std::memory_order_relaxed); }  // relaxed: a statistic
  bool empty() const { return head() == tail_.load(std::memory_order_relaxed); }  // relaxed: only the logger writes it

  // Limits take_marked() to the records that are in the buffer now, so that a round ends even if
  // the worker continues to append.
  void mark() { marked_ = head(); }
  bool marked_taken() const { return tail_.load(std::memory_order_relaxed) == marked_; }  // relaxed: only the logger writes it
  template <class F>
  bool take_marked(F&& take_one) {
    return take(marked_, take_one);
  }
  // Calls take_one(number, bytes) for each record before `head` and removes the record. Stops and
  // returns false when take_one() returns false; that record stays in the buffer.
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
    tail_.store(tail, std::memory_order_release);  // pairs with reserve()'s acquire, which then sees the free space
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
  // The logger has read these cache lines on another core, so writing to them misses the cache.
  // Prefetching overlaps these misses.
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

  // Owned by the worker. memory_ and capacity_ are constant once head_ is nonzero.
  std::unique_ptr<std::byte[]> memory_;
  size_t capacity_ = 0;  // a power of two
  uint64_t end_ = 0;     // equal to head_
  uint64_t place_ = 0;   // position of the reservation
  bool half_full_ = false;
  bool heap_exhausted_ = false;
  std::unique_ptr<std::byte[]> block_;
  size_t block_size_ = 0;

  std::atomic<SnapshotNumber> committing_{0};  // lower bound on the number of the commit in progress; 0: the worker is not inside a commit
  std::atomic<uint64_t> head_{0};
  std::atomic<uint64_t> oldest_ns_{0};
  std::atomic<size_t> block_bytes_{0};  // total size of the separate blocks that the logger has not taken
  alignas(kCacheLinePairBytes) std::atomic<uint64_t> tail_{0};  // written by the logger
  uint64_t marked_ = 0;                                         // used only by the logger
};

}  // namespace elider::log
