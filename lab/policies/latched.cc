#include "engine/policies.h"
#include "lab/policies/exclusive.h"

ELIDER_COMPILES_POLICY(sync::Latched)
