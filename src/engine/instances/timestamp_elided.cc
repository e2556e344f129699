// policies: elided_none elided_rtm
#include "engine/engine_of.h"
#include "engine/policies.h"
#include "engine/registry.h"
#include "htm/rtm.h"
#include "sync/elided.h"
#include "txn/timestamp/timestamp.h"

ELIDER_OF_POLICY(extern, sync::Elided<elider::htm::None>)
#if ELIDER_HAVE_RTM
ELIDER_OF_POLICY(extern, sync::Elided<elider::htm::Rtm>)
#endif

namespace elider::detail {

std::unique_ptr<Engine> make_timestamp_elided_none(const Options& options) {
  return std::make_unique<EngineOf<sync::Elided<htm::None>, txn::TimestampClaiming>>(options, SyncPolicy::kElided, HtmBackend::kNone);
}

#if ELIDER_HAVE_RTM
std::unique_ptr<Engine> make_timestamp_elided_rtm(const Options& options) {
  return std::make_unique<EngineOf<sync::Elided<htm::Rtm>, txn::TimestampClaiming>>(options, SyncPolicy::kElided, HtmBackend::kRtm);
}
#endif

}  // namespace elider::detail
