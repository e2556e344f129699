// The B+-trees of the elided sync policy with the backend AlwaysAborts.
#include "index/btree/btree_batch.h"
#include "index/btree/btree_find.h"
#include "index/btree/btree_insert.h"
#include "index/btree/btree_remove.h"
#include "index/btree/btree_scan.h"
#include "index/btree/btree_verify.h"
#include "sync/elided.h"

namespace elider::index {

template class BTree<sync::Elided<htm::AlwaysAborts>, uint64_t>;
template class BTree<sync::Elided<htm::AlwaysAborts>, SecondaryKey>;

}  // namespace elider::index
