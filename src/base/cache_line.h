// Cache-line sizes, and a wrapper that gives a value its own cache lines. Thread safety: the same
// as for the wrapped type.
#pragma once

#include <cstddef>
#include <utility>

namespace elider {

inline constexpr size_t kCacheLineBytes = 64;
// Returns the number of cache lines that `bytes` bytes occupy if they begin at the start of a line.
constexpr size_t lines_of(size_t bytes) { return (bytes + kCacheLineBytes - 1) / kCacheLineBytes; }
// Processors prefetch cache lines in pairs, so words that different threads use often are placed in
// different pairs.
inline constexpr size_t kCacheLinePairBytes = 128;

// A T that has a pair of cache lines to itself.
template <class T>
struct alignas(kCacheLinePairBytes) CacheLine {
  T value{};

  CacheLine() = default;
  template <class... Args>
  explicit CacheLine(std::in_place_t, Args&&... args) : value(std::forward<Args>(args)...) {}

  T& operator*() { return value; }
  const T& operator*() const { return value; }
  T* operator->() { return &value; }
  const T* operator->() const { return &value; }
};

}  // namespace elider
