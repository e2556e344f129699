#include "txn/chopping/chopped.h"
#include "engine/engine_of.h"
#include "engine/policies.h"
#include "engine/registry.h"

ELIDER_OF_POLICY(extern, sync::Optimistic)

namespace elider::detail {

template <class Sync>
using ChoppedOptimistic = txn::ChoppedProtocol<Sync>;

std::unique_ptr<Engine> make_chopped(const Options& options) {
  return std::make_unique<EngineOf<sync::Optimistic, ChoppedOptimistic>>(options, SyncPolicy::kOptimistic);
}

}  // namespace elider::detail
