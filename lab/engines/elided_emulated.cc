#include "engine/registration.h"
#include "sync/elided.h"
#include "txn/occ/occ.h"

ELIDER_USES_POLICY(sync::Elided<elider::htm::Emulated>)

ELIDER_ENGINE(elided_emulated, combination_of<sync::Elided<htm::Emulated>, txn::Occ, SyncPolicy::kElided, HtmBackend::kEmulated>())
