#include "engine/engine_of.h"
#include "engine/registry.h"

namespace elider::detail {

std::unique_ptr<Engine> make_occ_single_threaded(const Options& options) {
  return std::make_unique<EngineOf<sync::SingleThreaded>>(options, SyncPolicy::kSingleThreaded);
}

}  // namespace elider::detail
