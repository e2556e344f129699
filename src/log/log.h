// Log: writes the records of commits to the disk, in groups (DBX, section 5.6;
// docs/design/group-commit.md).
//
// The log does not interpret the records' bytes. Each commit appends one record with a snapshot
// number, by calling these functions in this order:
//
//   reserve       reserves space for the record. It may wait, so the caller must not hold a lock
//   begin_commit  announces the commit, before the commit reads its number
//   publish       appends the record. It is called when the commit can no longer fail; a commit
//                 that fails does not call it
//   end_commit    withdraws the announcement
//
// A number n is closed for a stream when no further record with a number up to n can be appended to
// the stream. This holds if the global number S is above n, and none of the stream's workers is
// inside a commit that may have read a number up to n. Each frame contains the largest closed
// number up to which it and the earlier frames of its stream contain all records. When the frames
// are synced, the smallest of these numbers over all streams is the durable snapshot. Recovery
// after a crash would find exactly the commits up to this number.
//
// The log fails if a write or sync fails, or if there is not enough memory for a frame with a
// single record. After a failure the log stops writing, no further commit becomes durable, every
// wait returns the error, and reserve() fails.
//
// Deviation from the paper: in the paper, a group consists of the commits of one snapshot, and
// read-only transactions increase the snapshot number. Here the loggers also increase it, whenever
// they write.
//
// Thread safety: for each worker, one thread at a time may call the functions with a `worker`
// parameter. All threads may call the other functions.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "elider/snapshot_number.h"
#include "log/buffer.h"
#include "log/durable.h"
#include "log/files.h"
#include "log/stream.h"

namespace elider::log {

// Gives the log access to the global snapshot number S, which is stored outside the log.
class NumberSource {
 public:
  virtual ~NumberSource() = default;
  virtual SnapshotNumber current() const = 0;  // seq_cst
  virtual SnapshotNumber advance() = 0;        // increases S by 1 and returns its old value; seq_cst
};

struct LogOptions {
  std::vector<Folder*> folders;         // stream i writes to folders[i % folders.size()]; the folders must outlive the log
  uint32_t streams = 1;                 // number of logger threads, each with its own files; 1 to 255
  uint32_t workers = 1;                 // number of workers that append; worker i belongs to stream i % streams
  uint64_t flush_interval_us = 1000;    // maximum time between two groups while there are records to write
  uint64_t segment_bytes = 64u << 20;   // maximum size of a file; a larger frame gets a file of its own
  uint64_t buffer_bytes = 1u << 20;     // size of the buffer between a worker and its logger; a power of two
};

struct LogFacts {
  SnapshotNumber durable = 0;
  uint64_t frames = 0;
  uint64_t bytes = 0;       // bytes written, including headers
  uint64_t records = 0;     // records on the disk
  uint64_t syncs = 0;       // syncs of files and folders
  uint64_t room_waits = 0;  // calls to reserve() that waited
  // The lag of a group: the time from the creation of its oldest record until the group is on the
  // disk.
  uint64_t lag_ns = 0, lag_sum_ns = 0, lag_max_ns = 0;  // of the newest group; summed over all groups; maximum
  Status failure;
};

class Log {
 public:
  static constexpr size_t kFrameBytesTarget = 4u << 20;  // no further records are added to a frame that has reached this size
  static constexpr size_t kRecordBytesMax = kFramePayloadBytesMax - kFrameBytesTarget - kRecordHeaderBytes;

  // Creates the first segment of every stream and starts the threads. All commits up to
  // source.current() - 1 are durable from the start, because the caller has recovered them.
  static Status start(const LogOptions& options, const DatabaseId& database, uint32_t generation, NumberSource& source,
                      std::unique_ptr<Log>* log);
  // Calls close() if the caller has not called it.
  ~Log();
  // Writes and syncs all appended records, then stops the logger threads. No worker may be inside a
  // commit. If the result is ok, recovery will find exactly the commits up to *closed. Otherwise
  // the result is the error that made the log fail.
  Status close(SnapshotNumber* closed);

  // -- a worker's commit --------------------------------------------------------------------------

  // Reserves space for a record of at most `bytes` bytes. Waits while the worker's buffer is full.
  //   kIoError          the log has failed
  //   kMemoryLimit      memory is exhausted, or the log has failed because memory was exhausted
  //   kInvalidArgument  a frame cannot hold that many bytes
  Status reserve(uint32_t worker, size_t bytes, std::byte** place) {
    if (!failed() && bytes <= kRecordBytesMax) [[likely]] {
      Buffer& buffer = buffers_[worker];
      *place = buffer.reserve(bytes);
      if (buffer.half_full()) [[unlikely]] ask_for_room();
      if (*place != nullptr) [[likely]] return {};
    }
    return reserve_slowly(worker, bytes, place);
  }
  void begin_commit(uint32_t worker) { buffers_[worker].announce(source_.current()); }
  // Appends the first `bytes` bytes of the reserved space as a record with this number.
  void publish(uint32_t worker, SnapshotNumber number, size_t bytes) { buffers_[worker].publish(number, bytes); }
  void end_commit(uint32_t worker) { buffers_[worker].withdraw(); }

  // -- durability ---------------------------------------------------------------------------------

  SnapshotNumber durable() const { return durable_.number(); }
  // Waits until all commits with numbers up to `number` are on the disk. If S has not reached
  // `number` yet, waits for the largest number that S has reached. kIoError: the log has failed;
  // the commits may or may not be on the disk.
  Status wait_durable(SnapshotNumber number);
  // Calls told(status) once, with the status that wait_durable() would return. told() is called
  // immediately, or later by the thread that calls fail() or by a logger thread, which continues
  // only after told() has returned. All pending calls are made before close() returns.
  void when_durable(SnapshotNumber number, Durable::Told told);
  // Makes the log fail as if a write had failed. Called when the folders can no longer be relied on
  // (Directory::log_failure()).
  void fail(const Status& status);
  bool failed() const { return durable_.failed(); }
  // Called after a failure, with the snapshot number that a reader has read. Returns true if all
  // appended records are on the disk, so that all commits up to this number are on the disk as
  // well. Returns false if records are missing, or if that cannot be determined.
  bool has_lost_nothing(SnapshotNumber number) const;
  Status failure() const { return durable_.failure(); }
  LogFacts facts() const;
  // Returns the segments that were finished since the last call.
  std::vector<FinishedSegment> take_finished();

  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

 private:
  struct Logger {
    explicit Logger(std::unique_ptr<Stream> its_stream) : stream(std::move(its_stream)) {}
    // Owned by the logger's thread.
    const std::unique_ptr<Stream> stream;
    std::vector<std::byte> frame;
    FrameHeader header;
    uint64_t oldest_ns = 0;  // when the frame's oldest record was created
    std::thread thread;
    // Guarded by mutex_.
    uint64_t written = 0;  // the closed number in the last synced frame
    SnapshotNumber closed = 0;   // the closed number up to which all records are synced; above `written` if no records were added since
    SnapshotNumber newest = 0;   // the largest number of the stream's records
  };

  Log(const LogOptions& options, NumberSource& source, uint32_t streams);
  void run(uint32_t index);
  void run_rounds(uint32_t index);
  bool round(uint32_t index, bool demanded);
  SnapshotNumber close_numbers(uint32_t index, bool demanded);
  static bool grow(std::vector<std::byte>* frame, size_t bytes);
  bool collect(uint32_t index);
  Status write_frame(Logger& logger, SnapshotNumber closed);
  void has_written(Logger& logger, SnapshotNumber closed, bool frame);
  uint64_t durable_now() const;
  bool is_due(const Logger& logger) const;
  bool pending(uint32_t index) const;
  SnapshotNumber newest_number() const;
  uint64_t written() const;  // the caller holds the mutex or is the only thread
  Status reserve_slowly(uint32_t worker, size_t bytes, std::byte** place);
  void await_demand(const Logger& logger);
  void ask_for_room();
  void demand(SnapshotNumber number);
  template <class F>
  bool for_each_buffer(uint32_t index, F&& f) const;

  const LogOptions options_;
  NumberSource& source_;
  const std::unique_ptr<Buffer[]> buffers_;  // indexed by worker
  std::vector<std::unique_ptr<Logger>> loggers_;

  Durable durable_;
  std::atomic<bool> crowded_{false};  // a worker's buffer is at least half full
  std::atomic<uint64_t> room_waits_{0};

  // The workers that have ever used the log. Each worker adds itself before its first commit.
  // Accesses are seq_cst, like those in Buffer::announce().
  const std::unique_ptr<std::atomic<uint32_t>[]> used_;
  std::atomic<uint32_t> used_count_{0};

  std::atomic<SnapshotNumber> wanted_{0};    // the largest number that a caller has waited for
  std::atomic<uint32_t> sleepers_{0};  // number of loggers that wait, or are about to wait

  // Guards the members below, the members of Logger under "Guarded by mutex_", and additions to
  // used_. Acquired before the mutex in durable_.
  mutable std::mutex mutex_;
  std::condition_variable wake_;       // loggers wait here
  bool stopping_ = false;
  uint32_t running_ = 0;  // number of loggers whose threads have not ended
  LogFacts facts_;                     // the counters that are updated under mutex_
  std::vector<FinishedSegment> finished_;
};

}  // namespace elider::log
