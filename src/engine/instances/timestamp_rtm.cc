#include "engine/registration.h"
#include "sync/elided.h"
#include "txn/timestamp/timestamp.h"

ELIDER_USES_POLICY(sync::Elided<elider::htm::Rtm>)

ELIDER_ENGINE(timestamp_rtm, combination_of<sync::Elided<htm::Rtm>, txn::TimestampClaiming, SyncPolicy::kElided, HtmBackend::kRtm>())
