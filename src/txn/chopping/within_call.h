// WithinCall: the databases in which this thread is currently running a call to a chopped
// procedure. Within such a call, the thread must not begin another transaction in the same
// database, because that transaction's commit or snapshot would wait for the call. Thread safety:
// per thread.
#pragma once

#include <cstdint>

namespace elider::txn {

class WithinCall {
 public:
  explicit WithinCall(uint64_t database) : database_(database), outer_(innermost_) { innermost_ = this; }
  ~WithinCall() { innermost_ = outer_; }
  WithinCall(const WithinCall&) = delete;
  WithinCall& operator=(const WithinCall&) = delete;

  static bool of(uint64_t database) {
    for (const WithinCall* call = innermost_; call != nullptr; call = call->outer_)
      if (call->database_ == database) return true;
    return false;
  }

 private:
  const uint64_t database_;
  const WithinCall* const outer_;
  inline static constinit thread_local const WithinCall* innermost_ = nullptr;
};

}  // namespace elider::txn
