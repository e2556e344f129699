#include "engine/registration.h"
#include "lab/policies/exclusive.h"
#include "txn/timestamp/timestamp.h"

ELIDER_USES_POLICY(sync::Latched)

ELIDER_ENGINE(timestamp_latched, combination_of<sync::Latched, txn::TimestampClaiming, SyncPolicy::kLatched>())
