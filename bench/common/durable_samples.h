// DurableSamples measures, for every n-th transaction of one thread, the time from its start until
// its commit is on disk. The thread does not wait for the disk: the database calls back when the
// commit is durable (Database::when_durable). As for any caller of when_durable(), the log is
// flushed sooner than it would be otherwise.
// Thread safety: one thread takes samples; once it has ended, another may read the results. The
// log's threads record latencies concurrently.
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
  // Called at the start of each transaction. Returns the value for RunPolicy::commit_number, or
  // null if the transaction is not a sample.
  SnapshotNumber* begin() {
    if (!measures_ || ++since_ < every_) [[likely]]
      return nullptr;
    since_ = 0;
    number_ = 0;
    begin_ns_ = steady_ns();
    return &number_;
  }
  // Called after the sample has committed. A sample that did not commit is not counted.
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

  std::mutex mutex_;  // guards what follows; no other function is called while it is held
  std::condition_variable all_told_;
  uint64_t untold_ = 0;
  Histogram latency_ns_;
};

}  // namespace elider::bench
