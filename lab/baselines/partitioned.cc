#include "engine/registration.h"
#include "lab/baselines/partitioned.h"
#include "sync/optimistic.h"
#include "txn/occ/occ.h"

ELIDER_USES_POLICY(sync::Optimistic)

namespace elider::detail {
template <class Sync>
using PartitionedOcc = txn::Partitioned<txn::Occ<Sync>>;
}  // namespace elider::detail

ELIDER_ENGINE(partitioned, combination_of<sync::Optimistic, PartitionedOcc, SyncPolicy::kOptimistic>())
