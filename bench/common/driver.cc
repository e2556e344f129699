#include "bench/common/driver.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <system_error>
#include <thread>

#include <unistd.h>

#include <fmt/format.h>

#include "bench/common/processors.h"
#include "tools/common/environment.h"
#include "tools/common/interrupt.h"
#include "bench/common/report.h"

namespace elider::bench {

namespace {

constexpr double kNsPerSecond = 1e9;
constexpr uint64_t kProgressIntervalNs = 1'000'000'000;
// How often the main thread checks whether a worker has failed or the run was interrupted.
constexpr uint64_t kWatchIntervalNs = 20'000'000;

void sleep_ns(uint64_t ns) { std::this_thread::sleep_for(std::chrono::nanoseconds(ns)); }

}  // namespace

bool pin_thread(uint32_t index) {
  static const std::vector<uint32_t> processors = processors_core_by_core();
  return !processors.empty() && bind_thread(processors[index % processors.size()]);
}

uint64_t RunResult::aborts_total() const {
  uint64_t sum = 0;
  for (uint64_t count : aborts) sum += count;
  return sum;
}

RunControl::RunControl(const CommonOptions& options, Database* db, std::vector<std::string> types)
    : options_(options), db_(db), types_(std::move(types)), shows_progress_(!options.quiet && ::isatty(STDERR_FILENO) == 1) {
  for (uint32_t thread = 0; thread < options.threads; ++thread) {
    tallies_.push_back(std::make_unique<Tally>());
    tallies_.back()->latency.resize(types_.size());
  }
}

void RunControl::arrive() {
  prepared_.fetch_add(1, std::memory_order_acq_rel);
  // Waits on a futex instead of spinning, so that the last thread gets a processor even if there
  // are more threads than processors.
  while (phase_.load(std::memory_order_acquire) == static_cast<uint32_t>(Phase::kPreparing))
    phase_.wait(static_cast<uint32_t>(Phase::kPreparing), std::memory_order_acquire);
}

void RunControl::fail(uint32_t thread, std::string why) {
  tallies_[thread]->failure = std::move(why);
  failed_.store(1, std::memory_order_release);
}

void RunControl::wait_for_threads_prepared() {
  while (prepared_.load(std::memory_order_acquire) < options_.threads) sleep_ns(1'000'000);
}

void RunControl::show_progress(const char* what, double elapsed, double total, double interval, uint64_t* done_before,
                               uint64_t* aborts_before) {
  uint64_t done = 0;
  for (const auto& tally : tallies_) done += tally->published();
  std::string aborts;
  if (db_ != nullptr) {
    const uint64_t now = db_->statistics().aborts_total();
    aborts = fmt::format(", {} aborts/s", short_number(static_cast<double>(now - *aborts_before) / interval));
    *aborts_before = now;
  }
  const std::string line = fmt::format("{} {:.0f}/{:.0f} s: {} txn/s{}", what, elapsed, total,
                                       short_number(static_cast<double>(done - *done_before) / interval), aborts);
  *done_before = done;
  fmt::print(stderr, "\r{:<70}", line);
  std::fflush(stderr);
}

void RunControl::wait_until(uint64_t end_ns, uint64_t begin_ns, const char* what) {
  uint64_t done_before = 0;
  uint64_t aborts_before = shows_progress_ && db_ != nullptr ? db_->statistics().aborts_total() : 0;
  uint64_t shown_ns = begin_ns;
  const double total = static_cast<double>(end_ns - begin_ns) / kNsPerSecond;
  for (uint64_t now = steady_ns(); now < end_ns; now = steady_ns()) {
    if (ends_early()) break;
    if (shows_progress_ && now - shown_ns >= kProgressIntervalNs) {
      show_progress(what, static_cast<double>(now - begin_ns) / kNsPerSecond, total, static_cast<double>(now - shown_ns) / kNsPerSecond,
                    &done_before, &aborts_before);
      shown_ns = now;
    }
    sleep_ns(std::min(end_ns - now, kWatchIntervalNs));
  }
  if (shows_progress_ && shown_ns != begin_ns) fmt::print(stderr, "\r{:<70}\r", "");
}

bool RunControl::ends_early() const { return failed_.load(std::memory_order_acquire) != 0 || interrupted(); }

void RunControl::wait_for_transactions() {
  const auto enough = [this](const auto& tally) { return tally->published() >= options_.transactions_min; };
  while (!std::all_of(tallies_.begin(), tallies_.end(), enough) && !ends_early()) sleep_ns(1'000'000);
}

RunResult RunControl::run(const std::function<void(uint32_t)>& body) {
  std::vector<std::thread> threads;
  std::atomic<uint32_t> unpinned{0};
  const InterruptWatch watch(options_.reports_when_interrupted);
  try {
    threads.reserve(options_.threads);
    for (uint32_t thread = 0; thread < options_.threads; ++thread)
      threads.emplace_back([&, thread] {
        if (options_.pin && !pin_thread(thread)) unpinned.fetch_add(1, std::memory_order_relaxed);
        body(thread);
      });
  } catch (const std::system_error& refused) {
    set_phase(Phase::kStopped);
    phase_.notify_all();
    for (std::thread& thread : threads) thread.join();
    throw std::runtime_error(
        fmt::format("the system could create only {} of {} threads: {}", threads.size(), options_.threads, refused.code().message()));
  }
  wait_for_threads_prepared();
  if (unpinned.load(std::memory_order_relaxed) != 0)
    fmt::print(stderr, "elider: --pin: the system refused to bind a thread to a processor; continuing\n");

  if (options_.warmup_seconds > 0) {
    const uint64_t begin_ns = steady_ns();
    set_phase(Phase::kWarmup);
    phase_.notify_all();
    wait_until(begin_ns + static_cast<uint64_t>(options_.warmup_seconds * kNsPerSecond), begin_ns, "warm-up");
  }
  const Statistics before = db_ != nullptr ? statistics_when_durable() : Statistics();
  const TickScale scale;
  const uint64_t begin_ns = steady_ns();
  set_phase(Phase::kMeasuring);
  phase_.notify_all();
  wait_until(begin_ns + static_cast<uint64_t>(options_.seconds * kNsPerSecond), begin_ns, "running");
  wait_for_transactions();
  set_phase(Phase::kStopped);
  const uint64_t end_ns = steady_ns();
  const double ns_per_tick = scale.ns_per_tick();
  for (std::thread& thread : threads) thread.join();
  return collect(static_cast<double>(end_ns - begin_ns) / kNsPerSecond, ns_per_tick, before);
}

// Returns the increase of each site's counters between the two statistics, summed over all tables.
// Counters never decrease, and every site in `before` also exists in `at_end`.
std::vector<Statistics::Elision> elision_between(const Statistics& before, const Statistics& at_end) {
  std::vector<Statistics::Elision> sites;
  const auto site_of = [&sites](const std::string& name) -> Statistics::Elision& {
    for (Statistics::Elision& site : sites)
      if (site.site == name) return site;
    sites.emplace_back().site = name;
    return sites.back();
  };
  const auto add = [&](const Statistics::Elision& counted, uint64_t factor) {
    Statistics::Elision& site = site_of(counted.site);
    site.commits += factor * counted.commits;
    site.in_vain += factor * counted.in_vain;
    site.fallbacks += factor * counted.fallbacks;
    site.direct += factor * counted.direct;
    for (size_t cause = 0; cause < kRegionCauseCount; ++cause) site.aborts[cause] += factor * counted.aborts[cause];
  };
  for (const Statistics::Elision& counted : at_end.elision) add(counted, 1);
  for (const Statistics::Elision& counted : before.elision) add(counted, ~uint64_t{0});  // -1 in unsigned arithmetic
  std::erase_if(sites, [](const Statistics::Elision& site) { return site.attempts() + site.fallbacks + site.direct == 0; });
  return sites;
}

// Returns the increase of each procedure's counters. A procedure has the same index in both
// statistics.
std::vector<Statistics::Procedure> writers_between(const Statistics& before, const Statistics& at_end) {
  std::vector<Statistics::Procedure> procedures;
  for (size_t i = 0; i < at_end.procedures.size(); ++i) {
    Statistics::Procedure one = at_end.procedures[i];
    if (i < before.procedures.size()) {
      one.commits -= before.procedures[i].commits;
      for (size_t cause = 0; cause < one.aborts.size(); ++cause) one.aborts[cause] -= before.procedures[i].aborts[cause];
      one.region_commits -= before.procedures[i].region_commits;
      one.lock_bit_commits -= before.procedures[i].lock_bit_commits;
      one.locked_commits -= before.procedures[i].locked_commits;
    }
    if (one.region_commits + one.lock_bit_commits + one.locked_commits != 0) procedures.push_back(std::move(one));
  }
  return procedures;
}

// Waits until all commits are durable, so that the log's counters cover every committed
// transaction. If the log has failed, the statistics contain the error.
Statistics RunControl::statistics_when_durable() {
  static_cast<void>(db_->wait_durable());
  return db_->statistics();
}

RunResult RunControl::collect(double seconds, double ns_per_tick, const Statistics& before) {
  RunResult result;
  result.seconds = seconds;
  result.ns_per_tick = ns_per_tick;
  result.interrupted = options_.reports_when_interrupted && interrupted();
  for (size_t type = 0; type < types_.size(); ++type) {
    TypeResult& of_type = result.types.emplace_back();
    of_type.name = types_[type];
    for (const auto& tally : tallies_) of_type.latency_ticks.merge(tally->latency[type]);
    of_type.committed = of_type.latency_ticks.count();
    result.committed += of_type.committed;
  }
  for (const auto& tally : tallies_) {
    if (result.failure.empty()) result.failure = tally->failure;
    result.group_first_ticks.merge(tally->group_first);
    result.group_last_ticks.merge(tally->group_last);
  }
  result.resident_bytes = resident_bytes();
  result.resident_huge_bytes = resident_huge_bytes();
  if (db_ == nullptr) return result;
  result.has_statistics = true;
  result.at_end = statistics_when_durable();
  if (result.failure.empty()) result.failure = result.at_end.log_failure;
  result.engine_commits = result.at_end.commits - before.commits;
  for (size_t cause = 0; cause < result.aborts.size(); ++cause) result.aborts[cause] = result.at_end.aborts[cause] - before.aborts[cause];
  result.elision = elision_between(before, result.at_end);
  result.procedures = writers_between(before, result.at_end);
  const Statistics::Lookups &first = before.lookups, &last = result.at_end.lookups;
  result.lookups = {last.of_rows - first.of_rows, last.rows_kept - first.rows_kept, last.of_trees - first.of_trees,
                    last.leaves_kept - first.leaves_kept};
  result.log = LogUse::between(before, result.at_end);
  return result;
}

}  // namespace elider::bench
