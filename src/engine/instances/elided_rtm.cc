#include "engine/registration.h"
#include "sync/elided.h"
#include "txn/occ/occ.h"

ELIDER_USES_POLICY(sync::Elided<elider::htm::Rtm>)

ELIDER_ENGINE(elided_rtm, combination_of<sync::Elided<htm::Rtm>, txn::Occ, SyncPolicy::kElided, HtmBackend::kRtm>())
