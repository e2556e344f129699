// The radix trees of the elided sync policy with the backend AlwaysAborts.
#include "index/art/art_batch.h"
#include "index/art/art_find.h"
#include "index/art/art_insert.h"
#include "index/art/art_remove.h"
#include "index/art/art_scan.h"
#include "index/art/art_verify.h"
#include "sync/elided.h"

namespace elider::index {

template class RadixTree<sync::Elided<htm::AlwaysAborts>, uint64_t>;
template class RadixTree<sync::Elided<htm::AlwaysAborts>, ByteKey>;

}  // namespace elider::index
