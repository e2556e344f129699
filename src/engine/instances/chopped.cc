#include "engine/registration.h"
#include "sync/optimistic.h"
#include "txn/chopping/chopped.h"

ELIDER_USES_POLICY(sync::Optimistic)

namespace elider::detail {
template <class Sync>
using ChoppedOptimistic = txn::ChoppedProtocol<Sync>;
}  // namespace elider::detail

ELIDER_ENGINE(chopped, combination_of<sync::Optimistic, ChoppedOptimistic, SyncPolicy::kOptimistic>())
