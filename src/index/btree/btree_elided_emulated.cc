// The B+-trees of the elided sync policy with the backend Emulated.
#include "index/btree/btree_batch.h"
#include "index/btree/btree_find.h"
#include "index/btree/btree_insert.h"
#include "index/btree/btree_remove.h"
#include "index/btree/btree_scan.h"
#include "index/btree/btree_verify.h"
#include "sync/elided.h"

#if defined(ELIDER_EMULATOR)

namespace elider::index {

template class BTree<sync::Elided<htm::Emulated>, uint64_t>;
template class BTree<sync::Elided<htm::Emulated>, SecondaryKey>;

}  // namespace elider::index

#endif
