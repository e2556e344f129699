// RetiredList: a queue of objects that wait for the end of their grace period (base/worker.h), in
// the order in which they were retired.
//
// It is not a general-purpose queue: it grows by doubling, and does not shrink until it is empty.
// Thread safety: any thread may call size() and empty(). Only one thread at a time may call the
// other functions.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace elider {

class Worker;

// Reclaims `object`. `worker` may differ from the worker that retired the object. It is between
// enter() and leave(), at the end of a transaction, so the function may free memory, unlink
// objects, and retire further objects.
using Reclaim = void (*)(Worker& worker, void* object, uint64_t argument);

struct Retired {
  Reclaim reclaim;
  void* object;
  uint64_t argument;
  uint64_t epoch;  // the global epoch when the object was retired
};

class RetiredList {
 public:
  RetiredList() = default;
  RetiredList(RetiredList&& other) noexcept { swap(other); }

  uint64_t size() const { return size_.load(std::memory_order_relaxed); }
  bool empty() const { return size() == 0; }

  // Returns false, and leaves the list unchanged, if memory for a longer list cannot be allocated.
  bool push(const Retired& retired) {
    const uint64_t size = this->size();
    if (size == capacity_) [[unlikely]] {
      if (!grow()) return false;
    }
    ring_[(first_ + size) & (capacity_ - 1)] = retired;
    size_.store(size + 1, std::memory_order_relaxed);
    return true;
  }
  // The list must not be empty.
  const Retired& front() const { return ring_[first_]; }
  void pop() {
    first_ = (first_ + 1) & (capacity_ - 1);
    size_.store(size() - 1, std::memory_order_relaxed);
    if (empty() && capacity_ > kCapacityKept) [[unlikely]] {
      ring_.reset();
      capacity_ = first_ = 0;
    }
  }

  void swap(RetiredList& other) noexcept {
    std::swap(ring_, other.ring_);
    std::swap(capacity_, other.capacity_);
    std::swap(first_, other.first_);
    const uint64_t size = this->size();
    size_.store(other.size(), std::memory_order_relaxed);
    other.size_.store(size, std::memory_order_relaxed);
  }

 private:
  static constexpr uint64_t kCapacityMin = 256;
  static constexpr uint64_t kCapacityKept = 16384;

  bool grow() {
    const uint64_t size = this->size();
    const uint64_t capacity = capacity_ == 0 ? kCapacityMin : capacity_ * 2;
    std::unique_ptr<Retired[]> ring(new (std::nothrow) Retired[capacity]);
    if (ring == nullptr) return false;
    for (uint64_t i = 0; i < size; ++i) ring[i] = ring_[(first_ + i) & (capacity_ - 1)];
    ring_ = std::move(ring);
    capacity_ = capacity;
    first_ = 0;
    return true;
  }

  std::unique_ptr<Retired[]> ring_;
  uint64_t capacity_ = 0;  // a power of two, or 0
  uint64_t first_ = 0;
  std::atomic<uint64_t> size_{0};  // one writer
};

}  // namespace elider
