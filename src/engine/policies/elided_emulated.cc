#if defined(ELIDER_EMULATOR)
#include "engine/policies.h"
#include "htm/emulated.h"
#include "sync/elided.h"

ELIDER_OF_POLICY(, sync::Elided<elider::htm::Emulated>)
#endif
