// Each engine's source file includes this header, and defines the engine with ELIDER_ENGINE(name,
// ...). The source file is listed with the engine's name in src/engine/engines.cmake or
// lab/engines.cmake.
// Thread safety: pure functions.
#pragma once

#include <memory>

#include "engine/engine_of.h"
#include "engine/policies.h"
#include "engine/registry.h"

namespace elider::detail {

// Returns the engine that combines a sync policy and a protocol. kSync and kHtm are the values of
// Options::sync and Options::htm that select the engine.
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
