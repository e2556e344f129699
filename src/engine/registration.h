// Registration: the file of an engine includes this to declare its engines. The file is named in
// src/engine/engines.cmake or lab/engines.cmake, and defines ELIDER_ENGINE(name, ...) with the name
// given there.
// Thread safety: pure functions.
#pragma once

#include <memory>

#include "engine/engine_of.h"
#include "engine/policies.h"
#include "engine/registry.h"

namespace elider::detail {

// The engine of a sync policy and a protocol. The enumerators are the names by which Options choose
// it.
template <class Sync, template <class> class ProtocolOf, SyncPolicy kSync, HtmBackend kHtm = HtmBackend::kNone>
constexpr Combination combination_of() {
  return {kSync, kHtm, ProtocolOf<Sync>::kName, [](const Options& options) -> std::unique_ptr<Engine> {
            return std::make_unique<EngineOf<Sync, ProtocolOf>>(options, kSync, kHtm);
          }};
}

}  // namespace elider::detail

// Defines the engine `name`: one or several combination_of().
#define ELIDER_ENGINE(name, ...)                                  \
  namespace elider::detail {                                      \
  std::span<const Combination> engine_##name() {                  \
    static constexpr Combination kCombinations[] = {__VA_ARGS__}; \
    return kCombinations;                                         \
  }                                                               \
  }
