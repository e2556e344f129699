// Runs calls of chopped procedures as hardware transactions. Optimistic latches guard the indexes.
// A hardware transaction reads these latches as it reads the index nodes.
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
