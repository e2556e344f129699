// Instantiates the hash table for the elided sync policy with the backend Rtm.
#include "index/hash/hash_grow.h"
#include "index/hash/hash_operations.h"
#include "index/hash/hash_read.h"
#include "index/hash/hash_verify.h"
#include "sync/elided.h"

#if ELIDER_HAVE_RTM

namespace elider::index {

template class HashTable<sync::Elided<htm::Rtm>, Key>;
template class HashTable<sync::Elided<htm::Rtm>, ByteKey>;

}  // namespace elider::index

#endif
