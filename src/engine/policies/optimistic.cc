#include "engine/policies.h"
#include "sync/optimistic.h"

ELIDER_COMPILES_POLICY(sync::Optimistic)
