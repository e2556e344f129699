#include "engine/registration.h"
#include "htm/emulated.h"
#include "sync/optimistic.h"
#include "txn/chopping/chopped.h"

ELIDER_USES_POLICY(sync::Optimistic)

namespace elider::detail {
template <class Sync>
using ChoppedEmulated = txn::ChoppedProtocol<Sync, htm::Emulated>;
}  // namespace elider::detail

ELIDER_ENGINE(chopped_emulated, combination_of<sync::Optimistic, ChoppedEmulated, SyncPolicy::kElided, HtmBackend::kEmulated>())
