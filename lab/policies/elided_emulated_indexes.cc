#include "index/all_operations.h"
#include "sync/elided.h"

ELIDER_INDEXES_OF_POLICY(, sync::Elided<elider::htm::Emulated>)
