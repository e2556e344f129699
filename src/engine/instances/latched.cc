#include "engine/engine_of.h"
#include "engine/policies.h"
#include "engine/registry.h"
#include "txn/occ/occ.h"

ELIDER_OF_POLICY(extern, sync::Latched)

namespace elider::detail {

std::unique_ptr<Engine> make_latched(const Options& options) {
  return std::make_unique<EngineOf<sync::Latched, txn::Occ>>(options, SyncPolicy::kLatched);
}

}  // namespace elider::detail
