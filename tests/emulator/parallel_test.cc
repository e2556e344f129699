// Real threads in the parallel mode: overlapping regions, threads that block, end, and start.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/random.h"
#include "tests/emulator/support.h"

namespace elider::emulator_test {
namespace {

void run_threads(uint32_t count, const std::function<void(uint32_t)>& body) {
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < count; ++t) threads.emplace_back([&body, t] { body(t); });
  for (std::thread& thread : threads) thread.join();
}

WithOptions turns_of(uint32_t accesses) {
  return WithOptions([&](emulator::Options& options) { options.accesses_per_turn = accesses; });
}

TEST(Parallel, retried_regions_count_exactly) {
  const WithOptions turns = turns_of(20);
  const Lines lines = make_lines(1);
  std::atomic<int> ready{0};
  emulator::reset_counters();
  run_threads(4, [&](uint32_t) {
    ready.fetch_add(1);
    while (ready.load() < 4) ::sched_yield();
    for (int i = 0; i < 3000; ++i) {
      while (attempt([&] { lines[0].words[0] = lines[0].words[0] + 1; }) != kStarted) {
      }
    }
  });
  EXPECT_EQ(lines[0].words[0], 12'000u);
  EXPECT_EQ(emulator::counters().committed, 12'000u);
  EXPECT_GT(emulator::counters().conflict_aborts, 100u);  // or they did not overlap
}

// The sum of the accounts is zero at every instant, for regions and for the holder of the lock.
TEST(Parallel, transfers_between_accounts_keep_their_sum) {
  const WithOptions turns = turns_of(50);
  constexpr uint64_t kAccounts = 64, kHeld = 1;
  const Lines accounts = make_lines(kAccounts);
  const Lines lock_line = make_lines(1);
  auto& lock = reinterpret_cast<std::atomic<uint64_t>&>(lock_line[0].words[0]);
  std::atomic<int> wrong_sums{0};
  std::atomic<int> ready{0};
  run_threads(3, [&](uint32_t me) {
    ready.fetch_add(1);
    while (ready.load() < 3) ::sched_yield();
    Random random(me);
    for (int i = 0; i < 1500; ++i) {
      const uint64_t from = random.below(kAccounts), to = random.below(kAccounts), amount = random.below(100);
      const bool audit = random.one_in(16);
      const auto body = [&] {
        if (audit) {
          uint64_t sum = 0;
          for (uint64_t account = 0; account < kAccounts; ++account) sum += accounts[account].words[0];
          return sum == 0;
        }
        accounts[from].words[0] = accounts[from].words[0] - amount;
        accounts[to].words[0] = accounts[to].words[0] + amount;
        return true;
      };
      bool right = true, done = false;
      for (int tries = 0; tries < 4 && !done; ++tries) {
        done = attempt([&] {
                 if (lock.load() != 0) elider_emulator_abort(1);
                 right = body();
               }) == kStarted;
      }
      if (!done) {
        while (lock.exchange(kHeld) != 0) ::sched_yield();
        right = body();
        lock.store(0);
      }
      if (!right) wrong_sums.fetch_add(1);
    }
  });
  EXPECT_EQ(wrong_sums.load(), 0);
}

TEST(Parallel, threads_that_wait_for_each_other_go_on) {
  ASSERT_EQ(attempt([] {}), kStarted);
  std::mutex mutex;
  std::condition_variable changed;
  uint32_t turn = 0;
  run_threads(3, [&](uint32_t me) {
    for (int i = 0; i < 200; ++i) {
      std::unique_lock<std::mutex> held(mutex);
      changed.wait(held, [&] { return turn == me; });
      turn = (turn + 1) % 3;
      changed.notify_all();
    }
  });
  EXPECT_EQ(turn, 0u);
}

// The runtime does not intercept a read of a pipe. A thread that sleeps in one loses its turn.
TEST(Parallel, turn_leaves_a_thread_that_sleeps_in_the_kernel) {
  ASSERT_EQ(attempt([] {}), kStarted);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::atomic<bool> about_to_read{false};
  char got = 0;
  run_threads(2, [&](uint32_t me) {
    if (me == 0) {
      about_to_read.store(true);
      ASSERT_EQ(read(ends[0], &got, 1), 1);
    } else {
      while (!about_to_read.load()) ::sched_yield();
      for (uint64_t i = 0; i < 100; ++i) attempt([] {});
      ASSERT_EQ(write(ends[1], "x", 1), 1);
    }
  });
  EXPECT_EQ(got, 'x');
  close(ends[0]);
  close(ends[1]);
}

struct CountsAtTheEnd {
  std::atomic<int>* ended = nullptr;
  ~CountsAtTheEnd() {
    if (ended != nullptr) attempt([this] { ended->fetch_add(1); });
  }
};
thread_local CountsAtTheEnd counts_at_the_end;

TEST(Parallel, threads_come_and_go_and_run_regions_to_the_last) {
  std::atomic<int> ended{0};
  int expected = 0;
  for (int round = 0; round < 100; ++round) {
    run_threads(4, [&](uint32_t) { counts_at_the_end.ended = &ended; });
    expected += 4;
  }
  // A destructor's attempt may lose a conflict, and is not repeated.
  EXPECT_LE(ended.load(), expected);
  EXPECT_GT(ended.load(), expected / 2);
}

TEST(Parallel, child_of_a_fork_is_alone_and_goes_on) {
  std::atomic<bool> stop{false};
  const Lines lines = make_lines(1);
  std::thread other([&] {
    while (!stop.load()) attempt([&] { look(lines[0].words[0]); });
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const bool works = attempt([&] { lines[0].words[1] = 1; }) == kStarted;
      _exit(works ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop.store(true);
  other.join();
}

}  // namespace
}  // namespace elider::emulator_test
