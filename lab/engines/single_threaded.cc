#include "engine/registration.h"
#include "lab/policies/exclusive.h"
#include "txn/occ/occ.h"

ELIDER_USES_POLICY(sync::SingleThreaded)

ELIDER_ENGINE(single_threaded, combination_of<sync::SingleThreaded, txn::Occ, SyncPolicy::kSingleThreaded>())
