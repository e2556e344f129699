// The hash table of the elided sync policy with the backend None, which takes the locks.
#include "index/hash/hash_grow.h"
#include "index/hash/hash_operations.h"
#include "index/hash/hash_read.h"
#include "index/hash/hash_verify.h"
#include "sync/elided.h"

namespace elider::index {

template class HashTable<sync::Elided<htm::None>>;

}  // namespace elider::index
