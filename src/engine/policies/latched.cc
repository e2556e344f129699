#include "engine/policies.h"
#include "sync/exclusive.h"

ELIDER_OF_POLICY(, sync::Latched)
