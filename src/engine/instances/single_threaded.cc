#include "engine/engine_of.h"
#include "engine/policies.h"
#include "engine/registry.h"
#include "txn/occ/occ.h"

ELIDER_OF_POLICY(extern, sync::SingleThreaded)

namespace elider::detail {

std::unique_ptr<Engine> make_single_threaded(const Options& options) {
  return std::make_unique<EngineOf<sync::SingleThreaded, txn::Occ>>(options, SyncPolicy::kSingleThreaded);
}

}  // namespace elider::detail
