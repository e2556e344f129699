#include "engine/engine_of.h"
#include "engine/policies.h"
#include "engine/registry.h"
#include "htm/rtm.h"
#include "txn/chopping/chopped.h"

#if ELIDER_HAVE_RTM

ELIDER_OF_POLICY(extern, sync::Optimistic)

// Calls of chopped procedures run as hardware transactions; the indexes below them are guarded by
// optimistic latches, which a region reads as it does the nodes.
namespace elider::detail {

template <class Sync>
using ChoppedRtm = txn::ChoppedProtocol<Sync, htm::Rtm>;

std::unique_ptr<Engine> make_chopped_rtm(const Options& options) {
  return std::make_unique<EngineOf<sync::Optimistic, ChoppedRtm>>(options, SyncPolicy::kElided, HtmBackend::kRtm);
}

}  // namespace elider::detail

#endif
