#include "log/log.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/spin.h"
#include "base/test_points.h"

namespace elider::log {

namespace {
constexpr auto kShortWait = std::chrono::microseconds(50);
constexpr uint64_t kAwaitNs = 50'000;
constexpr uint32_t kYieldsBeforeSleep = 16;  // a yield lets another thread run, which probably waits for this core

Status heap_exhausted() { return Status(Code::kMemoryLimit, Cause::kMemoryLimit); }  // without a message: it would need memory
}  // namespace

Log::Log(const LogOptions& options, NumberSource& source, uint32_t streams)
    : options_(options), source_(source), buffers_(std::make_unique<Buffer[]>(options.workers)),
      used_(std::make_unique<std::atomic<uint32_t>[]>(options.workers)) {
  loggers_.reserve(streams);
}

Status Log::start(const LogOptions& options, const DatabaseId& database, uint32_t generation, NumberSource& source,
                  std::unique_ptr<Log>* started) {
  std::unique_ptr<Log> log(new Log(options, source, options.streams));
  const uint64_t base = source.current() - 1;
  for (uint32_t i = 0; i < options.streams; ++i) {
    Folder& folder = *options.folders[i % options.folders.size()];
    auto stream = std::make_unique<Stream>(folder, database, generation, i, options.segment_bytes);
    if (Status status = stream->create(base); !status.ok()) return status;
    log->loggers_.push_back(std::make_unique<Logger>(std::move(stream)));
    log->loggers_.back()->written = log->loggers_.back()->closed = base;
  }
  // The folders are synced before any frame is written, so if one stream has a frame, the first
  // file of every stream exists.
  for (Folder* const folder : options.folders)
    if (Status status = folder->sync(); !status.ok()) return status;
  log->durable_.raise(base);
  log->running_ = options.streams;
  for (uint32_t i = 0; i < options.streams; ++i) log->loggers_[i]->thread = std::thread([self = log.get(), i] { self->run(i); });
  *started = std::move(log);
  return {};
}

Log::~Log() {
  uint64_t unneeded = 0;
  static_cast<void>(close(&unneeded));  // a failure cannot be handled here
}

Status Log::close(SnapshotNumber* closed) {
  // Makes every stream close all numbers that any of the streams has used.
  if (loggers_.size() == options_.streams && loggers_.back()->thread.joinable()) static_cast<void>(wait_durable(source_.current()));
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (const auto& logger : loggers_)
    if (logger->thread.joinable()) {
      logger->thread.join();
      if (!failed()) logger->stream->finish();
    }
  *closed = written();
  return failure();
}

// -- workers --------------------------------------------------------------------------------------

// The slow path of reserve(), for a worker's first record, a record that is too large, a full
// buffer, or a failed log.
Status Log::reserve_slowly(uint32_t worker, size_t bytes, std::byte** place) {
  if (bytes > kRecordBytesMax)
    return Status::invalid_argument("the transaction's log record would have " + std::to_string(bytes) +
                                    " bytes, more than a frame of the log can hold");
  Buffer& buffer = buffers_[worker];
  if (buffer.unused()) {
    if (!buffer.open(options_.buffer_bytes)) return heap_exhausted();
    std::lock_guard lock(mutex_);
    used_[used_count_.load()].store(worker);
    used_count_.fetch_add(1);
  }
  Spin spin;
  for (bool waited = false;; waited = true) {
    if (failed()) return failure();
    *place = buffer.reserve(bytes);
    if (*place != nullptr) return {};
    if (buffer.heap_exhausted()) return heap_exhausted();
    if (!waited) room_waits_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count
    if (spin.yields() < kYieldsBeforeSleep) {
      spin.wait();
    } else {
      ask_for_room();
      std::this_thread::sleep_for(kShortWait);
    }
  }
}

// Makes the loggers begin the next group immediately. A logger that is about to wait may miss the
// notification and wait for its usual interval.
void Log::ask_for_room() {
  if (!crowded_.load(std::memory_order_relaxed) && !crowded_.exchange(true)) wake_.notify_all();  // relaxed: a hint
}

// Makes the loggers write immediately, because a caller is waiting. Does not lock the mutex if all
// loggers are awake. A logger that is about to sleep is not missed, because this thread stores the
// number and then reads the count of sleepers, and a logger increments that count and then reads
// the number (seq_cst).
void Log::demand(SnapshotNumber number) {
  for (uint64_t wanted = wanted_.load(); wanted < number;) {
    if (!wanted_.compare_exchange_weak(wanted, number)) continue;
    if (sleepers_.load() != 0) {
      { std::lock_guard lock(mutex_); }
      wake_.notify_all();
    }
    return;
  }
}

Status Log::wait_durable(SnapshotNumber number) {
  if (durable_.in_child()) return failure();
  if (durable() >= number) return {};
  number = std::min(number, source_.current());
  demand(number);
  ELIDER_TEST_POINT("log.wait");
  return durable_.wait(number);
}

void Log::when_durable(SnapshotNumber number, Durable::Told told) {
  if (durable_.in_child()) return told(failure());
  number = std::min(number, source_.current());
  if (durable() < number) demand(number);
  durable_.when(number, std::move(told));
}

// If other transactions may have read a commit's rows, the commit is in one of four states: it is
// announced, its record is in the worker's buffer, its record is in a frame, or its record is
// durable. A commit passes through these states in this order, and the function checks for them in
// the same order, so it cannot miss a commit. All loggers must have ended, because a running logger
// may have taken records that are not in `newest` yet.
bool Log::has_lost_nothing(SnapshotNumber number) const {
  bool none_left = true;
  for (uint32_t i = 0; i < loggers_.size(); ++i)
    none_left = none_left && for_each_buffer(i, [&](const Buffer& buffer) {
      const uint64_t committing = buffer.committing();
      return (committing == 0 || committing > number) && buffer.empty();
    });
  std::lock_guard lock(mutex_);
  return none_left && failed() && running_ == 0 && newest_number() <= durable();
}

LogFacts Log::facts() const {
  std::lock_guard lock(mutex_);
  LogFacts facts = facts_;
  facts.durable = durable();
  facts.failure = durable_.failure();
  facts.room_waits = room_waits_.load(std::memory_order_relaxed);  // relaxed: a count
  return facts;
}

std::vector<FinishedSegment> Log::take_finished() {
  std::lock_guard lock(mutex_);
  return std::exchange(finished_, {});
}

template <class F>
bool Log::for_each_buffer(uint32_t index, F&& f) const {
  for (uint32_t i = 0, count = used_count_.load(); i < count; ++i)
    if (const uint32_t worker = used_[i].load(); worker % options_.streams == index && !f(buffers_[worker])) return false;
  return true;
}

// -- loggers --------------------------------------------------------------------------------------

void Log::run(uint32_t index) {
  run_rounds(index);
  std::lock_guard lock(mutex_);
  --running_;
}

void Log::run_rounds(uint32_t index) {
  ::pthread_setname_np(::pthread_self(), "elider-log");  // the name that tools such as top show
  Logger& logger = *loggers_[index];
  const auto interval = std::chrono::microseconds(options_.flush_interval_us);
  for (uint32_t idle = 0;;) {
    bool demanded;
    {
      std::unique_lock lock(mutex_);
      // A demand is served immediately. If the last rounds did not make progress, a worker is still
      // inside a commit, so the logger waits briefly before it tries again.
      const auto due = [&] { return stopping_ || failed() || is_due(logger) || crowded_.exchange(false); };
      if (idle > kYieldsBeforeSleep && due()) {
        wake_.wait_for(lock, kShortWait);
      } else {
        sleepers_.fetch_add(1);
        if (!due()) wake_.wait_for(lock, interval, due);
        sleepers_.fetch_sub(1);
      }
      if (stopping_ || failed()) return;
      demanded = is_due(logger);
    }
    bool worked = true;
    try {
      worked = round(index, demanded);
    } catch (const std::bad_alloc&) {
      fail(heap_exhausted());
    }
    if (worked) idle = 0;
    else if (++idle <= kYieldsBeforeSleep && demanded) std::this_thread::yield();
    if (demanded && idle == 0) await_demand(logger);
  }
}

// Returns true if a caller is waiting for this logger. There are two cases. Either the logger has
// not closed the wanted number yet, or the logger has closed numbers without writing a frame, and
// another stream has received a record since. In the second case, the logger must write a frame
// with its closed number. The caller holds mutex_.
bool Log::is_due(const Logger& logger) const {
  const uint64_t wanted = wanted_.load();
  return wanted > logger.closed || (wanted > durable() && logger.written < logger.closed && logger.written < newest_number());
}

// Polls for new demands for a short time before the logger sleeps. A caller that has just waited
// will probably wait again soon, and waking a sleeping logger takes longer than polling.
void Log::await_demand(const Logger& logger) {
  const uint64_t begin_ns = now_ns();
  while (wanted_.load() <= logger.closed && now_ns() - begin_ns < kAwaitNs) std::this_thread::yield();  // `closed`: only written here
}

// Writes the records that are ready. Returns false if there was nothing to do.
bool Log::round(uint32_t index, bool demanded) {
  Logger& logger = *loggers_[index];
  const SnapshotNumber closed = close_numbers(index, demanded);
  uint64_t before, newest;
  {
    std::lock_guard lock(mutex_);
    before = logger.closed;
    newest = newest_number();
  }
  bool all = false, frame = false;
  while (!all) {
    all = collect(index);
    // If records are left in the buffers, the frame keeps the previous closed number. A stream
    // without new records writes a frame only if recovery would otherwise ignore records of other
    // streams, because of the closed number in this stream's last frame.
    const uint64_t says = all || ELIDER_MUTANT(kCloseFullFrame) ? std::max(closed, before) : before;
    if (!all && logger.header.records == 0) {
      fail(heap_exhausted());
      return true;
    }
    if (logger.header.records == 0 && (logger.written >= newest || says <= logger.written)) break;
    frame = true;
    if (ELIDER_MUTANT(kAcknowledgeEarly)) has_written(logger, says, true);
    ELIDER_TEST_POINT("log.before_write");
    if (Status status = write_frame(logger, says); !status.ok()) {
      fail(status);
      return true;
    }
    ELIDER_TEST_POINT("log.after_sync");
    has_written(logger, says, true);
  }
  if (!frame && closed > before) has_written(logger, closed, false);
  return frame || closed > before;
}

// Returns the largest number n such that none of this stream's workers can still commit with a
// number up to n.
SnapshotNumber Log::close_numbers(uint32_t index, bool demanded) {
  // Raises the snapshot number only if necessary, so that it does not change while the database is
  // idle.
  const bool raise = demanded || pending(index) || loggers_[index]->newest > loggers_[index]->closed;
  SnapshotNumber closed = raise ? source_.advance() : source_.current() - 1;
  for_each_buffer(index, [&](Buffer& buffer) {
    if (ELIDER_MUTANT(kMarkEarly)) buffer.mark();
    ELIDER_TEST_POINT("log.before_look");
    const uint64_t committing = buffer.committing();
    if (committing != 0) closed = std::min(closed, committing - 1);
    // The mark is set after the announcement was read, so all records with closed numbers are
    // before the mark.
    if (!ELIDER_MUTANT(kMarkEarly)) buffer.mark();
    return true;
  });
  return closed;
}

bool Log::pending(uint32_t index) const {
  return !for_each_buffer(index, [](const Buffer& buffer) { return buffer.empty(); });
}

// Reserves capacity for `bytes` more bytes in the frame. If the frame must grow, at least doubles
// its capacity. Returns false if memory is exhausted.
bool Log::grow(std::vector<std::byte>* frame, size_t bytes) {
  if (frame->capacity() - frame->size() >= bytes) return true;
  try {
    frame->reserve(std::max(frame->size() + bytes, 2 * frame->capacity()));
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

// Moves the records before the buffers' marks into the frame. Returns false if some of them are
// left, because the frame is full or memory is exhausted. It must not throw, because an exception
// would leave records in the buffer that are already in the frame.
bool Log::collect(uint32_t index) {
  Logger& logger = *loggers_[index];
  logger.frame.resize(kFrameHeaderBytes);
  logger.header = FrameHeader{};
  logger.oldest_ns = kNumberMax;
  SnapshotNumber newest = 0;
  const auto take_one = [&](SnapshotNumber number, Bytes bytes) {
    ELIDER_DCHECK(number > logger.closed, "no record has a number that its stream has closed");  // `closed`: written only by this thread
    if (logger.frame.size() >= kFrameBytesTarget || !grow(&logger.frame, kRecordHeaderBytes + bytes.size())) return false;
    const size_t at = logger.frame.size();
    logger.frame.resize(at + kRecordHeaderBytes);
    put_record_header(logger.frame.data() + at, number, static_cast<uint32_t>(bytes.size()));
    logger.frame.insert(logger.frame.end(), bytes.begin(), bytes.end());
    FrameHeader& header = logger.header;
    header.first_number = header.records == 0 ? number : std::min(header.first_number, number);
    header.last_number = std::max(header.last_number, number);
    ++header.records;
    newest = std::max(newest, number);
    return true;
  };
  const bool all = for_each_buffer(index, [&](Buffer& buffer) {
    if (buffer.marked_taken()) return true;
    logger.oldest_ns = std::min(logger.oldest_ns, buffer.oldest_ns());
    return buffer.take_marked(take_one);
  });
  std::lock_guard lock(mutex_);
  if (newest > logger.newest) {
    logger.newest = newest;
    if (loggers_.size() > 1 && sleepers_.load() != 0) wake_.notify_all();  // see is_due()
  }
  return all;
}

Status Log::write_frame(Logger& logger, SnapshotNumber closed) {
  logger.header.closed = closed;
  {
    std::lock_guard lock(mutex_);
    logger.header.durable = written();
  }
  return logger.stream->append(logger.header, logger.frame);
}

// Records that this logger has closed all numbers up to `closed` and that its records up to that
// number are on the disk. `frame` is true if a synced frame contains the number `closed`.
void Log::has_written(Logger& logger, SnapshotNumber closed, bool frame) {
  SnapshotNumber durable;
  {
    std::lock_guard lock(mutex_);
    logger.closed = std::max(logger.closed, closed);
    if (frame) {
      logger.written = std::max(logger.written, closed);
      ++facts_.frames;
      facts_.records += logger.header.records;
      facts_.bytes += logger.frame.size();
      facts_.syncs += logger.stream->take_syncs();
      const std::vector<FinishedSegment> finished = logger.stream->take_finished();
      finished_.insert(finished_.end(), finished.begin(), finished.end());
      if (logger.header.records != 0) {
        const uint64_t now = now_ns();
        facts_.lag_ns = now > logger.oldest_ns ? now - logger.oldest_ns : 0;
        facts_.lag_sum_ns += facts_.lag_ns;
        facts_.lag_max_ns = std::max(facts_.lag_max_ns, facts_.lag_ns);
      }
    }
    durable = durable_now();
  }
  durable_.raise(durable);
}

// Returns the number up to which recovery would find all commits: the smallest of the closed
// numbers in the streams' last frames.
uint64_t Log::written() const {
  SnapshotNumber smallest = kNumberMax;
  for (const auto& logger : loggers_) smallest = std::min(smallest, logger->written);
  return smallest;
}

SnapshotNumber Log::newest_number() const {
  SnapshotNumber newest = 0;
  for (const auto& logger : loggers_) newest = std::max(newest, logger->newest);
  return newest;
}

// Returns the smallest closed number of all streams. Numbers that were closed without writing a
// frame are included only if recovery, which sees only frames, would accept all records.
uint64_t Log::durable_now() const {
  const uint64_t written = this->written();
  SnapshotNumber closed = kNumberMax, largest = 0;
  for (const auto& logger : loggers_) {
    closed = std::min(closed, logger->closed);
    largest = std::max(largest, logger->written);
  }
  const SnapshotNumber durable = newest_number() <= written ? closed : written;
  return ELIDER_MUTANT(kLargestDurable) ? std::max(durable, largest) : durable;
}

void Log::fail(const Status& status) {
  durable_.fail(status);
  {
    std::lock_guard lock(mutex_);  // so that a logger that is about to wait does not miss the failure
  }
  wake_.notify_all();
}

}  // namespace elider::log
