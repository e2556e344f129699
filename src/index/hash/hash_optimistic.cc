// Instantiates the hash table for the optimistic sync policy.
#include "index/hash/hash_grow.h"
#include "index/hash/hash_operations.h"
#include "index/hash/hash_read.h"
#include "index/hash/hash_verify.h"
#include "sync/optimistic.h"

namespace elider::index {

template class HashTable<sync::Optimistic, Key>;
template class HashTable<sync::Optimistic, ByteKey>;

}  // namespace elider::index
