// The library's own elision (src/htm/elide.h) and its B+-tree in seeded schedules, which must
// detect each of its mutants (src/base/test_points.h). The environment variable ELIDER_MUTANT
// selects a mutant for the tests ElideScheduleTest.*, which must then fail (mutants.sh). The tests
// ElideMutant* do this in one process.
#include <gtest/gtest.h>

#include "base/racy.h"
#include "lab/emulator/schedule.h"
#include "index/art/art_batch.h"
#include "index/art/art_find.h"
#include "index/art/art_insert.h"
#include "index/art/art_remove.h"
#include "index/art/art_scan.h"
#include "index/art/art_verify.h"
#include "index/btree/btree_batch.h"
#include "index/btree/btree_find.h"
#include "index/btree/btree_insert.h"
#include "index/btree/btree_remove.h"
#include "index/btree/btree_scan.h"
#include "index/btree/btree_verify.h"
#include "tests/support/index_test_support.h"
#include "sync/elided.h"
#include "tests/emulator/support.h"

namespace elider::emulator_test {
namespace {

using Sync = sync::Elided<htm::Emulated>;

constexpr uint64_t kMutantAccessesMax = 2'000'000;

// Most regions abort, so that sections take the lock while others run. For one seed in four, no
// region fits the cache.
WithOptions harsh(uint64_t seed) {
  return WithOptions([seed](emulator::Options& options) {
    options.spurious_abort_rate = 0.6;
    if (seed % 4 == 0) options.sets = options.ways = 1;
  });
}

__attribute__((noinline, no_sanitize_thread)) void raw_increment(volatile uint64_t* word) { *word = *word + 1; }

// Three threads move two words on by one, a section each time, with other work in between. The
// second is written as the bytes of a row are. A section that finds the words unequal notes it
// where no abort takes it back: what a region does with half of a change is not always undone.
bool words_hold(uint64_t seed) {
  constexpr uint64_t kThreads = 3, kRounds = 8, kBetween = 8;
  constexpr ElisionPolicy kLittlePatience{.conflict_aborts_max = 1, .system_aborts_max = 0, .window_runs = 0};
  const WithOptions options = harsh(seed);
  const Lines lines = make_lines(3 + kBetween);
  uint64_t &first = lines[0].words[0], &second = lines[1].words[0], &torn = lines[2].words[0];
  sync::ElidedLatch latch;
  latch.set_policy(kLittlePatience);
  const auto body = [&]() -> bool {
    const uint64_t before = first, after = before + 1;
    if (second != before) raw_increment(&torn);
    first = after;
    for (uint64_t i = 0; i < kBetween / 2; ++i) lines[3 + i].words[0] = before;
    racy_copy_out(&second, &after, sizeof after);
    for (uint64_t i = kBetween / 2; i < kBetween; ++i) lines[3 + i].words[0] = before;
    return true;
  };
  const auto thread = [&] {
    for (uint64_t round = 0; round < kRounds; ++round) Sync::section(latch, sync::Operation::kInsert, body);
  };
  emulator::run_schedule(seed, {thread, thread, thread}, kMutantAccessesMax);
  return first == kThreads * kRounds && second == first && torn == 0;
}

// Two threads fill the same leaves.
bool tree_holds(uint64_t seed) {
  constexpr uint64_t kEach = 12;
  const WithOptions options = harsh(seed);
  index::test::Arena arena;
  index::BTree<Sync, uint64_t> tree;
  const auto insert = [&](uint64_t first) {
    index::test::Inside inside(arena);
    typename index::BTree<Sync, uint64_t>::Hint hint;
    for (uint64_t i = 0; i < kEach; ++i) tree.get_or_insert(*inside, first + 2 * i, 16 * (first + 2 * i + 1), hint);
  };
  emulator::run_schedule(seed, {[&] { insert(0); }, [&] { insert(1); }}, kMutantAccessesMax);
  if (!tree.verify().ok() || tree.size() != 2 * kEach) return false;
  const index::test::Inside inside(arena);
  for (uint64_t key = 0; key < 2 * kEach; ++key) {
    typename index::BTree<Sync, uint64_t>::Hint hint;
    index::Witness witness;
    if (tree.get(key, hint, witness) != 16 * (key + 1)) return false;
  }
  return true;
}

TEST(ElideScheduleTest, words_hold) {
  for (uint64_t seed = 1; seed <= 300; ++seed) ASSERT_TRUE(words_hold(seed)) << "seed " << seed;
}

TEST(ElideScheduleTest, a_tree_holds) {
  for (uint64_t seed = 1; seed <= 100; ++seed) ASSERT_TRUE(tree_holds(seed)) << "seed " << seed;
}

class ElideMutantTest : public testing::TestWithParam<Mutant> {
 protected:
  ElideMutantTest() : before_(active_mutant()) { set_mutant(GetParam()); }
  ~ElideMutantTest() override { set_mutant(before_); }

  // Returns how many schedules it took. 0: none of the first `seeds_max` schedules detects the
  // mutant.
  template <class Holds>
  static uint64_t seeds_to_catch(uint64_t seeds_max, Holds&& holds) {
    for (uint64_t seed = 1; seed <= seeds_max; ++seed)
      if (!holds(seed)) return seed;
    return 0;
  }

 private:
  const Mutant before_;
};

class ElideMutantDeathTest : public ElideMutantTest {};
class TreeMutantTest : public ElideMutantTest {};

TEST_P(ElideMutantTest, is_shown_by_words) { EXPECT_NE(seeds_to_catch(500, words_hold), 0u); }

TEST_P(TreeMutantTest, is_shown_by_a_tree) { EXPECT_NE(seeds_to_catch(300, tree_holds), 0u); }

TEST_P(ElideMutantDeathTest, ends_the_process) {
  EXPECT_DEATH(seeds_to_catch(8, words_hold),
               GetParam() == Mutant::kSkipRegionEnd ? "a commit is missing" : "the schedule with seed 4 has not ended");
}

const auto mutant_name = [](const testing::TestParamInfo<Mutant>& info) { return std::string(name_of(info.param)); };
INSTANTIATE_TEST_SUITE_P(On, ElideMutantTest,
                         testing::Values(Mutant::kSkipSubscription, Mutant::kLazySubscription, Mutant::kHastyFallback, Mutant::kRawWrite),
                         mutant_name);
INSTANTIATE_TEST_SUITE_P(On, TreeMutantTest, testing::Values(Mutant::kSkipSubscription, Mutant::kHastyFallback), mutant_name);
INSTANTIATE_TEST_SUITE_P(On, ElideMutantDeathTest, testing::Values(Mutant::kSkipRegionEnd, Mutant::kUnboundedRetry), mutant_name);

}  // namespace
}  // namespace elider::emulator_test
