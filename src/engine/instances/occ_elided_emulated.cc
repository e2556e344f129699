#if defined(ELIDER_EMULATOR)

#include "engine/engine_of.h"
#include "engine/registry.h"
#include "sync/elided.h"

namespace elider::detail {

std::unique_ptr<Engine> make_occ_elided_emulated(const Options& options) {
  return std::make_unique<EngineOf<sync::Elided<htm::Emulated>>>(options, SyncPolicy::kElided, HtmBackend::kEmulated);
}

}  // namespace elider::detail

#endif
