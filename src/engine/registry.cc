#include "engine/engine.h"

namespace elider::detail {

std::span<const Combination> registry() {
  static constexpr Combination kCombinations[] = {
      {SyncPolicy::kOptimistic, Protocol::kOcc, make_occ_optimistic},
      {SyncPolicy::kLatched, Protocol::kOcc, make_occ_latched},
      {SyncPolicy::kSingleThreaded, Protocol::kOcc, make_occ_single_threaded},
  };
  return kCombinations;
}

}  // namespace elider::detail
