#include "engine/registration.h"
#include "lab/policies/exclusive.h"
#include "txn/chopping/chopped.h"

ELIDER_USES_POLICY(sync::Latched)

namespace elider::detail {
template <class Sync>
using ChoppedLatched = txn::ChoppedProtocol<Sync>;
}  // namespace elider::detail

ELIDER_ENGINE(chopped_latched, combination_of<sync::Latched, ChoppedLatched, SyncPolicy::kLatched>())
