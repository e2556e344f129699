#include "txn/row_change.h"

#include <cstring>
#include <new>

#include "base/checksum.h"
#include "base/random_seed.h"

namespace elider::txn {

uint64_t RowChanges::hash_of(elider::Bytes key) {
  static const uint64_t seed = random_seed();
  return checksum(key.span(), seed);
}

void RowChanges::put_key(const LogEntry& entry, uint64_t* to) {
  auto* key = new (to) detail::KeyBytes{entry.key_size};
  if (entry.key_size != 0) std::memcpy(key->data(), entry.key_memory, entry.key_size);
}

}  // namespace elider::txn
