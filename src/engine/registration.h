// The source file of an engine includes this header. It is listed with the name of the engine in
// src/engine/engines.cmake or lab/engines.cmake, and defines the engine with ELIDER_ENGINE(name,
// ...).
// Thread safety: pure functions.
#pragma once

#include <memory>

#include "engine/engine_of.h"
#include "engine/policies.h"
#include "engine/registry.h"

namespace elider::detail {

// Returns the engine of a sync policy and a protocol. kSync and kHtm are the values of Options that
// select this engine.
template <class Sync, template <class> class ProtocolOf, SyncPolicy kSync, HtmBackend kHtm = HtmBackend::kNone>
constexpr Combination combination_of() {
  return {kSync, kHtm, ProtocolOf<Sync>::kName, [](const Options& options) -> std::unique_ptr<Engine> {
            return std::make_unique<EngineOf<Sync, ProtocolOf>>(options, kSync, kHtm);
          }};
}

}  // namespace elider::detail

// Defines the engine `name`. The other arguments are one or more results of combination_of().
#define ELIDER_ENGINE(name, ...)                                  \
  namespace elider::detail {                                      \
  std::span<const Combination> engine_##name() {                  \
    static constexpr Combination kCombinations[] = {__VA_ARGS__}; \
    return kCombinations;                                         \
  }                                                               \
  }
