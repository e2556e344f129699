// leave_regions_at_test_points(): a thread that reaches a watched test point in a region aborts the
// region with kTestPointCode, and reaches the point again under its lock. A test can stop it there,
// which is impossible in a region. The function does nothing in builds without test points. Thread
// safety: all threads may call it. The last backend counts; a process runs regions of only one.
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
    // If XBEGIN was forced, XTEST may be missing; then no region gets this far.
    if (std::is_base_of_v<Rtm, B> && !detect().usable) return;
#endif
    TestPoints::set_region_exit([] {
      if (B::active()) B::template abort<kTestPointCode>();
    });
  }
}

}  // namespace elider::htm
