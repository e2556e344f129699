#include "engine/registration.h"
#include "htm/backend.h"
#include "sync/optimistic.h"
#include "txn/chopping/chopped.h"

ELIDER_USES_POLICY(sync::Optimistic)

namespace elider::detail {
template <class Sync>
using ChoppedAlwaysAborts = txn::ChoppedProtocol<Sync, htm::AlwaysAborts>;
}  // namespace elider::detail

ELIDER_ENGINE(chopped_always_aborts,
              combination_of<sync::Optimistic, ChoppedAlwaysAborts, SyncPolicy::kElided, HtmBackend::kAlwaysAborts>())
