#include "engine/registration.h"
#include "lab/baselines/two_phase_locking.h"
#include "sync/optimistic.h"

ELIDER_USES_POLICY(sync::Optimistic)

ELIDER_ENGINE(two_phase_locking, combination_of<sync::Optimistic, txn::TwoPhaseLocking, SyncPolicy::kOptimistic>())
