// Tests of elision: where and when the body runs. The backend returns statuses that a test
// prepared.
#include "htm/elide.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <thread>
#include <vector>

#include "htm/detect.h"

namespace elider::htm {
namespace {

// Thrown by a region that aborts itself. The test catches it, because this backend cannot jump
// back.
struct SelfAbort {
  uint8_t code;
};

// begin() returns the next of `statuses`, and kStarted after the last one.
struct Scripted {
  static constexpr std::string_view kName = "scripted";
  static constexpr bool kRunsRegions = true;
  inline static std::deque<unsigned> statuses;
  inline static unsigned begins = 0, commits = 0;
  inline static bool inside = false;

  static void play(std::deque<unsigned> script) {
    statuses = std::move(script);
    begins = commits = 0;
    inside = false;
  }
  static unsigned begin() {
    ++begins;
    if (!statuses.empty()) {
      const unsigned status = statuses.front();
      statuses.pop_front();
      if (status != kStarted) return status;
    }
    inside = true;
    return kStarted;
  }
  static void commit() {
    EXPECT_TRUE(inside);
    inside = false;
    ++commits;
  }
  template <uint8_t Code>
  static void abort() {
    EXPECT_TRUE(inside);
    inside = false;
    throw SelfAbort{Code};
  }
  static bool active() { return inside; }
};
static_assert(Backend<Scripted>);

struct TestLock {
  bool held() const {
    ++looks;
    return looks <= held_for_looks || locked;
  }
  void lock() {
    locked = true;
    ++locks;
  }
  void unlock() { locked = false; }
  mutable unsigned looks = 0;
  unsigned held_for_looks = 0;
  bool locked = false;
  unsigned locks = 0;
};

std::deque<unsigned> times(unsigned count, unsigned status) { return std::deque<unsigned>(count, status); }

class ElideTest : public testing::Test {
 protected:
  // How the body ran: in a region or under the lock.
  struct Seen {
    bool in_region;
    bool locked;
  };
  Seen run() {
    return elide<Scripted>(site_, lock_, [&] { return Seen{Scripted::inside, lock_.locked}; });
  }
  uint64_t aborts(Cause cause) const { return site_.counts().aborts[static_cast<size_t>(cause)]; }

  ElisionPolicy policy_{.window_runs = 0};
  Site site_{policy_};
  TestLock lock_;
};

TEST_F(ElideTest, AFreeLockIsNotTaken) {
  Scripted::play({});
  const Seen seen = run();
  EXPECT_TRUE(seen.in_region);
  EXPECT_FALSE(seen.locked);
  EXPECT_EQ(lock_.locks, 0u);
  EXPECT_EQ(Scripted::commits, 1u);
  EXPECT_EQ(site_.counts().commits, 1u);
  EXPECT_EQ(site_.counts().attempts(), 1u);
  EXPECT_FALSE(Scripted::inside);
}

// The lock is read before the region begins, and again inside the region. The second read is the
// subscription.
TEST_F(ElideTest, ALockThatIsTakenMeanwhileAbortsTheRegionWithTheLocksCode) {
  Scripted::play({});
  struct TakenAtTheSecondLook : TestLock {
    bool held() const { return looks++ == 1; }
  } lock;
  try {
    elide<Scripted>(site_, lock, [&]() -> bool {
      ADD_FAILURE() << "the body runs in a region whose lock is held";
      return true;
    });
    FAIL() << "the region did not abort itself";
  } catch (const SelfAbort& abort) {
    EXPECT_EQ(abort.code, kLockHeldCode);
  }
}

TEST_F(ElideTest, ItWaitsForTheLockBeforeARegionBegins) {
  Scripted::play({});
  lock_.held_for_looks = 5;  // few enough that the thread only pauses; after yielding, it may queue for the lock
  EXPECT_TRUE(run().in_region);
  EXPECT_GT(lock_.looks, 5u);
  EXPECT_EQ(Scripted::begins, 1u);
}

TEST_F(ElideTest, ItDoesNotWaitForeverForTheLock) {
  Scripted::play({});
  lock_.held_for_looks = ~0u;
  const Seen seen = run();
  EXPECT_FALSE(seen.in_region);
  EXPECT_TRUE(seen.locked);
  EXPECT_EQ(Scripted::begins, 0u);
}

struct Bound {
  unsigned status;
  Cause cause;
  uint32_t aborts_max;
};

TEST_F(ElideTest, EachCauseHasItsBound) {
  const ElisionPolicy& p = policy_;
  const Bound bounds[] = {
      {kConflict | kRetry, Cause::kConflict, p.conflict_aborts_max},
      {kRetry, Cause::kRetry, p.conflict_aborts_max},
      {kCapacity, Cause::kCapacity, p.capacity_aborts_max},
      {0, Cause::kSystem, p.system_aborts_max},
      {kNested, Cause::kNested, p.system_aborts_max},
      {kDebug, Cause::kDebug, 0},
      {explicit_abort(7), Cause::kExplicit, 0},
      {explicit_abort(kLockHeldCode), Cause::kLockHeld, p.lock_held_aborts_max},
  };
  for (const Bound& bound : bounds) {
    SCOPED_TRACE(name_of(bound.cause));
    const uint64_t before = aborts(bound.cause), fallbacks = site_.counts().fallbacks;
    Scripted::play(times(bound.aborts_max, bound.status));
    EXPECT_TRUE(run().in_region);
    EXPECT_EQ(aborts(bound.cause), before + bound.aborts_max);
    EXPECT_EQ(site_.counts().fallbacks, fallbacks);

    Scripted::play(times(bound.aborts_max + 1, bound.status));
    const Seen seen = run();
    EXPECT_FALSE(seen.in_region);
    EXPECT_TRUE(seen.locked);
    EXPECT_EQ(Scripted::begins, bound.aborts_max + 1);
    EXPECT_EQ(aborts(bound.cause), before + 2 * bound.aborts_max + 1);
    EXPECT_EQ(site_.counts().fallbacks, fallbacks + 1);
    EXPECT_FALSE(lock_.locked);
  }
}

TEST_F(ElideTest, ALockHeldAbortCountsForNoOtherCause) {
  std::deque<unsigned> script;
  for (uint32_t i = 0; i < policy_.system_aborts_max; ++i) {
    script.push_back(0);
    for (int j = 0; j < 50; ++j) script.push_back(explicit_abort(kLockHeldCode));
  }
  Scripted::play(script);
  EXPECT_TRUE(run().in_region);
  EXPECT_EQ(aborts(Cause::kLockHeld), 50u * policy_.system_aborts_max);
}

TEST_F(ElideTest, TallTreesGiveUpEarlier) {
  site_.set_height(5);
  Scripted::play(times(20, kConflict));
  EXPECT_TRUE(run().in_region);
  Scripted::play(times(21, kConflict));
  EXPECT_FALSE(run().in_region);
  policy_.less_for_tall_trees = false;
  Scripted::play(times(100, kConflict));
  EXPECT_TRUE(run().in_region);
}

TEST_F(ElideTest, WithoutABoundTheFirstAbortFallsBack) {
  policy_ = {.conflict_aborts_max = 0, .capacity_aborts_max = 0, .system_aborts_max = 0, .window_runs = 0};
  for (unsigned status : {kConflict, kCapacity, 0u}) {
    Scripted::play({status});
    EXPECT_FALSE(run().in_region);
    EXPECT_EQ(Scripted::begins, 1u);
  }
}

TEST_F(ElideTest, ASiteThatDoesNotPayShutsItselfOffAndTriesAgain) {
  policy_ = {.system_aborts_max = 0, .window_runs = 32, .poor_percent = 50, .off_runs = 100};
  const auto begins_of = [&](unsigned runs, std::deque<unsigned> script) {
    Scripted::play(std::move(script));
    for (unsigned i = 0; i < runs; ++i) run();
    return Scripted::begins;
  };
  EXPECT_EQ(begins_of(32, times(32, 0)), 32u);   // the deciding window
  EXPECT_EQ(begins_of(100, times(100, 0)), 0u);  // off
  EXPECT_EQ(site_.counts().direct, 100u);
  EXPECT_EQ(begins_of(16, times(16, 0)), 16u);   // a probe that fails
  EXPECT_EQ(begins_of(200, times(200, 0)), 0u);  // off for twice as long
  EXPECT_EQ(begins_of(16, {}), 16u);             // a probe that succeeds
  EXPECT_EQ(begins_of(1000, {}), 1000u);         // on again
  EXPECT_EQ(begins_of(32 * 4, times(15, 0)), 128u);  // a few bad runs do not matter
}

// These regions commit without having done the work.
TEST_F(ElideTest, RegionsInVainShutASiteOffToo) {
  policy_ = {.window_runs = 32, .poor_percent = 50, .off_runs = 100};
  Scripted::play({});
  const auto run_in_vain = [&] {
    return run_region<Scripted>(site_, SubscribedWithin{}, [] { return false; }, [] { return true; }, [](bool done) { return done; });
  };
  for (int i = 0; i < 32; ++i) EXPECT_FALSE(run_in_vain());
  EXPECT_EQ(site_.counts().in_vain, 32u);
  EXPECT_EQ(site_.counts().commits, 0u);
  EXPECT_EQ(site_.counts().attempts(), 32u);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(run_in_vain());
  EXPECT_EQ(site_.counts().direct, 100u);
}

TEST_F(ElideTest, ZeroWindowRunsNeverShutASiteOff) {
  policy_.system_aborts_max = 0;
  Scripted::play(times(10000, 0));
  for (int i = 0; i < 10000; ++i) run();
  EXPECT_EQ(Scripted::begins, 10000u);
}

TEST_F(ElideTest, TheValueComesFromTheRunThatCounted) {
  Scripted::play({kConflict, kStarted});
  int runs = 0;
  EXPECT_EQ(elide<Scripted>(site_, lock_, [&] { return ++runs; }), 1);
  Scripted::play(times(policy_.system_aborts_max + 1, 0));
  EXPECT_EQ(run_region<Scripted>(site_, SubscribedWithin{}, [] { return 1; }, [] { return 2; }), 2);
}

TEST_F(ElideTest, NoneTakesTheLockAtOnce) {
  EXPECT_TRUE(elide<None>(site_, lock_, [&] { return lock_.locked; }));
  EXPECT_EQ(site_.counts().direct, 1u);
  EXPECT_EQ(site_.counts().attempts(), 0u);
}

TEST_F(ElideTest, AlwaysAbortsFallsBackAfterItsTries) {
  EXPECT_TRUE(elide<AlwaysAborts>(site_, lock_, [&] { return lock_.locked; }));
  EXPECT_EQ(aborts(Cause::kSystem), policy_.system_aborts_max + 1);
  EXPECT_EQ(site_.counts().fallbacks, 1u);
}

// More threads than parts: they share the last part, and the sum is still exact.
TEST(SiteTest, CountsOfManyThreadsAddUp) {
  constexpr unsigned kThreads = 24, kRuns = 2000;
  const ElisionPolicy policy{.system_aborts_max = 1, .window_runs = 0};
  Site site(policy);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (unsigned i = 0; i < kRuns; ++i) run_region<AlwaysAborts>(site, SubscribedWithin{}, [] { return 0; }, [] { return 0; });
    });
  for (std::thread& thread : threads) thread.join();
  const SiteCounts counts = site.counts();
  EXPECT_EQ(counts.fallbacks, uint64_t{kThreads} * kRuns);
  EXPECT_EQ(counts.aborts[static_cast<size_t>(Cause::kSystem)], 2u * kThreads * kRuns);
}

TEST(SiteTest, AThreadThatEndsGivesItsPartBack) {
  for (int i = 0; i < 100; ++i) {
    uint32_t part = kNoPart;
    std::thread([&] {
      Site site;
      site.mine();
      part = detail::part_of_thread;
    }).join();
    EXPECT_NE(part, kNoPart);
    EXPECT_LT(part, 4u);  // one thread at a time does not need another part
  }
}

TEST(DetectTest, TheSelfTestRefusesABackendThatAborts) {
  Hardware found;
  EXPECT_FALSE(self_test<AlwaysAborts>(found));
  EXPECT_TRUE(found.self_test_run);
  EXPECT_EQ(found.self_test_committed, 0u);
  EXPECT_GT(found.self_test_aborts[static_cast<size_t>(Cause::kSystem)], 0u);
}

TEST(DetectTest, TheSelfTestAcceptsWhatCommitsAndBearsSomeAborts) {
  Hardware found;
  Scripted::play({0, kRetry, kConflict | kRetry, kCapacity});
  EXPECT_TRUE(self_test<Scripted>(found));
  EXPECT_EQ(found.self_test_committed, kSelfTestRegions);
  EXPECT_EQ(found.self_test_aborts[static_cast<size_t>(Cause::kCapacity)], 1u);
}

TEST(DetectTest, BrokenSteppingsAreRefused) {
  EXPECT_NE(known_defect("GenuineIntel", 6, 0x3c, 3, false), "");
  EXPECT_NE(known_defect("GenuineIntel", 6, 0x3c, 3, true), "");
  EXPECT_NE(known_defect("GenuineIntel", 6, 0x3f, 2, false), "");
  EXPECT_EQ(known_defect("GenuineIntel", 6, 0x3f, 4, false), "");
  EXPECT_NE(known_defect("GenuineIntel", 6, 0x3d, 4, false), "");
  EXPECT_NE(known_defect("GenuineIntel", 6, 0x55, 4, false), "");
  EXPECT_EQ(known_defect("GenuineIntel", 6, 0x55, 4, true), "");
  EXPECT_EQ(known_defect("GenuineIntel", 6, 0x55, 7, false), "");
  EXPECT_NE(known_defect("GenuineIntel", 6, 0x9e, 9, false), "");
  EXPECT_EQ(known_defect("GenuineIntel", 6, 0x8f, 8, false), "");
  EXPECT_EQ(known_defect("AuthenticAMD", 6, 0x3c, 3, false), "");
}

TEST(DetectTest, AMachineIsUsableOnlyWithAReason) {
  const Hardware& found = detect();
  EXPECT_NE(found.reason, "");
  if (!found.rtm) {
    EXPECT_FALSE(found.self_test_run);
    EXPECT_FALSE(found.usable);
  }
  if (found.usable) {
    EXPECT_GE(found.self_test_committed, kSelfTestCommitsMin);
  }
}

// The process continues on every processor, whether or not it has the instruction.
TEST(DetectTest, AnInstructionThatIsNoneIsNoticed) {
  EXPECT_FALSE(runs_without_sigill([] { std::raise(SIGILL); }));
  EXPECT_TRUE(runs_without_sigill([] {}));
}

// If another thread raises SIGILL during a trial, the trial is not affected.
TEST(DetectTest, TheSigillOfAnotherThreadIsTheHosts) {
  static std::atomic<int> caught;
  const auto elsewhere = [] { std::thread([] { std::raise(SIGILL); }).join(); };
  EXPECT_EXIT(runs_without_sigill(elsewhere), testing::KilledBySignal(SIGILL), "");
  const auto before = std::signal(SIGILL, [](int) { caught.fetch_add(1); });
  EXPECT_TRUE(runs_without_sigill(elsewhere));
  std::signal(SIGILL, before);
  EXPECT_EQ(caught.load(), 1);
}

// Executes the instruction, so the test runs only if the instruction exists or was requested.
TEST(DetectTest, AskingForTheInstructionDoesNotEndTheProcess) {
  if (!detect().rtm && std::getenv("ELIDER_TEST_RTM") == nullptr) GTEST_SKIP() << "no RTM here, and ELIDER_TEST_RTM does not ask for it";
  EXPECT_EQ(rtm_instructions_exist(), rtm_instructions_exist());
}

}  // namespace
}  // namespace elider::htm
