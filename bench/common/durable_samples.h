// DurableSamples measures, for every n-th transaction of one thread, the time from its start until
// its commit is on disk. The thread does not wait for the disk, because the database calls back
// when the commit is durable (Database::when_durable). A call to when_durable() makes the log flush
// sooner than it otherwise would.
// Thread safety: one thread takes samples; once that thread has ended, another thread may read the
// results. The log threads record latencies concurrently.
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
  // Samples every `every`-th transaction, or none if `every` is 0.
  DurableSamples(Database& db, uint32_t every) : db_(db), every_(every) {}
  ~DurableSamples() { wait(); }
  DurableSamples(const DurableSamples&) = delete;
  DurableSamples& operator=(const DurableSamples&) = delete;

  // Starts sampling.
  void begin_measuring() { measures_ = every_ != 0; }
  // Called at the start of each transaction. Returns the pointer to pass in
  // RunPolicy::commit_number, or null if this transaction is not sampled.
  SnapshotNumber* begin() {
    if (!measures_ || ++since_ < every_) [[likely]]
      return nullptr;
    since_ = 0;
    number_ = 0;
    begin_ns_ = steady_ns();
    return &number_;
  }
  // Called after the sampled transaction, or group of transactions, has run. If nothing committed,
  // the sample is dropped.
  void committed();

  // Waits until every sampled commit is durable or the log has failed. Returns the latencies of the
  // durable ones.
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

  std::mutex mutex_;  // guards the members below; a leaf lock
  std::condition_variable all_told_;
  uint64_t untold_ = 0;
  Histogram latency_ns_;
};

}  // namespace elider::bench
