#include "bench/common/driver.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "bench/common/loader.h"
#include "bench/common/report.h"

namespace elider::bench {
namespace {

// A slow machine must not fail a test. A test that takes this many seconds hangs.
constexpr double kHang = 600;

CommonOptions quick(uint32_t threads) {
  CommonOptions options;
  options.threads = threads;
  options.seconds = 0.1;
  options.transactions_min = 2;
  options.quiet = true;
  return options;
}

// Runs two types of transactions in turn, 0.1 ms each. Fails after `fail_after` transactions.
struct SleepyWorker {
  explicit SleepyWorker(uint64_t fail_after) : fail_after(fail_after) {}
  uint32_t run_one() {
    if (done == fail_after) return kWorkerFailed;
    const auto begin = std::chrono::steady_clock::now();
    if (done == 0) first_begin = begin;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    last_end = std::chrono::steady_clock::now();
    return static_cast<uint32_t>(done++ % 2);
  }
  std::string failure() const { return "broke on purpose"; }
  void begin_measuring() { warmed_up = done; }
  uint64_t fail_after;
  uint64_t done = 0, warmed_up = 0;
  std::chrono::steady_clock::time_point first_begin, last_end;
};

TEST(Driver, counts_every_measured_transaction_by_type) {
  auto outcome = drive<SleepyWorker>(quick(3), nullptr, {"even", "odd"}, [](uint32_t) { return std::make_unique<SleepyWorker>(~0ull); });
  const RunResult& result = outcome.result;
  EXPECT_EQ(result.failure, "");
  uint64_t done = 0;
  for (const auto& worker : outcome.workers) done += worker->done;
  EXPECT_EQ(outcome.workers.size(), 3u);
  EXPECT_EQ(result.committed, done);
  EXPECT_EQ(result.types[0].committed + result.types[1].committed, done);
  EXPECT_GE(result.types[0].committed, result.types[1].committed);
  EXPECT_GE(result.seconds, 0.0999);
  EXPECT_LT(result.seconds, kHang);
  EXPECT_FALSE(result.has_statistics);
}

TEST(Driver, latencies_are_in_true_microseconds) {
  auto outcome = drive<SleepyWorker>(quick(1), nullptr, {"even", "odd"}, [](uint32_t) { return std::make_unique<SleepyWorker>(~0ull); });
  const RunResult& result = outcome.result;
  EXPECT_GE(result.types[0].latency_ticks.quantile(0.5) * result.ns_per_tick, 98'000);
  // A thread's latencies sum up to its time.
  const double sum = result.types[0].latency_ticks.mean() * static_cast<double>(result.types[0].committed) +
                     result.types[1].latency_ticks.mean() * static_cast<double>(result.types[1].committed);
  const SleepyWorker& worker = *outcome.workers[0];
  const double its_time = std::chrono::duration<double>(worker.last_end - worker.first_begin).count();
  EXPECT_NEAR(sum * result.ns_per_tick / 1e9, its_time, 0.05 * its_time);
}

TEST(Driver, warm_up_is_run_and_not_measured) {
  CommonOptions options = quick(1);
  uint64_t warmed_up = 0;
  // If the thread does not get a processor during the warm-up, the warm-up is made longer.
  for (options.warmup_seconds = 0.1; warmed_up == 0 && options.warmup_seconds < kHang; options.warmup_seconds *= 10) {
    auto outcome = drive<SleepyWorker>(options, nullptr, {"even", "odd"}, [](uint32_t) { return std::make_unique<SleepyWorker>(~0ull); });
    warmed_up = outcome.workers[0]->warmed_up;
    EXPECT_EQ(outcome.workers[0]->done, warmed_up + outcome.result.committed);
  }
  EXPECT_GT(warmed_up, 0u);
}

TEST(Driver, a_run_lasts_until_each_thread_has_done_the_least) {
  CommonOptions options = quick(3);
  options.seconds = 0.001;
  options.transactions_min = 50;
  auto outcome = drive<SleepyWorker>(options, nullptr, {"even", "odd"}, [](uint32_t) { return std::make_unique<SleepyWorker>(~0ull); });
  for (const auto& worker : outcome.workers) EXPECT_GE(worker->done, 50u);
}

TEST(Driver, a_failing_worker_ends_the_run_early_and_says_why) {
  CommonOptions options = quick(2);
  options.seconds = 2 * kHang;
  auto outcome = drive<SleepyWorker>(options, nullptr, {"even", "odd"},
                                     [](uint32_t thread) { return std::make_unique<SleepyWorker>(thread == 0 ? 10 : ~0ull); });
  EXPECT_EQ(outcome.result.failure, "broke on purpose");
  EXPECT_LT(outcome.result.seconds, kHang);
}

TEST(Loader, loads_every_part_once_on_all_threads) {
  std::vector<std::atomic<int>> parts(100);
  const auto load_part = [&](uint32_t, uint64_t part, LoadProgress& progress) -> Status {
    ++parts[part];
    progress.add(3);
    return {};
  };
  const LoadResult result = load_parallel(quick(4), "parts", parts.size(), 0, load_part);
  EXPECT_TRUE(result.status.ok());
  EXPECT_EQ(result.rows, 300u);
  for (const auto& count : parts) EXPECT_EQ(count.load(), 1);
}

TEST(Loader, stops_at_the_first_failure_and_returns_it) {
  std::atomic<uint64_t> ran{0};
  const LoadResult result = load_parallel(quick(2), "parts", 1'000'000, 0, [&](uint32_t, uint64_t part, LoadProgress&) -> Status {
    ++ran;
    return part == 5 ? Status::invalid_argument("part five") : Status();
  });
  EXPECT_EQ(result.status.message(), Status::invalid_argument("part five").message());
  EXPECT_LT(ran.load(), 1'000'000u);
}

TEST(Report, numbers_are_short) {
  EXPECT_EQ(short_number(2'345'678), "2.35 M");
  EXPECT_EQ(short_number(56'789), "56.8 K");
  EXPECT_EQ(short_number(987), "987");
  EXPECT_EQ(short_bytes(1'080'000'000), "1.08 GB");
}

}  // namespace
}  // namespace elider::bench
