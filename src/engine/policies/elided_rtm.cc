#include "engine/policies.h"
#include "sync/elided.h"

ELIDER_COMPILES_POLICY(sync::Elided<elider::htm::Rtm>)
