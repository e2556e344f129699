#include "engine/engine_of.h"
#include "engine/registry.h"
#include "sync/elided.h"

#if ELIDER_HAVE_RTM

namespace elider::detail {

std::unique_ptr<Engine> make_occ_elided_rtm(const Options& options) {
  return std::make_unique<EngineOf<sync::Elided<htm::Rtm>>>(options, SyncPolicy::kElided, HtmBackend::kRtm);
}

}  // namespace elider::detail

#endif
