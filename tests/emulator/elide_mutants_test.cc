// Mutants of what runs beside regions, under the library's own elision (src/htm/elide.h) and its B+-tree: a fallback that
// takes the lock without waiting for who holds it, and a write that bypasses the region. Schedules show each; without
// a mutant the same schedules hold.
#include <gtest/gtest.h>

#include "htm/emulator/schedule.h"
#include "index/btree/btree_batch.h"
#include "index/btree/btree_find.h"
#include "index/btree/btree_insert.h"
#include "index/btree/btree_remove.h"
#include "index/btree/btree_scan.h"
#include "index/btree/btree_verify.h"
#include "index/index_test_support.h"
#include "sync/elided.h"
#include "tests/emulator/support.h"

namespace elider::emulator_test {
namespace {

// The lock whose taking does not wait.
class HastyLock {
 public:
  explicit HastyLock(sync::SpinLatch& latch) : latch_(latch) {}
  void lock() { latch_.try_lock(); }
  void unlock() { latch_.unlock(); }
  bool held() const { return latch_.held(); }

 private:
  sync::SpinLatch& latch_;
};

// Elided with that fallback; a type of its own, as its sections are.
struct Hasty : sync::Elided<htm::Emulated> {
  struct Latch : sync::ElidedLatch {};
  template <class Body>
  static auto section(Latch& latch, sync::Operation operation, Body&& body) {
    HastyLock lock(latch.latch());
    return htm::elide<htm::Emulated>(latch.site(operation), lock, std::forward<Body>(body));
  }
};
static_assert(sync::Policy<Hasty>);

__attribute__((noinline, no_sanitize_thread)) void raw_increment(volatile uint64_t* word) { *word = *word + 1; }

// Many regions abort, so that sections take the lock while others run.
WithOptions harsh() {
  return WithOptions([](emulator::Options& options) { options.spurious_abort_rate = 0.6; });
}

struct Harm {
  bool hasty_fallback = false;
  bool raw_write = false;
};

// Three threads move two words on by one, a section each time, with other work in between.
bool words_hold(Harm harm, uint64_t seed) {
  constexpr uint64_t kThreads = 3, kRounds = 8, kBetween = 8;
  constexpr ElisionPolicy kLittlePatience{.conflict_aborts_max = 1, .system_aborts_max = 0, .window_runs = 0};
  const Lines lines = make_lines(2 + kBetween);
  uint64_t &first = lines[0].words[0], &second = lines[1].words[0];
  sync::ElidedLatch latch;
  latch.set_policy(kLittlePatience);
  HastyLock hasty(latch.latch());
  const auto body = [&]() -> bool {
    const uint64_t before = first;
    for (uint64_t i = 0; i < kBetween; ++i) lines[2 + i].words[0] = before;
    first = before + 1;
    if (harm.raw_write) raw_increment(&second);
    else second = before + 1;
    return true;
  };
  const auto thread = [&] {
    for (uint64_t round = 0; round < kRounds; ++round) {
      htm::Site& site = latch.site(sync::Operation::kInsert);
      if (harm.hasty_fallback) htm::elide<htm::Emulated>(site, hasty, body);
      else htm::elide<htm::Emulated>(site, latch.latch(), body);
    }
  };
  emulator::run_schedule(seed, {thread, thread, thread});
  return first == kThreads * kRounds && second == first;
}

// Two threads fill the same leaves.
template <class Sync>
bool tree_holds(uint64_t seed) {
  constexpr uint64_t kEach = 12;
  index::test::Arena arena;
  index::BTree<Sync, uint64_t> tree;
  const auto insert = [&](uint64_t first) {
    index::test::Inside inside(arena);
    typename index::BTree<Sync, uint64_t>::Hint hint;
    for (uint64_t i = 0; i < kEach; ++i) tree.get_or_insert(*inside, first + 2 * i, 16 * (first + 2 * i + 1), hint);
  };
  emulator::run_schedule(seed, {[&] { insert(0); }, [&] { insert(1); }});
  if (!tree.verify().ok() || tree.size() != 2 * kEach) return false;
  const index::test::Inside inside(arena);
  for (uint64_t key = 0; key < 2 * kEach; ++key) {
    typename index::BTree<Sync, uint64_t>::Hint hint;
    index::Witness witness;
    if (tree.get(key, hint, witness) != 16 * (key + 1)) return false;
  }
  return true;
}

// How many schedules it took; 0: none shows it.
template <class Holds>
uint64_t seeds_to_catch(uint64_t seeds_max, Holds&& holds) {
  const WithOptions options = harsh();
  for (uint64_t seed = 1; seed <= seeds_max; ++seed)
    if (!holds(seed)) return seed;
  return 0;
}

TEST(ElideMutantTest, the_library_s_elision_holds_and_its_mutants_are_shown) {
  EXPECT_EQ(seeds_to_catch(200, [](uint64_t seed) { return words_hold({}, seed); }), 0u);
  EXPECT_NE(seeds_to_catch(500, [](uint64_t seed) { return words_hold({.hasty_fallback = true}, seed); }), 0u);
  EXPECT_NE(seeds_to_catch(500, [](uint64_t seed) { return words_hold({.raw_write = true}, seed); }), 0u);
}

TEST(ElideMutantTest, a_tree_whose_fallback_does_not_wait_is_shown) {
  EXPECT_EQ(seeds_to_catch(100, tree_holds<sync::Elided<htm::Emulated>>), 0u);
  EXPECT_NE(seeds_to_catch(300, tree_holds<Hasty>), 0u);
}

}  // namespace
}  // namespace elider::emulator_test
