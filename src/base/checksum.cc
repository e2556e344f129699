#include "base/checksum.h"

// gcc 12 mistakes the undefined source operand of its own AVX-512 shuffles for an uninitialized
// variable (bug 105593).
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#define XXH_INLINE_ALL  // use the library as header-only
#include <xxhash.h>

namespace elider {

uint64_t checksum(std::span<const std::byte> bytes, uint64_t seed) { return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed); }

}  // namespace elider
