// Which engines this build has (ELIDER_ENGINES), for tests that name one in Options. Builds of the
// set `all` have every engine.
// Thread safety: pure functions.
#pragma once

#include <algorithm>

#include "elider/options.h"
#include "engine/registry.h"

namespace elider::test {

// Whether the engine that the options name was left out of this build.
inline bool left_out(const Options& options) {
  if (detail::chosen_engines() == "all") return false;
  SyncPolicy sync = options.sync;
  HtmBackend htm = options.htm;
  detail::choose_automatic(options.protocol, &sync, &htm);
  return std::none_of(detail::registry().begin(), detail::registry().end(), [&](const detail::Combination& one) {
    return one.sync == sync && one.protocol == options.protocol && (sync != SyncPolicy::kElided || one.htm == htm);
  });
}

// The options, with the default engine in the place of one that was left out.
inline Options with_compiled_engine(Options options) {
  if (!left_out(options)) return options;
  options.sync = SyncPolicy::kAutomatic;
  options.htm = HtmBackend::kAutomatic;
  options.protocol = Protocol::kOcc;
  return options;
}

}  // namespace elider::test
