#include "engine/engine_of.h"
#include "engine/registry.h"
#include "sync/elided.h"

namespace elider::detail {

std::unique_ptr<Engine> make_occ_elided_none(const Options& options) {
  return std::make_unique<EngineOf<sync::Elided<htm::None>>>(options, SyncPolicy::kElided, HtmBackend::kNone);
}

}  // namespace elider::detail
