// The unit of sharing between cores, and a wrapper that keeps a value alone on its own.
// Thread safety: that of the wrapped type.
#pragma once

#include <cstddef>
#include <utility>

namespace elider {

inline constexpr size_t kCacheLineBytes = 64;
// How many lines so many bytes fill that begin with one.
constexpr size_t lines_of(size_t bytes) { return (bytes + kCacheLineBytes - 1) / kCacheLineBytes; }
// Processors fetch lines in pairs, so two hot words of two threads keep a pair's distance.
inline constexpr size_t kCacheLinePairBytes = 128;

// A T with no neighbour on its pair of cache lines.
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
