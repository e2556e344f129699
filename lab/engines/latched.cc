#include "engine/registration.h"
#include "lab/policies/exclusive.h"
#include "txn/occ/occ.h"

ELIDER_USES_POLICY(sync::Latched)

ELIDER_ENGINE(latched, combination_of<sync::Latched, txn::Occ, SyncPolicy::kLatched>())
