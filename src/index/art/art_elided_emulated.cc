// The radix trees of the elided sync policy with the backend Emulated.
#include "index/art/art_batch.h"
#include "index/art/art_find.h"
#include "index/art/art_insert.h"
#include "index/art/art_remove.h"
#include "index/art/art_scan.h"
#include "index/art/art_verify.h"
#include "sync/elided.h"

#if defined(ELIDER_EMULATOR)

namespace elider::index {

template class RadixTree<sync::Elided<htm::Emulated>, uint64_t>;
template class RadixTree<sync::Elided<htm::Emulated>, ByteKey>;

}  // namespace elider::index

#endif
