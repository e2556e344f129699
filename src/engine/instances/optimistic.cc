#include "engine/engine_of.h"
#include "engine/policies.h"
#include "engine/registry.h"
#include "txn/baseline/partitioned.h"
#include "txn/baseline/serial.h"
#include "txn/occ/occ.h"

ELIDER_OF_POLICY(extern, sync::Optimistic)

namespace elider::detail {

template <class Sync>
using SerialOcc = txn::Serial<txn::Occ<Sync>>;
template <class Sync>
using PartitionedOcc = txn::Partitioned<txn::Occ<Sync>>;

std::unique_ptr<Engine> make_optimistic(const Options& options) {
  if (options.protocol == Protocol::kSerial)
    return std::make_unique<EngineOf<sync::Optimistic, SerialOcc>>(options, SyncPolicy::kOptimistic);
  if (options.protocol == Protocol::kPartitioned)
    return std::make_unique<EngineOf<sync::Optimistic, PartitionedOcc>>(options, SyncPolicy::kOptimistic);
  return std::make_unique<EngineOf<sync::Optimistic, txn::Occ>>(options, SyncPolicy::kOptimistic);
}

}  // namespace elider::detail
