#include "log/durable.h"

#include <algorithm>
#include <utility>

namespace elider::log {

Status Durable::wait(uint64_t number) {
  std::unique_lock lock(mutex_);
  const auto is_durable = [&] { return number_.load(std::memory_order_relaxed) >= number; };  // relaxed: stored under mutex_
  changed_.wait(lock, [&] { return is_durable() || !failure_.ok(); });
  return is_durable() ? Status() : failure_;
}

void Durable::when(uint64_t number, Told told) {
  Status status;
  {
    std::lock_guard lock(mutex_);
    if (number_.load(std::memory_order_relaxed) < number) {  // relaxed: stored under mutex_
      if (failure_.ok()) {
        waiters_.push_back({number, std::move(told)});
        std::push_heap(waiters_.begin(), waiters_.end(), later);
        return;
      }
      status = failure_;
    }
  }
  told(status);
}

void Durable::take_due(uint64_t number, std::vector<Waiter>* due) {
  while (!waiters_.empty() && waiters_.front().number <= number) {
    std::pop_heap(waiters_.begin(), waiters_.end(), later);
    due->push_back(std::move(waiters_.back()));
    waiters_.pop_back();
  }
}

void Durable::raise(uint64_t number) {
  std::vector<Waiter> due;
  {
    std::lock_guard lock(mutex_);
    if (number <= number_.load(std::memory_order_relaxed)) return;  // relaxed: stored under mutex_
    number_.store(number, std::memory_order_release);
    take_due(number, &due);
  }
  changed_.notify_all();
  for (const Waiter& waiter : due) waiter.told(Status());
}

void Durable::fail(const Status& status) {
  std::vector<Waiter> due;
  {
    std::lock_guard lock(mutex_);
    if (!failure_.ok()) return;
    failure_ = status;
    failed_.store(true, std::memory_order_release);
    take_due(~uint64_t{0}, &due);
  }
  changed_.notify_all();
  for (const Waiter& waiter : due) waiter.told(status);
}

}  // namespace elider::log
