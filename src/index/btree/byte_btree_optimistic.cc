// Instantiates the B+-tree of byte keys for the optimistic sync policy.
#include "index/btree/btree_batch.h"
#include "index/btree/btree_find.h"
#include "index/btree/btree_insert.h"
#include "index/btree/btree_remove.h"
#include "index/btree/btree_scan.h"
#include "index/btree/btree_verify.h"
#include "sync/optimistic.h"

namespace elider::index {

template class BTree<sync::Optimistic, ByteKey>;

}  // namespace elider::index
