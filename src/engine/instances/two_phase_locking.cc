#include "engine/engine_of.h"
#include "engine/policies.h"
#include "engine/registry.h"
#include "txn/baseline/two_phase_locking.h"

ELIDER_OF_POLICY(extern, sync::Optimistic)

namespace elider::detail {

std::unique_ptr<Engine> make_two_phase_locking(const Options& options) {
  return std::make_unique<EngineOf<sync::Optimistic, txn::TwoPhaseLocking>>(options, SyncPolicy::kOptimistic);
}

}  // namespace elider::detail
