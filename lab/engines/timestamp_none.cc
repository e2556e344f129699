#include "engine/registration.h"
#include "sync/elided.h"
#include "txn/timestamp/timestamp.h"

ELIDER_USES_POLICY(sync::Elided<elider::htm::None>)

ELIDER_ENGINE(timestamp_none, combination_of<sync::Elided<htm::None>, txn::TimestampClaiming, SyncPolicy::kElided>())
