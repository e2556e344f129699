#include "log/durable.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

namespace elider::log {

// Each waiter waits on its own atomic word, so that a group that becomes durable does not wake the
// waiters for later groups.
Status Durable::wait(SnapshotNumber number) {
  // thread_local, because the notifying thread may still use the word's address after the wait has
  // ended.
  thread_local std::atomic<uint32_t> told{0};
  told.store(0, std::memory_order_relaxed);  // relaxed: no other thread has the address yet
  Status result;
  std::atomic<uint32_t>& mine = told;
  try {
    when(number, [&result, &mine](const Status& status) {
      result = status;
      mine.store(1, std::memory_order_release);
      mine.notify_one();
    });
  } catch (const std::bad_alloc&) {  // memory for the waiter is exhausted, so the loop below polls
    while (this->number() < number && !failed()) std::this_thread::sleep_for(std::chrono::microseconds(100));
    return this->number() >= number ? Status() : failure();
  }
  mine.wait(0, std::memory_order_acquire);
  return result;
}

void Durable::when(SnapshotNumber number, Told told) {
  if (in_child()) return told(failure());
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

// Notifies the waiters one by one, because collecting them in a list would require memory.
void Durable::tell(SnapshotNumber number, const Status& status) {
  for (;;) {
    Waiter due;
    {
      std::lock_guard lock(mutex_);
      if (waiters_.empty() || waiters_.front().number > number) return;
      std::pop_heap(waiters_.begin(), waiters_.end(), later);
      due = std::move(waiters_.back());
      waiters_.pop_back();
    }
    due.told(status);
  }
}

void Durable::raise(SnapshotNumber number) {
  {
    std::lock_guard lock(mutex_);
    if (number <= number_.load(std::memory_order_relaxed)) return;  // relaxed: stored under mutex_
    number_.store(number, std::memory_order_release);
  }
  tell(number, Status());
}

void Durable::fail(const Status& status) {
  {
    std::lock_guard lock(mutex_);
    if (!failure_.ok()) return;
    failure_ = status;
    works_in_.store(0, std::memory_order_release);
  }
  tell(~uint64_t{0}, status);
}

}  // namespace elider::log
