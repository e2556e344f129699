// checksum: 64 bits that detect changes of file contents (XXH3).
//
// It does not protect from deliberate changes. Thread safety: a pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace elider {

// A different seed gives unrelated checksums, so that data in the wrong file does not pass.
uint64_t checksum(std::span<const std::byte> bytes, uint64_t seed);

}  // namespace elider
