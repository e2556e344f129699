// The values of YCSB rows. Their format reveals values that are torn, lost or stored under the
// wrong key.
//
// A value of n bytes is a sequence of 8-byte words; the last word is cut off if n is not a multiple
// of 8. Word i is counter + i * stride(key). The first word is the counter, which every
// read-modify-write increments. The other words follow from the counter and the key. The sum of all
// counters must equal the number of committed read-modify-writes; otherwise an update was lost.
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "bench/common/random.h"
#include "elider/key.h"
#include "elider/status.h"

namespace elider::bench {

inline constexpr uint32_t kValueBytesMin = 8;

constexpr uint64_t value_stride(Key key) { return (key * 0x9e3779b97f4a7c15) | 1; }

inline uint64_t value_counter(const void* value) {
  uint64_t counter;
  std::memcpy(&counter, value, sizeof(counter));
  return counter;
}

inline void fill_value(void* value, uint32_t bytes, Key key, uint64_t counter) {
  std::byte* out = static_cast<std::byte*>(value);
  const uint64_t stride = value_stride(key);
  uint64_t word = counter;
  uint32_t at = 0;
  for (; at + sizeof(word) <= bytes; at += sizeof(word), word += stride) std::memcpy(out + at, &word, sizeof(word));
  if (at < bytes) std::memcpy(out + at, &word, bytes - at);
}

// Checks that the last whole word matches the first. This one comparison detects a value that
// begins in one version and ends in another, or that belongs to another key.
inline bool value_ends_match(const void* value, uint32_t bytes, Key key) {
  const uint64_t last_word = bytes / sizeof(uint64_t) - 1;
  const uint64_t last = value_counter(static_cast<const std::byte*>(value) + last_word * sizeof(uint64_t));
  return last == value_counter(value) + last_word * value_stride(key);
}

// Like value_ends_match(), but checks every byte.
inline bool value_is_whole(const void* value, uint32_t bytes, Key key) {
  const std::byte* in = static_cast<const std::byte*>(value);
  const uint64_t stride = value_stride(key);
  uint64_t word = value_counter(value);
  uint32_t at = 0;
  for (; at + sizeof(word) <= bytes; at += sizeof(word), word += stride)
    if (std::memcmp(in + at, &word, sizeof(word)) != 0) return false;
  return at == bytes || std::memcmp(in + at, &word, bytes - at) == 0;
}

// Returns the error for a value that differs from what was written.
Status damaged_value(Key key);

}  // namespace elider::bench
