// checksum: 64 bits that detect changes of file contents (XXH3).
//
// It does not detect deliberate changes. Thread safety: a pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace elider {

// Different seeds give unrelated checksums, so data that ends up in the wrong file is detected.
uint64_t checksum(std::span<const std::byte> bytes, uint64_t seed);

}  // namespace elider
