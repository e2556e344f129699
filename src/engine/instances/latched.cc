#include "engine/engine_of.h"
#include "engine/registry.h"

namespace elider::detail {

std::unique_ptr<Engine> make_latched(const Options& options) {
  return std::make_unique<EngineOf<sync::Latched, txn::Occ>>(options, SyncPolicy::kLatched);
}

}  // namespace elider::detail
