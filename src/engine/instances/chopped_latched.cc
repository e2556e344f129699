// policies: latched
#include "engine/engine_of.h"
#include "engine/policies.h"
#include "engine/registry.h"
#include "txn/chopping/chopped.h"

ELIDER_OF_POLICY(extern, sync::Latched)

namespace elider::detail {

template <class Sync>
using ChoppedLatched = txn::ChoppedProtocol<Sync>;

std::unique_ptr<Engine> make_chopped_latched(const Options& options) {
  return std::make_unique<EngineOf<sync::Latched, ChoppedLatched>>(options, SyncPolicy::kLatched);
}

}  // namespace elider::detail
