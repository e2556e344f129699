// The B+-trees of the latched sync policy.
#include "index/btree/btree_batch.h"
#include "index/btree/btree_find.h"
#include "index/btree/btree_insert.h"
#include "index/btree/btree_remove.h"
#include "index/btree/btree_scan.h"
#include "index/btree/btree_verify.h"
#include "sync/exclusive.h"

namespace elider::index {

template class BTree<sync::Latched, uint64_t>;
template class BTree<sync::Latched, SecondaryKey>;

}  // namespace elider::index
