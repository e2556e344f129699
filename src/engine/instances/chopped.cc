#include "engine/engine_of.h"
#include "engine/registry.h"
#include "txn/chopping/chopped.h"

namespace elider::detail {

std::unique_ptr<Engine> make_chopped(const Options& options) {
  return std::make_unique<EngineOf<sync::Optimistic, txn::ChoppedProtocol>>(options, SyncPolicy::kOptimistic);
}

}  // namespace elider::detail
