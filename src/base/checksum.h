// checksum(): a 64-bit hash (XXH3) that detects damage to file contents.
//
// It does not protect against deliberate changes. Thread safety: a pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace elider {

// Different seeds give unrelated checksums. If each file has its own seed, data that was written to
// the wrong file is detected.
uint64_t checksum(std::span<const std::byte> bytes, uint64_t seed);

}  // namespace elider
