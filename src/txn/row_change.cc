#include "txn/row_change.h"

#include <random>

#include "base/checksum.h"

namespace elider::txn {

uint64_t RowChanges::hash_of(elider::Bytes key) {
  static const uint64_t seed = [] {
    std::random_device source;
    return uint64_t{source()} << 32 | source();
  }();
  return checksum(key.span(), seed);
}

}  // namespace elider::txn
