#include "engine/elided_engine.h"
#include "engine/policies.h"
#include "engine/registry.h"

#if ELIDER_HAVE_RTM

ELIDER_OF_POLICY(extern, sync::Elided<elider::htm::Rtm>)

namespace elider::detail {

std::unique_ptr<Engine> make_elided_rtm(const Options& options) {
  return make_elided<htm::Rtm>(options, HtmBackend::kRtm);
}

}  // namespace elider::detail

#endif
