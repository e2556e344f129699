#include "engine/engine_of.h"
#include "engine/registry.h"

namespace elider::detail {

std::unique_ptr<Engine> make_optimistic(const Options& options) {
  return std::make_unique<EngineOf<sync::Optimistic, txn::Occ>>(options, SyncPolicy::kOptimistic);
}

}  // namespace elider::detail
