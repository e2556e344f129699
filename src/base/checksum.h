// checksum: 64 bits over some bytes, by which a file's reader knows that they
// are what was written (XXH3).
//
// Not a defence against someone who means harm. Thread safety: a pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace elider {

// Another seed gives unrelated checksums: bytes that stand in the wrong
// file do not pass in this one.
uint64_t checksum(std::span<const std::byte> bytes, uint64_t seed);

}  // namespace elider
