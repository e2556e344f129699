#include "engine/registration.h"
#include "sync/elided.h"
#include "txn/occ/occ.h"

ELIDER_USES_POLICY(sync::Elided<elider::htm::AlwaysAborts>)

ELIDER_ENGINE(elided_always_aborts,
              combination_of<sync::Elided<htm::AlwaysAborts>, txn::Occ, SyncPolicy::kElided, HtmBackend::kAlwaysAborts>())
