#include "engine/registration.h"
#include "sync/optimistic.h"
#include "txn/occ/occ.h"

ELIDER_USES_POLICY(sync::Optimistic)

ELIDER_ENGINE(optimistic, combination_of<sync::Optimistic, txn::Occ, SyncPolicy::kOptimistic>())
