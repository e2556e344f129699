// The index templates are instantiated once for each sync policy, in a file that belongs to the
// policy. Other files that use these indexes declare them with ELIDER_INDEXES_OF_POLICY(extern,
// policy).
// Thread safety: this header contains only declarations.
#pragma once

#include <cstdint>

#include "index/art/art.h"
#include "index/btree/btree.h"
#include "index/hash/hash_table.h"

// `linkage` is extern, or empty in the file that instantiates the indexes.
#define ELIDER_INDEXES_OF_POLICY(linkage, policy)                                                     \
  linkage template class elider::index::BTree<elider::policy, uint64_t>;                              \
  linkage template class elider::index::BTree<elider::policy, elider::index::SecondaryKey>;           \
  linkage template class elider::index::BTree<elider::policy, elider::index::ByteKey>;                \
  linkage template class elider::index::HashTable<elider::policy, uint64_t>;                          \
  linkage template class elider::index::HashTable<elider::policy, elider::index::ByteKey>;            \
  linkage template class elider::index::RadixTree<elider::policy, uint64_t>;                          \
  linkage template class elider::index::RadixTree<elider::policy, elider::index::ByteKey>;
