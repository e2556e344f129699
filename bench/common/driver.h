// Driver: runs a benchmark's transactions on T threads for S seconds and measures their latencies.
//
//   auto outcome = drive<MyWorker>(options, &db, {"read", "write"}, [&](uint32_t thread) {
//     return std::make_unique<MyWorker>(...);
//   });
//
// A worker generates and runs the transactions of one thread. Its run_one() runs one transaction to
// completion, including retries after conflicts, and returns the index of the transaction's type in
// the list of names. If it returns kWorkerFailed, the whole run ends, and failure() gives the
// reason. For each transaction, the driver reads the tick counter once, reads a shared flag, and
// writes three times to cache lines that no other thread writes. It adds neither an indirect call
// nor an allocation. A transaction's latency is the time since the end of the thread's previous
// transaction. It therefore includes the generation of the input, and a thread's latencies add up
// to its running time.
//
// After the warm-up, the driver calls each worker's begin_measuring(), if the worker has this
// function. With --group, it calls run_group() instead of run_one(). run_group() runs the given
// number of transactions as one group, and each transaction's latency is the time that the whole
// group took.
// Thread safety: drive() is called by one thread; each worker is used by only one thread.
#pragma once

#include <array>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/common/histogram.h"
#include "bench/common/options.h"
#include "bench/common/ticks.h"
#include "elider/database.h"
#include "elider/statistics.h"

namespace elider::bench {

inline constexpr uint32_t kWorkerFailed = ~uint32_t{0};

// The times at which a group's first and last call had committed, and the types of all its calls.
struct GroupTimes {
  std::vector<uint32_t> types;
  uint64_t begin_ticks = 0, first_ticks = 0, last_ticks = 0;
  bool first_seen = false;

  void begin(size_t calls) {
    types.resize(calls);
    first_seen = false;
    begin_ticks = ticks();
  }
  // Called when the group's call `i` begins to run, after calls 0 to i - 1 have been tried.
  void runs(size_t i) {
    if (i != 1 || first_seen) [[likely]] return;
    first_ticks = ticks();
    first_seen = true;
  }
  void end() {
    last_ticks = ticks();
    if (!first_seen) first_ticks = last_ticks;
  }
};

template <class W>
concept GroupWorker = requires(W worker, GroupTimes times) {
  // Returns false if the worker failed; failure() then gives the reason.
  { worker.run_group(times) } -> std::same_as<bool>;
};

template <class W>
concept BenchWorker = requires(W worker, const W constant) {
  { worker.run_one() } -> std::convertible_to<uint32_t>;
  { constant.failure() } -> std::convertible_to<std::string>;
};

// The results of one transaction type, summed over all threads.
struct TypeResult {
  std::string name;
  uint64_t committed = 0;
  Histogram latency_ticks;
};

struct RunResult {
  std::string failure;     // why the run failed; empty if it did not
  bool interrupted = false;  // Ctrl-C ended the run early; the result covers the time until then
  double seconds = 0;      // the measured time
  double ns_per_tick = 1;  // unit of TypeResult::latency_ticks
  uint64_t committed = 0;  // transactions of all types that committed in the measured time
  std::vector<TypeResult> types;
  // With --group: the time from the start of a group until its first call had committed, and until
  // its last call had.
  Histogram group_first_ticks, group_last_ticks;
  // The database's commits and aborts in the measured time. `at_end` holds all of its counters at
  // the end of that time.
  bool has_statistics = false;
  uint64_t engine_commits = 0;
  std::array<uint64_t, kCauseCount> aborts{};
  // Under SyncPolicy::kElided: the outcomes of hardware transactions by site, summed over all
  // tables.
  std::vector<Statistics::Elision> elision;
  std::vector<Statistics::Procedure> procedures;  // only procedures that committed writes while hardware transactions were in use
  Statistics::Lookups lookups;  // with --count-lookups
  LogUse log;
  Statistics at_end;
  uint64_t resident_bytes = 0;  // resident memory of the process at the end
  uint64_t resident_huge_bytes = 0;

  double throughput() const { return seconds > 0 ? static_cast<double>(committed) / seconds : 0; }
  uint64_t aborts_total() const;
};

template <class W>
struct Outcome {
  RunResult result;
  std::vector<std::unique_ptr<W>> workers;  // the workers after the run, so that the caller can read their results
};

// The state that the threads of one run share. It does not depend on the worker's type, and is used
// only through drive().
class RunControl {
 public:
  enum class Phase : uint32_t { kPreparing, kWarmup, kMeasuring, kStopped };

  // One thread's results, on cache lines that only this thread writes. The thread that prints the
  // progress reads `done`.
  struct alignas(128) Tally {
    std::atomic<uint64_t> done{0};
    std::vector<Histogram> latency;
    Histogram group_first, group_last;
    std::string failure;
    void publish(uint64_t count) { done.store(count, std::memory_order_relaxed); }  // relaxed: a statistic
    uint64_t published() const { return done.load(std::memory_order_relaxed); }
  };

  // `db` may be null; the result then lacks the database's counters.
  RunControl(const CommonOptions& options, Database* db, std::vector<std::string> types);

  // Runs body(thread) on every thread and assembles the result. body() prepares a worker and then
  // runs its transactions.
  RunResult run(const std::function<void(uint32_t)>& body);

  // Called by each thread when it is ready to run. Waits until all threads are ready.
  void arrive();
  // Relaxed: the phase does not guard any data, and it does not matter in which phase a single
  // transaction is counted.
  Phase phase() const { return static_cast<Phase>(phase_.load(std::memory_order_relaxed)); }
  void fail(uint32_t thread, std::string why);
  Tally& tally(uint32_t thread) { return *tallies_[thread]; }
  size_t types() const { return types_.size(); }

 private:
  void set_phase(Phase phase) { phase_.store(static_cast<uint32_t>(phase), std::memory_order_release); }
  void wait_for_threads_prepared();
  void wait_until(uint64_t end_ns, uint64_t begin_ns, const char* what);
  void wait_for_transactions();  // CommonOptions::transactions_min
  bool ends_early() const;       // a worker has failed, or the run was interrupted
  void show_progress(const char* what, double elapsed, double total, double interval, uint64_t* done_before, uint64_t* aborts_before);
  Statistics statistics_when_durable();
  RunResult collect(double seconds, double ns_per_tick, const Statistics& before);

  // Constant after construction.
  const CommonOptions& options_;
  Database* db_;
  std::vector<std::string> types_;
  bool shows_progress_;
  std::vector<std::unique_ptr<Tally>> tallies_;

  alignas(128) std::atomic<uint32_t> phase_{0};
  alignas(128) std::atomic<uint32_t> prepared_{0};
  std::atomic<uint32_t> failed_{0};
};

// Binds the calling thread to a processor: the one at `index` (modulo the number of processors) in
// processors_core_by_core(). Returns false if the system refuses.
bool pin_thread(uint32_t index);

namespace detail {

// Calls the worker's begin_measuring(), if it has one, on the worker's thread.
template <class W>
void begin_measuring(W& worker) {
  if constexpr (requires { worker.begin_measuring(); }) worker.begin_measuring();
}

template <BenchWorker W>
void work(RunControl& control, uint32_t thread, W& worker) {
  RunControl::Tally& tally = control.tally(thread);
  const uint32_t types = static_cast<uint32_t>(control.types());
  while (control.phase() == RunControl::Phase::kWarmup)
    if (worker.run_one() >= types) [[unlikely]] return control.fail(thread, worker.failure());
  begin_measuring(worker);
  Histogram* const latency = tally.latency.data();
  uint64_t done = 0;
  uint64_t last = ticks();
  while (control.phase() == RunControl::Phase::kMeasuring) {
    const uint32_t type = worker.run_one();
    if (type >= types) [[unlikely]] return control.fail(thread, worker.failure());
    const uint64_t now = ticks();
    latency[type].record(now - last);
    last = now;
    tally.publish(++done);
  }
}

template <GroupWorker W>
void work_in_groups(RunControl& control, uint32_t thread, W& worker) {
  RunControl::Tally& tally = control.tally(thread);
  GroupTimes times;
  while (control.phase() == RunControl::Phase::kWarmup)
    if (!worker.run_group(times)) [[unlikely]] return control.fail(thread, worker.failure());
  begin_measuring(worker);
  uint64_t done = 0;
  uint64_t last = ticks();
  while (control.phase() == RunControl::Phase::kMeasuring) {
    if (!worker.run_group(times)) [[unlikely]] return control.fail(thread, worker.failure());
    const uint64_t now = ticks();
    for (const uint32_t type : times.types) tally.latency[type].record(now - last);
    tally.group_first.record(times.first_ticks - times.begin_ticks);
    tally.group_last.record(times.last_ticks - times.begin_ticks);
    last = now;
    tally.publish(done += times.types.size());
  }
}

}  // namespace detail

// make(thread) returns a std::unique_ptr<W>, and runs on the thread that will use the worker. `db`
// may be null.
template <BenchWorker W, class Make>
Outcome<W> drive(const CommonOptions& options, Database* db, std::vector<std::string> types, Make&& make) {
  Outcome<W> outcome;
  outcome.workers.resize(options.threads);
  RunControl control(options, db, std::move(types));
  outcome.result = control.run([&](uint32_t thread) {
    outcome.workers[thread] = make(thread);
    control.arrive();
    if constexpr (GroupWorker<W>) {
      if (options.group != 0) return detail::work_in_groups(control, thread, *outcome.workers[thread]);
    }
    detail::work(control, thread, *outcome.workers[thread]);
  });
  return outcome;
}

}  // namespace elider::bench
