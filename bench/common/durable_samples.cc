#include "bench/common/durable_samples.h"

namespace elider::bench {

void DurableSamples::committed() {
  if (number_ == 0) return;  // no transaction of the group has committed
  {
    std::lock_guard lock(mutex_);
    ++untold_;
  }
  db_.when_durable(number_, [this, begin_ns = begin_ns_](const Status& status) {
    const uint64_t now_ns = steady_ns();
    std::lock_guard lock(mutex_);
    if (status.ok()) latency_ns_.record(now_ns - begin_ns);
    if (--untold_ == 0) all_told_.notify_all();
  });
}

const Histogram& DurableSamples::latency_ns() {
  wait();
  return latency_ns_;
}

void DurableSamples::wait() {
  std::unique_lock lock(mutex_);
  all_told_.wait(lock, [&] { return untold_ == 0; });
}

}  // namespace elider::bench
