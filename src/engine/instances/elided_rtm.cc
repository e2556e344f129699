#include "engine/elided_engine.h"
#include "engine/registry.h"

#if ELIDER_HAVE_RTM

namespace elider::detail {

std::unique_ptr<Engine> make_elided_rtm(const Options& options) {
  return make_elided<htm::Rtm>(options, HtmBackend::kRtm);
}

}  // namespace elider::detail

#endif
