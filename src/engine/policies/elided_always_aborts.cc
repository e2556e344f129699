#include "engine/policies.h"
#include "sync/elided.h"

ELIDER_OF_POLICY(, sync::Elided<elider::htm::AlwaysAborts>)
