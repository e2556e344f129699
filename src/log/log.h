// Log: takes what commits append and brings it to the disk in groups (DBX, section 5.6; DESIGN.md,
// "Durability").
//
// The log handles numbers and bytes and does not depend on tables. The numbers are snapshot
// numbers: every record has one, and each commit appends one record. A commit calls, in this order,
//
//   reserve       room for the record; may wait, so no lock may be held
//   begin_commit  before the commit reads its number
//   publish       the record, when the commit can no longer fail; or is not called
//   end_commit
//
// A number n is closed for a stream when S > n and none of the stream's workers is inside a commit
// that may have read a number <= n. In addition to the records, a stream writes the largest number
// that is closed and whose records are all written. The durable snapshot is the smallest such
// number over all streams, each synced: exactly what recovery would find.
//
// A failed write or sync ends the log, and so does a heap that cannot hold a single record of a
// group. After that nothing is written, nothing more becomes durable, every wait returns the error,
// and reserve() fails.
//
// Deviation from the paper: there a group is a snapshot that a read-only transaction would see;
// here the loggers advance the number themselves, at each write.
//
// Thread safety: one thread at a time makes the calls of a worker; any thread may make the others.
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

// The global snapshot number S, which the log does not own.
class NumberSource {
 public:
  virtual ~NumberSource() = default;
  virtual SnapshotNumber current() const = 0;  // seq_cst
  virtual SnapshotNumber advance() = 0;        // S becomes S + 1; gives what it was; seq_cst
};

struct LogOptions {
  std::vector<Folder*> folders;         // stream i writes to folder i modulo their count; they outlive the log
  uint32_t streams = 1;                 // logger threads and files, 1 to 255
  uint32_t workers = 1;                 // workers that append have ids below this; worker i belongs to stream i modulo streams
  uint64_t flush_interval_us = 1000;    // greatest time between two groups, if there are records
  uint64_t segment_bytes = 64u << 20;   // maximum size of a file; a larger frame gets a file of its own
  uint64_t buffer_bytes = 1u << 20;     // a worker may be ahead of its logger by this; a power of two
};

struct LogFacts {
  SnapshotNumber durable = 0;
  uint64_t frames = 0;
  uint64_t bytes = 0;       // written, headers included
  uint64_t records = 0;     // on the disk
  uint64_t syncs = 0;       // of files and folders
  uint64_t room_waits = 0;  // calls of reserve() that waited
  // The lag of a group: from the making of its oldest record until it is on the disk.
  uint64_t lag_ns = 0, lag_sum_ns = 0, lag_max_ns = 0;  // of the newest group, of all, the largest
  Status failure;
};

class Log {
 public:
  static constexpr size_t kFrameBytesTarget = 4u << 20;  // a frame of this size does not take further records
  static constexpr size_t kRecordBytesMax = kFramePayloadBytesMax - kFrameBytesTarget - kRecordHeaderBytes;

  // Creates the first segment of every stream and starts the threads. Everything up to
  // source.current() - 1 counts as durable, since the caller has recovered it.
  static Status start(const LogOptions& options, const DatabaseId& database, uint32_t generation, NumberSource& source,
                      std::unique_ptr<Log>* log);
  // Calls close() unless it was called.
  ~Log();
  // Writes and syncs all appended records, then ends. No worker may be inside a commit. Ok:
  // recovery will find exactly the commits up to *closed. Otherwise this is the error with which
  // the log has failed.
  Status close(SnapshotNumber* closed);

  // -- a worker's commit --------------------------------------------------------------------------

  // Reserves room for at most `bytes`; waits while the logger is behind.
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
  // The first `bytes` of the room are a record with this number.
  void publish(uint32_t worker, SnapshotNumber number, size_t bytes) { buffers_[worker].publish(number, bytes); }
  void end_commit(uint32_t worker) { buffers_[worker].withdraw(); }

  // -- durability ---------------------------------------------------------------------------------

  SnapshotNumber durable() const { return durable_.number(); }
  // Waits until all commits with numbers up to `number` are on the disk. A number that S has not
  // reached counts as its last one. kIoError: the log has failed; the commits may be on the disk or
  // not.
  Status wait_durable(SnapshotNumber number);
  // Calls told(what wait_durable() would return) once: immediately, or in a logger thread, which
  // waits meanwhile, or when the log ends.
  void when_durable(SnapshotNumber number, Durable::Told told);
  // Fails the log as if a write had failed, because the files' folders are not reliable any more.
  void fail(const Status& status);
  bool failed() const { return durable_.failed(); }
  // After a failure: whether all commits up to this number, which a reader has seen, are on the
  // disk, since no later ones exist. Returns false also if that is uncertain.
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
    uint64_t oldest_ns = 0;  // when the oldest record of the frame was made
    std::thread thread;
    // Guarded by mutex_.
    uint64_t written = 0;  // closed, as the last synced frame says
    SnapshotNumber closed = 0;   // closed, and all records up to it are synced; larger than `written` where none came since
    SnapshotNumber newest = 0;   // the largest number of its records yet
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
  uint64_t written() const;  // under the mutex, or alone
  Status reserve_slowly(uint32_t worker, size_t bytes, std::byte** place);
  void await_demand(const Logger& logger);
  void ask_for_room();
  void demand(SnapshotNumber number);
  template <class F>
  bool for_each_buffer(uint32_t index, F&& f) const;

  const LogOptions options_;
  NumberSource& source_;
  const std::unique_ptr<Buffer[]> buffers_;  // by worker
  std::vector<std::unique_ptr<Logger>> loggers_;

  Durable durable_;
  std::atomic<bool> crowded_{false};  // a worker's buffer is half full, or more
  std::atomic<uint64_t> room_waits_{0};

  // The workers that have ever appended; each adds itself before its first commit. seq_cst, as
  // announcements are.
  const std::unique_ptr<std::atomic<uint32_t>[]> used_;
  std::atomic<uint32_t> used_count_{0};

  std::atomic<SnapshotNumber> wanted_{0};    // the largest number that a thread has waited for
  std::atomic<uint32_t> sleepers_{0};  // loggers that wait, or are about to

  mutable std::mutex mutex_;           // guards what follows, the loggers' marked fields, additions to used_; before Durable's
  std::condition_variable wake_;       // loggers wait here
  bool stopping_ = false;
  uint32_t running_ = 0;  // loggers whose threads have not ended
  LogFacts facts_;                     // what is counted there
  std::vector<FinishedSegment> finished_;
};

}  // namespace elider::log
