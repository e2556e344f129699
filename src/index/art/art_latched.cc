// The radix trees of the latched sync policy.
#include "index/art/art_batch.h"
#include "index/art/art_find.h"
#include "index/art/art_insert.h"
#include "index/art/art_remove.h"
#include "index/art/art_scan.h"
#include "index/art/art_verify.h"
#include "sync/exclusive.h"

namespace elider::index {

template class RadixTree<sync::Latched, uint64_t>;
template class RadixTree<sync::Latched, ByteKey>;

}  // namespace elider::index
