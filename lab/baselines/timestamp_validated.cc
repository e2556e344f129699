#include "engine/registration.h"
#include "sync/optimistic.h"
#include "txn/timestamp/timestamp.h"

ELIDER_USES_POLICY(sync::Optimistic)

ELIDER_ENGINE(timestamp_validated, combination_of<sync::Optimistic, txn::TimestampValidated, SyncPolicy::kOptimistic>())
