// Log: writes the records that commits append to the disk, in groups (DBX, section 5.6; DESIGN.md,
// "Durability").
//
// The log handles numbers and bytes and does not depend on tables. Every record has a snapshot
// number. Each commit appends one record, by these calls in this order:
//
//   reserve       reserves room for the record. It may wait, so the caller must not hold a lock
//   begin_commit  announces the commit, before the commit reads its number
//   publish       appends the record. It is called when the commit can no longer fail; a commit
//                 that fails does not call it
//   end_commit    withdraws the announcement
//
// A number n is closed for a stream when the stream can no longer get a record with a number up to
// n. This holds if the global number S is above n, and none of the stream's workers is inside a
// commit that may have read a number up to n. Each frame of a stream contains the largest closed
// number whose records are all written. The durable snapshot is the smallest such number of all
// streams, after their frames are synced. This is exactly the number that recovery would find.
//
// The log fails if a write or sync fails, or if memory for a single record of a group is exhausted.
// After a failure the log does not write, nothing more becomes durable, every wait returns the
// error, and reserve() fails.
//
// Deviation from the paper: in the paper, a group is a snapshot that a read-only transaction would
// see. Here the loggers increase the number themselves, at each write.
//
// Thread safety: one thread at a time makes a worker's calls; any thread may make the other calls.
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

// The global snapshot number S, which is not part of the log.
class NumberSource {
 public:
  virtual ~NumberSource() = default;
  virtual SnapshotNumber current() const = 0;  // seq_cst
  virtual SnapshotNumber advance() = 0;        // increases S by 1 and returns its old value; seq_cst
};

struct LogOptions {
  std::vector<Folder*> folders;         // stream i writes to folder i modulo their count; the folders must outlive the log
  uint32_t streams = 1;                 // logger threads and files, 1 to 255
  uint32_t workers = 1;                 // number of workers that append; worker i belongs to stream i modulo streams
  uint64_t flush_interval_us = 1000;    // the longest time between two groups, if there are records
  uint64_t segment_bytes = 64u << 20;   // maximum size of a file; a larger frame gets a file of its own
  uint64_t buffer_bytes = 1u << 20;     // how far a worker may be ahead of its logger; a power of two
};

struct LogFacts {
  SnapshotNumber durable = 0;
  uint64_t frames = 0;
  uint64_t bytes = 0;       // bytes written, including headers
  uint64_t records = 0;     // records on the disk
  uint64_t syncs = 0;       // syncs of files and folders
  uint64_t room_waits = 0;  // calls of reserve() that waited
  // The lag of a group: the time from the creation of its oldest record until the group is on the
  // disk.
  uint64_t lag_ns = 0, lag_sum_ns = 0, lag_max_ns = 0;  // of the newest group, the sum, the maximum
  Status failure;
};

class Log {
 public:
  static constexpr size_t kFrameBytesTarget = 4u << 20;  // no further records are added to a frame of this size
  static constexpr size_t kRecordBytesMax = kFramePayloadBytesMax - kFrameBytesTarget - kRecordHeaderBytes;

  // Creates the first segment of every stream and starts the threads. All commits up to
  // source.current() - 1 count as durable, because the caller has recovered them.
  static Status start(const LogOptions& options, const DatabaseId& database, uint32_t generation, NumberSource& source,
                      std::unique_ptr<Log>* log);
  // Calls close() unless the caller has called it.
  ~Log();
  // Writes and syncs all appended records, then ends the log. No worker may be inside a commit. If
  // the result is ok, recovery will find exactly the commits up to *closed. Otherwise the result is
  // the error with which the log has failed.
  Status close(SnapshotNumber* closed);

  // -- a worker's commit --------------------------------------------------------------------------

  // Reserves room for at most `bytes`. Waits while the logger is too far behind.
  //   kIoError          the log has failed
  //   kMemoryLimit      memory is exhausted now, or the log failed because it was
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
  // Makes the first `bytes` of the room a record with this number.
  void publish(uint32_t worker, SnapshotNumber number, size_t bytes) { buffers_[worker].publish(number, bytes); }
  void end_commit(uint32_t worker) { buffers_[worker].withdraw(); }

  // -- durability ---------------------------------------------------------------------------------

  SnapshotNumber durable() const { return durable_.number(); }
  // Waits until all commits with numbers up to `number` are on the disk. If S has not reached
  // `number` yet, waits for the largest number that S has reached. kIoError: the log has failed;
  // the commits may be on the disk or not.
  Status wait_durable(SnapshotNumber number);
  // Calls told(what wait_durable() would return) once. The call comes immediately, or from a logger
  // thread, which waits for told() to return, or when the log ends.
  void when_durable(SnapshotNumber number, Durable::Told told);
  // Makes the log fail as if a write had failed, because the folders are not reliable any more.
  void fail(const Status& status);
  bool failed() const { return durable_.failed(); }
  // Called after a failure. Returns true if all commits up to this number, which a reader has seen,
  // are certainly on the disk, because no later ones exist. Otherwise, or if that is uncertain,
  // returns false.
  bool has_lost_nothing(SnapshotNumber number) const;
  Status failure() const { return durable_.failure(); }
  LogFacts facts() const;
  // The segments that were finished since the last call.
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
    uint64_t oldest_ns = 0;  // when the frame's oldest record was made
    std::thread thread;
    // Guarded by mutex_.
    uint64_t written = 0;  // the closed number in the last synced frame
    SnapshotNumber closed = 0;   // closed, and all records up to it are synced; above `written` if the stream had no record since
    SnapshotNumber newest = 0;   // the largest number of its records
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

  // The workers that have ever appended. Each adds itself before its first commit. seq_cst, like
  // the announcements.
  const std::unique_ptr<std::atomic<uint32_t>[]> used_;
  std::atomic<uint32_t> used_count_{0};

  std::atomic<SnapshotNumber> wanted_{0};    // the largest number that a caller has waited for
  std::atomic<uint32_t> sleepers_{0};  // loggers that wait, or are about to wait

  mutable std::mutex mutex_;           // guards the following, the loggers' marked members, additions to used_; acquired before Durable's
  std::condition_variable wake_;       // loggers wait here
  bool stopping_ = false;
  uint32_t running_ = 0;  // loggers whose threads have not ended
  LogFacts facts_;                     // the counters that are updated under mutex_
  std::vector<FinishedSegment> finished_;
};

}  // namespace elider::log
