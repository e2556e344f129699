#include "engine/registration.h"
#include "sync/elided.h"
#include "txn/occ/occ.h"

ELIDER_USES_POLICY(sync::Elided<elider::htm::None>)

ELIDER_ENGINE(elided_none, combination_of<sync::Elided<htm::None>, txn::Occ, SyncPolicy::kElided>())
