#include "engine/registration.h"
#include "lab/baselines/serial.h"
#include "sync/optimistic.h"
#include "txn/occ/occ.h"

ELIDER_USES_POLICY(sync::Optimistic)

namespace elider::detail {
template <class Sync>
using SerialOcc = txn::Serial<txn::Occ<Sync>>;
}  // namespace elider::detail

ELIDER_ENGINE(serial, combination_of<sync::Optimistic, SerialOcc, SyncPolicy::kOptimistic>())
