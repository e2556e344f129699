#include "engine/engine_of.h"
#include "engine/registry.h"
#include "sync/elided.h"

namespace elider::detail {

std::unique_ptr<Engine> make_occ_elided_always_aborts(const Options& options) {
  return std::make_unique<EngineOf<sync::Elided<htm::AlwaysAborts>>>(options, SyncPolicy::kElided, HtmBackend::kAlwaysAborts);
}

}  // namespace elider::detail
