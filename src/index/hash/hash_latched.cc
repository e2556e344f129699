// The hash table of the latched sync policy.
#include "index/hash/hash_grow.h"
#include "index/hash/hash_operations.h"
#include "index/hash/hash_read.h"
#include "index/hash/hash_verify.h"
#include "sync/exclusive.h"

namespace elider::index {

template class HashTable<sync::Latched>;

}  // namespace elider::index
