// The B+-trees of the single-threaded sync policy.
#include "index/btree/btree_batch.h"
#include "index/btree/btree_find.h"
#include "index/btree/btree_insert.h"
#include "index/btree/btree_remove.h"
#include "index/btree/btree_scan.h"
#include "index/btree/btree_verify.h"
#include "sync/exclusive.h"

namespace elider::index {

template class BTree<sync::SingleThreaded, uint64_t>;
template class BTree<sync::SingleThreaded, SecondaryKey>;

}  // namespace elider::index
