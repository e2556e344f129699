// The date of a transaction, in seconds since 1970. Seconds are the resolution that the
// specification requires (clause 1.3.1). The date comes from the system's coarse clock, which costs
// a quarter of the exact one.
// Thread safety: pure reads.
#pragma once

#include <cstdint>
#include <ctime>

namespace elider::bench::tpcc {

inline int64_t now_seconds() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME_COARSE, &time);
  return time.tv_sec;
}

}  // namespace elider::bench::tpcc
