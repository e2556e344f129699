#include "base/checksum.h"

#define XXH_INLINE_ALL  // the header's own code: nothing to link
#include <xxhash.h>

namespace elider {

uint64_t checksum(std::span<const std::byte> bytes, uint64_t seed) { return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed); }

}  // namespace elider
