// leave_regions_at_test_points(): makes a thread that reaches a watched test point in a region
// abort the region with kTestPointCode. The thread then reaches the point again under its lock,
// where a test can stop it, which is impossible in a region. The function does nothing in builds
// without test points. Thread safety: all threads may call it. The last call determines the
// backend, because a process runs the regions of only one backend.
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
    // If a user forced RTM on a processor without it, XTEST may be missing, and regions never
    // begin.
    if (std::is_base_of_v<Rtm, B> && !detect().usable) return;
#endif
    TestPoints::set_region_exit([] {
      if (B::active()) B::template abort<kTestPointCode>();
    });
  }
}

}  // namespace elider::htm
