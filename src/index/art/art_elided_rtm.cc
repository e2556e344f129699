// Instantiates the radix trees for the elided sync policy with the backend Rtm.
#include "index/art/art_batch.h"
#include "index/art/art_find.h"
#include "index/art/art_insert.h"
#include "index/art/art_remove.h"
#include "index/art/art_scan.h"
#include "index/art/art_verify.h"
#include "sync/elided.h"

#if ELIDER_HAVE_RTM

namespace elider::index {

template class RadixTree<sync::Elided<htm::Rtm>, uint64_t>;
template class RadixTree<sync::Elided<htm::Rtm>, ByteKey>;

}  // namespace elider::index

#endif
