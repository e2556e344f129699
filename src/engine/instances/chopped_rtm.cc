// Calls of chopped procedures run as hardware transactions. The indexes below them are guarded by
// optimistic latches, which a region reads as it reads the nodes.
#include "engine/registration.h"
#include "htm/rtm.h"
#include "sync/optimistic.h"
#include "txn/chopping/chopped.h"

ELIDER_USES_POLICY(sync::Optimistic)

namespace elider::detail {
template <class Sync>
using ChoppedRtm = txn::ChoppedProtocol<Sync, htm::Rtm>;
}  // namespace elider::detail

ELIDER_ENGINE(chopped_rtm, combination_of<sync::Optimistic, ChoppedRtm, SyncPolicy::kElided, HtmBackend::kRtm>())
