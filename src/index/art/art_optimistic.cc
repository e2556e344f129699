// Instantiates the radix trees for the optimistic sync policy.
#include "index/art/art_batch.h"
#include "index/art/art_find.h"
#include "index/art/art_insert.h"
#include "index/art/art_remove.h"
#include "index/art/art_scan.h"
#include "index/art/art_verify.h"
#include "sync/optimistic.h"

namespace elider::index {

template class RadixTree<sync::Optimistic, uint64_t>;
template class RadixTree<sync::Optimistic, ByteKey>;

}  // namespace elider::index
