// leave_regions_at_test_points(): a thread that reaches a watched test point within a region ends
// the region there with kTestPointCode, and meets the point again under its lock: a test may hold
// it there, which in a region it could not. In builds without test points it does nothing.
// Thread safety: all; the last backend counts, and a process runs the regions of one.
#pragma once

#include <type_traits>

#include "base/test_points.h"
#include "htm/backend.h"
#include "htm/detect.h"
#include "htm/rtm.h"

namespace elider::htm {

inline constexpr uint8_t kTestPointCode = 0xFE;

template <Backend B>
void leave_regions_at_test_points() {
  if constexpr (TestPoints::enabled() && B::kRunsRegions && !std::is_base_of_v<AlwaysAborts, B>) {
#if ELIDER_HAVE_RTM
    // XTEST may be missing where XBEGIN was forced; no region goes so far there.
    if (std::is_base_of_v<Rtm, B> && !detect().usable) return;
#endif
    TestPoints::set_region_exit([] {
      if (B::active()) B::template abort<kTestPointCode>();
    });
  }
}

}  // namespace elider::htm
