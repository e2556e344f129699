// Log: takes what commits append and brings it to the disk in groups (DBX, section 5.6; DESIGN.md,
// "Durability").
//
// It knows numbers and bytes, not tables. Numbers are snapshot numbers: every record has one, and one record
// a commit. A commit calls, in this order,
//
//   reserve       room for the record; may wait, so no lock is held
//   begin_commit  before the commit reads its number
//   publish       the record, once nothing can fail any more; or not at all
//   end_commit
//
// A number n is closed for a stream when S > n and none of its workers is inside a commit that may have read
// a number <= n. A stream writes, beside the records, the largest number that is closed and all of whose
// records are written. The durable snapshot is the smallest of these over all streams, each synced: exactly
// what recovery would find.
//
// A failed write or sync ends it: nothing is written after it, nothing more becomes durable, every wait
// returns the error, and reserve() refuses.
//
// Deviation from the paper: there a group is a snapshot that a read-only transaction would see; here the
// loggers raise the number themselves, as often as they write.
//
// Thread safety: the calls of one worker belong to one thread at a time; everything else to all.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "log/buffer.h"
#include "log/file.h"
#include "log/stream.h"

namespace elider::log {

// The global snapshot number S, which is somebody else's.
class NumberSource {
 public:
  virtual ~NumberSource() = default;
  virtual uint64_t current() const = 0;  // seq_cst
  virtual uint64_t advance() = 0;        // S becomes S + 1; gives what it was; seq_cst
};

struct LogOptions {
  std::vector<std::string> folders;     // stream i writes to folder i modulo their count
  uint32_t streams = 1;                 // logger threads and files, 1 to 255
  uint32_t workers = 1;                 // who appends, by id below this; worker i belongs to stream i modulo streams
  uint64_t flush_interval_us = 1000;    // at the longest between two groups where something was appended
  uint64_t segment_bytes = 64u << 20;   // of a file; a larger frame has one of its own
  uint64_t buffer_bytes = 1u << 20;     // a worker may be ahead of its logger by this; a power of two
  std::function<void(uint64_t durable)> on_durable;  // called by a logger thread when it has risen; must be short
};

struct LogFacts {
  uint64_t durable = 0;
  uint64_t frames = 0;
  uint64_t bytes = 0;    // written, headers included
  uint64_t records = 0;  // on the disk
  Status failure;
};

class Log {
 public:
  // Makes the first segment of every stream and starts the threads. Everything up to source.current() - 1
  // counts as durable: the caller has recovered it.
  static Status start(FileSystem& files, const LogOptions& options, const DatabaseId& database, uint32_t generation, NumberSource& source,
                      std::unique_ptr<Log>* log);
  // Brings everything appended to the disk first, unless it has failed. No worker is inside a commit.
  ~Log();

  // -- a worker's commit -----------------------------------------------------------------------------------

  // Room for at most `bytes`; waits while the logger is behind. kIoError: the log has failed.
  // kInvalidArgument: so many bytes are more than a frame can hold.
  Status reserve(uint32_t worker, size_t bytes, std::byte** place);
  void begin_commit(uint32_t worker) { buffers_[worker].announce(source_.current()); }
  // The first `bytes` of the room are a record of this number.
  void publish(uint32_t worker, uint64_t number, size_t bytes) { buffers_[worker].publish(number, bytes); }
  void end_commit(uint32_t worker) { buffers_[worker].withdraw(); }

  // -- durability --------------------------------------------------------------------------------------------

  uint64_t durable() const { return durable_.load(std::memory_order_acquire); }
  // Waits until all commits with numbers up to `number` are on the disk; a number that S has not reached counts
  // as the last one it has. kIoError: the log has failed; whether they are is not known.
  Status wait_durable(uint64_t number);
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  LogFacts facts() const;

  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

 private:
  struct Logger {
    explicit Logger(std::unique_ptr<Stream> its_stream) : stream(std::move(its_stream)) {}
    // The thread's own.
    const std::unique_ptr<Stream> stream;
    std::vector<std::byte> frame;
    FrameHeader header;
    std::thread thread;
    // Guarded by mutex_.
    uint64_t written = 0;  // closed, as the last synced frame says
    uint64_t closed = 0;   // closed, and all records up to it are synced; larger than `written` where none came since
    uint64_t newest = 0;   // the largest number of its records so far
  };

  Log(const LogOptions& options, NumberSource& source, uint32_t streams);
  void run(uint32_t index);
  bool round(uint32_t index, bool demanded);
  uint64_t close_numbers(uint32_t index, bool demanded);
  bool collect(uint32_t index);
  Status write_frame(Logger& logger, uint64_t closed);
  void has_written(Logger& logger, uint64_t closed, bool frame);
  void update_durable();
  void fail(const Status& status);
  bool pending(uint32_t index) const;
  uint64_t newest_number() const;

  const LogOptions options_;
  NumberSource& source_;
  const std::unique_ptr<Buffer[]> buffers_;  // by worker
  std::vector<std::unique_ptr<Logger>> loggers_;

  std::atomic<uint64_t> durable_{0};
  std::atomic<bool> failed_{false};
  std::atomic<bool> crowded_{false};  // a worker waits for room

  mutable std::mutex mutex_;           // guards what follows and the loggers' marked fields; a leaf lock
  std::condition_variable wake_;       // loggers wait here
  std::condition_variable progressed_; // waiters wait here
  uint64_t wanted_ = 0;                // the largest number somebody has waited for
  bool stopping_ = false;
  uint64_t frames_ = 0, bytes_ = 0, records_ = 0;
  Status failure_;
};

}  // namespace elider::log
