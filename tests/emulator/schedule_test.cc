// The seeded scheduler: replays, waiting of every kind, and the two ways in which a schedule fails.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "base/spin.h"
#include "lab/emulator/schedule.h"
#include "tests/emulator/support.h"

namespace elider::emulator_test {
namespace {

using emulator::run_schedule;
using emulator::Schedule;

// Which of three threads wrote when.
std::vector<int> order_of(uint64_t seed, Schedule* schedule) {
  std::vector<int> order(60);
  std::atomic<size_t> next{0};
  const auto body = [&](int name) {
    return [&, name] {
      for (int i = 0; i < 20; ++i) order[next.fetch_add(1)] = name;
    };
  };
  *schedule = run_schedule(seed, {body(1), body(2), body(3)});
  return order;
}

TEST(Schedule, same_seed_gives_same_interleaving) {
  std::set<std::vector<int>> orders;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Schedule first, second;
    const std::vector<int> order = order_of(seed, &first);
    EXPECT_EQ(order, order_of(seed, &second)) << seed;
    EXPECT_EQ(first.trace, second.trace) << seed;
    EXPECT_EQ(first.accesses, second.accesses) << seed;
    EXPECT_EQ(first.switches, second.switches) << seed;
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 60u);  // and different seeds give different ones
}

TEST(Schedule, regions_replay_with_their_aborts) {
  const WithOptions spurious([](auto& options) { options.spurious_abort_rate = 0.3; });
  const Lines lines = make_lines(2);
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<unsigned> statuses[2];
    for (auto& run : statuses) {
      std::vector<unsigned> seen[2] = {std::vector<unsigned>(8), std::vector<unsigned>(8)};
      const auto body = [&](int me) {
        return [&, me] {
          for (unsigned& status : seen[me]) status = attempt([&] { lines[0].words[0] = lines[0].words[0] + 1; });
        };
      };
      run_schedule(seed, {body(0), body(1)});
      run.insert(run.end(), seen[0].begin(), seen[0].end());
      run.insert(run.end(), seen[1].begin(), seen[1].end());
    }
    EXPECT_EQ(statuses[0], statuses[1]) << seed;
  }
}

TEST(Schedule, plain_increments_get_lost_in_some_schedule) {
  int lost = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Lines lines = make_lines(1);
    const auto body = [&] {
      for (int i = 0; i < 5; ++i) lines[0].words[0] = lines[0].words[0] + 1;
    };
    run_schedule(seed, {body, body});
    lost += lines[0].words[0] != 10;
  }
  EXPECT_GT(lost, 50);
}

TEST(Schedule, mutexes_exclude_and_condition_variables_wake) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::mutex mutex;
    std::condition_variable changed;
    int count = 0, turn = 0;
    const auto body = [&](int me) {
      return [&, me] {
        for (int i = 0; i < 5; ++i) {
          std::unique_lock<std::mutex> held(mutex);
          changed.wait(held, [&] { return turn == me; });
          ++count;
          turn = 1 - me;
          changed.notify_all();
        }
      };
    };
    run_schedule(seed, {body(0), body(1)});
    ASSERT_EQ(count, 10) << seed;
  }
}

TEST(Schedule, timed_waits_end_where_nobody_else_can_run) {
  std::mutex mutex;
  std::condition_variable never;
  bool came = true;
  run_schedule(1, {[&] {
                 std::unique_lock<std::mutex> held(mutex);
                 came = never.wait_for(held, std::chrono::milliseconds(5), [] { return false; });
               }});
  EXPECT_FALSE(came);
}

TEST(Schedule, spinning_futexes_and_sharing_wait_their_turn) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::atomic<int> stage{0};
    std::shared_mutex shared;
    int seen = 0;
    run_schedule(seed, {[&] {
                          Spin spin;
                          while (stage.load() != 1) spin.wait();
                          const std::unique_lock<std::shared_mutex> held(shared);
                          seen = 5;
                          stage.store(2);
                          stage.notify_all();
                        },
                        [&] {
                          {
                            const std::shared_lock<std::shared_mutex> held(shared);
                            stage.store(1);
                          }
                          stage.wait(1);
                          const std::shared_lock<std::shared_mutex> held(shared);
                          ++seen;
                        }});
    ASSERT_EQ(seen, 6) << seed;
  }
}

TEST(Schedule, bodies_start_and_join_threads) {
  Schedule first, second;
  for (Schedule* schedule : {&first, &second}) {
    std::atomic<int> sum{0};
    *schedule = run_schedule(7, {[&] {
                               std::vector<std::thread> threads;
                               for (int i = 1; i <= 4; ++i) threads.emplace_back([&sum, i] { sum.fetch_add(i); });
                               for (std::thread& thread : threads) thread.join();
                               EXPECT_EQ(sum.load(), 10);
                             }});
  }
  EXPECT_EQ(first.trace, second.trace);
}

TEST(ScheduleDeathTest, deadlock_ends_the_process_with_the_seed) {
  const auto deadlock = [] {
    for (uint64_t seed = 0; seed < 100; ++seed) {
      std::mutex a, b;
      const auto body = [](std::mutex& first, std::mutex& second) {
        return [&] {
          const std::lock_guard<std::mutex> one(first);
          const std::lock_guard<std::mutex> two(second);
        };
      };
      run_schedule(seed, {body(a, b), body(b, a)});
    }
  };
  EXPECT_DEATH(deadlock(), "each thread of the schedule with seed [0-9]+ waits for another");
}

TEST(ScheduleDeathTest, endless_retry_ends_the_process_with_the_seed) {
  const auto endless = [] {
    const std::atomic<bool> never{false};
    run_schedule(3, {[&] {
                   while (!never.load()) {
                   }
                 }},
                 100'000);
  };
  EXPECT_DEATH(endless(), "the schedule with seed 3 has not ended after 100000 accesses");
}

}  // namespace
}  // namespace elider::emulator_test
