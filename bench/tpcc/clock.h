// The date of a transaction, in seconds since 1970. Seconds are the resolution that the
// specification requires (clause 1.3.1). The system's coarse clock is precise enough, and reading
// it takes a quarter of the time of the exact clock.
// Thread safety: all threads may call now_seconds().
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
