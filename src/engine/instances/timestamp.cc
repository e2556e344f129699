// policies: optimistic latched
#include "engine/engine_of.h"
#include "engine/policies.h"
#include "engine/registry.h"
#include "txn/timestamp/timestamp.h"

ELIDER_OF_POLICY(extern, sync::Optimistic)
ELIDER_OF_POLICY(extern, sync::Latched)

namespace elider::detail {

std::unique_ptr<Engine> make_timestamp_optimistic(const Options& options) {
  if (options.protocol == Protocol::kTimestampValidated)
    return std::make_unique<EngineOf<sync::Optimistic, txn::TimestampValidated>>(options, SyncPolicy::kOptimistic);
  return std::make_unique<EngineOf<sync::Optimistic, txn::TimestampClaiming>>(options, SyncPolicy::kOptimistic);
}

std::unique_ptr<Engine> make_timestamp_latched(const Options& options) {
  return std::make_unique<EngineOf<sync::Latched, txn::TimestampClaiming>>(options, SyncPolicy::kLatched);
}

}  // namespace elider::detail
