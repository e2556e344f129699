// Instantiates the B+-tree of byte keys for the elided sync policy with the backend Rtm.
#include "index/btree/btree_batch.h"
#include "index/btree/btree_find.h"
#include "index/btree/btree_insert.h"
#include "index/btree/btree_remove.h"
#include "index/btree/btree_scan.h"
#include "index/btree/btree_verify.h"
#include "sync/elided.h"

#if ELIDER_HAVE_RTM

namespace elider::index {

template class BTree<sync::Elided<htm::Rtm>, ByteKey>;

}  // namespace elider::index

#endif
