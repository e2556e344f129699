#include "engine/registration.h"
#include "sync/elided.h"
#include "txn/timestamp/timestamp.h"

ELIDER_USES_POLICY(sync::Elided<elider::htm::Emulated>)

ELIDER_ENGINE(timestamp_emulated,
              combination_of<sync::Elided<htm::Emulated>, txn::TimestampClaiming, SyncPolicy::kElided, HtmBackend::kEmulated>())
