// DurableSamples: of one thread's transactions, how long every n-th takes from its begin until its
// commit is on the disk. The thread goes on meanwhile: the database tells when
// (Database::when_durable), and hurries, as it does for all who ask.
// Thread safety: one thread takes samples; once it has ended, another may read them. The log's
// threads record them meanwhile.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "bench/common/histogram.h"
#include "bench/common/ticks.h"
#include "elider/database.h"

namespace elider::bench {

class DurableSamples {
 public:
  // 0: no transaction is a sample.
  DurableSamples(Database& db, uint32_t every) : db_(db), every_(every) {}
  ~DurableSamples() { wait(); }
  DurableSamples(const DurableSamples&) = delete;
  DurableSamples& operator=(const DurableSamples&) = delete;

  // Until this call, no transaction is a sample.
  void begin_measuring() { measures_ = every_ != 0; }
  // Called at the begin of each transaction. Returns the value for RunPolicy::commit_number; null
  // if the transaction is not a sample.
  SnapshotNumber* begin() {
    if (!measures_ || ++since_ < every_) [[likely]]
      return nullptr;
    since_ = 0;
    number_ = 0;
    begin_ns_ = steady_ns();
    return &number_;
  }
  // The sample has committed. One that has not is left out.
  void committed();

  // Waits until every sample is durable, or the log has failed, and returns the latencies of all
  // samples.
  const Histogram& latency_ns();

 private:
  void wait();

  Database& db_;
  const uint32_t every_;
  // Used only by the thread that takes samples.
  bool measures_ = false;
  uint32_t since_ = 0;
  SnapshotNumber number_ = 0;
  uint64_t begin_ns_ = 0;

  std::mutex mutex_;  // guards what follows; nothing is called under it
  std::condition_variable all_told_;
  uint64_t untold_ = 0;
  Histogram latency_ns_;
};

}  // namespace elider::bench
