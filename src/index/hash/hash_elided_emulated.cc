// The hash table of the elided sync policy with the backend Emulated.
#include "index/hash/hash_grow.h"
#include "index/hash/hash_operations.h"
#include "index/hash/hash_read.h"
#include "index/hash/hash_verify.h"
#include "sync/elided.h"

#if defined(ELIDER_EMULATOR)

namespace elider::index {

template class HashTable<sync::Elided<htm::Emulated>>;

}  // namespace elider::index

#endif
