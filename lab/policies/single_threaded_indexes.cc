#include "index/all_operations.h"
#include "lab/policies/exclusive.h"

ELIDER_INDEXES_OF_POLICY(, sync::SingleThreaded)
