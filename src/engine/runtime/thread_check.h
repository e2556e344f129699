// ThreadCheck: checks whether a thread may begin a transaction. Under a single-threaded policy, a
// thread may not begin one while another thread has an open transaction. The check detects misuse;
// it is not a lock.
//
// Thread safety: all threads may call all functions.
#pragma once

#include <atomic>
#include <cstdint>

namespace elider::detail {

class ThreadCheck {
 public:
  // `one_thread` says whether the policy is single-threaded.
  explicit ThreadCheck(bool one_thread) : one_thread_(one_thread) {}

  // Calls finished() in its destructor, and therefore also after an exception. After keep(), the
  // caller must call finished() itself.
  class Begun {
   public:
    explicit Begun(ThreadCheck& check) : check_(&check) {}
    ~Begun() { if (check_ != nullptr) check_->finished(); }
    Begun(const Begun&) = delete;
    Begun& operator=(const Begun&) = delete;
    void keep() { check_ = nullptr; }

   private:
    ThreadCheck* check_;
  };

  bool may_begin() {
    if (!one_thread_) return true;
    const uint64_t self = reinterpret_cast<uint64_t>(&thread_mark_);
    if (open_.load(std::memory_order_relaxed) != 0 && owner_.load(std::memory_order_relaxed) != self) return false;
    owner_.store(self, std::memory_order_relaxed);
    open_.store(open_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return true;
  }
  void finished() {
    if (one_thread_) open_.store(open_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  }

 private:
  inline static thread_local char thread_mark_ = 0;
  const bool one_thread_;
  std::atomic<uint32_t> open_{0};
  std::atomic<uint64_t> owner_{0};
};

}  // namespace elider::detail
