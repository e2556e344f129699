#include "engine/policies.h"
#include "sync/optimistic.h"

ELIDER_OF_POLICY(, sync::Optimistic)
