#include "engine/policies.h"
#include "htm/rtm.h"
#include "sync/elided.h"

#if ELIDER_HAVE_RTM
ELIDER_OF_POLICY(, sync::Elided<elider::htm::Rtm>)
#endif
