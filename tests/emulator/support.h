// What the emulator's tests share: attempts of regions, options, memory whose pages are there.
// Thread safety: all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "htm/emulator.h"

namespace elider::emulator_test {

inline constexpr unsigned kStarted = 0xFFFFFFFFu;
inline constexpr unsigned kExplicit = 1, kRetry = 2, kConflict = 4, kCapacity = 8, kDebug = 16, kNested = 32;

inline constexpr unsigned code_of(unsigned status) { return status >> 24; }

// One attempt; kStarted: it has committed.
template <class Body>
unsigned attempt(Body&& body) {
  const unsigned status = elider_emulator_begin();
  if (status == kStarted) {
    body();
    elider_emulator_commit();
  }
  return status;
}

// Reads it, whatever the optimizer thinks of it.
template <class T>
void look(const volatile T& word) {
  [[maybe_unused]] const T seen = word;
}

// Options for the life of a test.
class WithOptions {
 public:
  template <class Change>
  explicit WithOptions(Change&& change) : before_(emulator::options()) {
    emulator::Options options = before_;
    change(options);
    emulator::configure(options);
  }
  ~WithOptions() { emulator::configure(before_); }
  WithOptions(const WithOptions&) = delete;
  WithOptions& operator=(const WithOptions&) = delete;

 private:
  emulator::Options before_;
};

// How many seeds a test of schedules runs: ELIDER_SCHEDULES, or what it chooses.
inline uint64_t schedules(uint64_t otherwise) {
  const char* const text = std::getenv("ELIDER_SCHEDULES");
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};

// Zeroed lines of cache, on pages of their own that have been written.
struct alignas(64) CacheLine {
  uint64_t words[8];
};
using Lines = std::unique_ptr<CacheLine[], FreeMemory>;
inline Lines make_lines(size_t count) {
  const size_t bytes = (count * sizeof(CacheLine) + 4095) / 4096 * 4096;
  auto* lines = static_cast<CacheLine*>(std::aligned_alloc(4096, bytes));
  std::memset(lines, 0, bytes);
  return Lines(lines);
}

}  // namespace elider::emulator_test
