// policies: elided_emulated
#if defined(ELIDER_EMULATOR)

#include "engine/engine_of.h"
#include "engine/policies.h"
#include "engine/registry.h"
#include "sync/elided.h"
#include "txn/timestamp/timestamp.h"

ELIDER_OF_POLICY(extern, sync::Elided<elider::htm::Emulated>)

namespace elider::detail {

std::unique_ptr<Engine> make_timestamp_elided_emulated(const Options& options) {
  return std::make_unique<EngineOf<sync::Elided<htm::Emulated>, txn::TimestampClaiming>>(options, SyncPolicy::kElided,
                                                                                         HtmBackend::kEmulated);
}

}  // namespace elider::detail

#endif
