// A small elided program under thousands of seeded schedules and in parallel. The environment
// variable ELIDER_ELISION_MUTANT chooses a mutant of it for the tests ElidedProgram.*, which must
// then fail: mutants.sh shows it. The tests ElisionMutant.* show it in one process.
#include "tests/emulator/elided_program.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "lab/emulator/schedule.h"

namespace elider::emulator_test {
namespace {

using emulator::run_schedule;

constexpr uint64_t kAccessesMax = 200'000;

ElisionMutant mutant_of_environment() {
  const char* const name = std::getenv("ELIDER_ELISION_MUTANT");
  for (const NamedMutant& named : kElisionMutants) {
    if (named.name == (name == nullptr ? "none" : name)) return named.mutant;
  }
  ADD_FAILURE() << "ELIDER_ELISION_MUTANT: no mutant is called " << name;
  return ElisionMutant::kNone;
}

// A small cache, so that large sections take the lock while others run.
WithOptions small_cache() {
  return WithOptions([](emulator::Options& options) {
    options.sets = 4;
    options.ways = 4;
  });
}

// Three threads, eight sections each; false: the words are wrong at the end.
bool schedule_holds(ElisionMutant mutant, uint64_t seed) {
  ElidedProgram program(mutant);
  const auto body = [&program] {
    for (uint32_t round = 0; round < 8; ++round) program.section(round);
  };
  run_schedule(seed, {body, body, body}, kAccessesMax);
  return program.consistent(24);
}

TEST(ElidedProgram, holds_in_thousands_of_schedules) {
  const WithOptions small = small_cache();
  const ElisionMutant mutant = mutant_of_environment();
  emulator::reset_counters();
  for (uint64_t seed = 1; seed <= 2000; ++seed) ASSERT_TRUE(schedule_holds(mutant, seed)) << "seed " << seed;
  const emulator::Counters counters = emulator::counters();
  EXPECT_GT(counters.committed, 10'000u);
  EXPECT_GT(counters.conflict_aborts, 1'000u);
  EXPECT_GT(counters.capacity_aborts, 1'000u);
  EXPECT_GT(counters.explicit_aborts, 100u);
}

TEST(ElidedProgram, holds_with_aborts_of_every_kind) {
  const ElisionMutant mutant = mutant_of_environment();
  for (const double rate : {0.01, 0.1, 0.5}) {
    const WithOptions harsh([&](emulator::Options& options) {
      options.sets = 4;
      options.ways = 4;
      options.spurious_abort_rate = rate;
      options.accesses_per_interrupt = 500;
    });
    for (uint64_t seed = 1; seed <= 300; ++seed) ASSERT_TRUE(schedule_holds(mutant, seed)) << "seed " << seed << " rate " << rate;
  }
}

TEST(ElidedProgram, holds_with_a_cache_of_one_line) {
  const ElisionMutant mutant = mutant_of_environment();
  const WithOptions one_line([](emulator::Options& options) { options.sets = options.ways = 1; });
  for (uint64_t seed = 1; seed <= 300; ++seed) ASSERT_TRUE(schedule_holds(mutant, seed)) << "seed " << seed;
}

TEST(ElidedProgram, holds_in_parallel) {
  const ElisionMutant mutant = mutant_of_environment();
  for (const uint32_t accesses_per_turn : {3u, 30u, 300u}) {
    const WithOptions parallel([&](emulator::Options& options) {
      options.sets = options.ways = 4;
      options.accesses_per_turn = accesses_per_turn;
    });
    emulator::reset_counters();
    ElidedProgram program(mutant);
    constexpr uint32_t kThreads = 4, kRounds = 1000;
    std::atomic<uint32_t> ready{0};
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&program, &ready] {
        ready.fetch_add(1);
        while (ready.load() < kThreads) ::sched_yield();
        for (uint32_t round = 0; round < kRounds; ++round) program.section(round);
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_TRUE(program.consistent(kThreads * kRounds)) << accesses_per_turn;
    EXPECT_GT(emulator::counters().conflict_aborts, 10u) << accesses_per_turn;  // or they did not overlap
  }
}

// How many schedules it took; 0: none of the first thousand shows it.
uint64_t seeds_to_catch(ElisionMutant mutant) {
  const WithOptions small = small_cache();
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    if (!schedule_holds(mutant, seed)) return seed;
  }
  return 0;
}

TEST(ElisionMutant, schedules_show_wrong_words) {
  for (const ElisionMutant mutant : {ElisionMutant::kNoSubscription, ElisionMutant::kLazySubscription, ElisionMutant::kRawWrite,
                                     ElisionMutant::kFallbackDoesNotWait}) {
    const uint64_t seeds = seeds_to_catch(mutant);
    EXPECT_NE(seeds, 0u) << kElisionMutants[static_cast<size_t>(mutant)].name;
    RecordProperty(std::string(kElisionMutants[static_cast<size_t>(mutant)].name), static_cast<int>(seeds));
  }
}

TEST(ElisionMutantDeathTest, missing_commit_and_unbounded_retry_end_the_process) {
  EXPECT_DEATH(seeds_to_catch(ElisionMutant::kMissingCommit), "a commit is missing");
  EXPECT_DEATH(seeds_to_catch(ElisionMutant::kUnboundedRetry), "the schedule with seed 1 has not ended after 200000 accesses");
}

}  // namespace
}  // namespace elider::emulator_test
