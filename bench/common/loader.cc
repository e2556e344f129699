#include "bench/common/loader.h"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>

#include "bench/common/driver.h"
#include "bench/common/report.h"
#include "bench/common/ticks.h"

namespace elider::bench {

namespace {

// The state shared by the loading threads and the thread that watches them.
class LoadWork {
 public:
  explicit LoadWork(uint64_t parts) : parts_(parts) {}

  // Takes the next part. Returns false if all parts are taken or one has failed.
  bool take(uint64_t* part) {
    if (failed_.load(std::memory_order_acquire)) return false;
    *part = next_.fetch_add(1, std::memory_order_relaxed);  // relaxed: parts are independent
    return *part < parts_;
  }
  void fail(Status status) {
    const std::lock_guard guard(mutex_);
    if (status_.ok()) status_ = std::move(status);
    failed_.store(true, std::memory_order_release);
  }
  void thread_ended() {
    const std::lock_guard guard(mutex_);
    ++ended_;
    changed_.notify_one();
  }
  // Returns true when all threads have ended, and false after waiting for a second.
  bool wait(uint32_t threads) {
    std::unique_lock guard(mutex_);
    return changed_.wait_for(guard, std::chrono::seconds(1), [&] { return ended_ == threads; });
  }
  const Status& status() const { return status_; }  // called after all threads have ended

 private:
  const uint64_t parts_;
  std::atomic<uint64_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;  // guards status_ and ended_; a leaf lock
  std::condition_variable changed_;
  Status status_;
  uint32_t ended_ = 0;
};

}  // namespace

LoadResult load_parallel(const CommonOptions& options, const std::string& what, uint64_t parts, uint64_t rows_total,
                         const std::function<Status(uint32_t, uint64_t, LoadProgress&)>& body) {
  const bool shows_progress = !options.quiet && ::isatty(STDERR_FILENO) == 1;
  LoadProgress progress;
  LoadWork work(parts);
  const uint64_t begin_ns = steady_ns();
  std::vector<std::thread> threads;
  threads.reserve(options.threads);
  const auto start = [&](uint32_t thread) {
    threads.emplace_back([&, thread] {
      if (options.pin) static_cast<void>(pin_thread(thread));  // the benchmark run reports a failure
      uint64_t part = 0;
      while (work.take(&part))
        if (Status status = body(thread, part, progress); !status.ok()) work.fail(std::move(status));
      work.thread_ended();
    });
  };
  try {
    for (uint32_t thread = 0; thread < options.threads; ++thread) start(thread);
  } catch (const std::system_error&) {  // the threads that could be created load everything
    if (threads.empty()) throw;
  }
  while (!work.wait(static_cast<uint32_t>(threads.size()))) {
    if (!shows_progress) continue;
    const double seconds = static_cast<double>(steady_ns() - begin_ns) / 1e9;
    const double rows = static_cast<double>(progress.rows());
    const std::string share = rows_total == 0 ? std::string() : fmt::format(" ({:.0f}%)", 100 * rows / static_cast<double>(rows_total));
    const std::string line = fmt::format("{}: {} rows{}, {} rows/s", what, short_number(rows), share, short_number(rows / seconds));
    fmt::print(stderr, "\r{:<70}", line);
    std::fflush(stderr);
  }
  for (std::thread& thread : threads) thread.join();
  if (shows_progress) fmt::print(stderr, "\r{:<70}\r", "");
  return {work.status(), progress.rows(), static_cast<double>(steady_ns() - begin_ns) / 1e9};
}

}  // namespace elider::bench
