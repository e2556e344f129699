// Deferred parts of chopped procedures' calls, while concurrent calls are regions, in the emulator.
// Subscribers see all of a publisher or nothing in many schedules, and do not miss anything that
// they must see.
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "base/cache_line.h"
#include "base/test_points.h"
#include "elider/laboratory.h"
#include "lab/emulator/schedule.h"
#include "tests/emulator/support.h"
#include "tests/support/database_test.h"
#include "tests/support/deferring_bank.h"

namespace elider::test {
namespace {

using emulator_test::WithOptions;

class DeferredRegionsTest : public testing::Test {
 protected:
  DeferredRegionsTest() {
    Options options;
    change_laboratory(options).elision.window_runs = 0;
    Combination combination{SyncPolicy::kElided, HtmBackend::kEmulated, KeyIndex::kOrdered};
    combination.protocol = Protocol::kChopped;
    db_ = open_database(combination, options);
    EXPECT_OK(bank_.create_tables(db_));
    EXPECT_OK(bank_.fill(db_));
    InstallOptions chopped;
    chopped.choices.deferring = true;
    EXPECT_OK(bank_.install(db_, chopped));
  }
  uint64_t regions_of(const std::string& procedure) const {
    for (const Statistics::Elision& each : db_.statistics().elision)
      if (each.site == "call of " + procedure) return each.commits;
    return 0;
  }
  void expect(bool holds) {
    if (!holds) wrong_.fetch_add(1);
  }
  void post() {
    DeferringBank::Post call = bank_.next_post();
    expect(db_.call(bank_.post, call).ok());
  }
  // Makes this many accesses, at which the schedule may switch to a publisher.
  void linger(int accesses) const {
    for (int i = 0; i < accesses; ++i) static_cast<void>(idle_.load());
  }
  // Returns what the call has seen, which must be at least `least`.
  uint64_t compare(uint64_t least) {
    DeferringBank::Compare call;
    if (lingers_) call.meanwhile = [this](int where) { linger(where == 1 ? 500 : 2000); };
    expect(db_.call(bank_.compare, call).ok());
    expect(call.first == call.second && call.first >= static_cast<int64_t>(least));
    return static_cast<uint64_t>(call.first);
  }
  uint64_t peek(uint64_t least) {
    DeferringBank::Peek call;
    expect(db_.call(bank_.peek, call).ok());
    expect(call.posted >= least);
    return call.posted;
  }
  DeferringBank::Audit audit(uint64_t least) {
    DeferringBank::Audit found;
    expect(db_.call(bank_.audit, found).ok());
    expect(DeferringBank::damage(found).empty() && found.posted >= least);
    return found;
  }
  // The calls of each thread build on what its earlier calls have seen.
  void run(uint64_t seed) {
    run_threads(seed);
    ASSERT_EQ(wrong_.load(), 0) << "seed " << seed;
  }
  void run_threads(uint64_t seed) {
    emulator::run_schedule(seed, {[&] {
                                    post();
                                    post();
                                    static_cast<void>(compare(0));
                                  },
                                  [&] {
                                    const uint64_t seen = compare(peek(0));
                                    post();
                                    static_cast<void>(compare(seen + 1));
                                  },
                                  [&] {
                                    const DeferringBank::Audit before = audit(0);
                                    const uint64_t seen = compare(before.posted);
                                    const DeferringBank::Audit behind = audit(seen);
                                    expect(behind.marks == before.marks || behind.marked >= before.first);
                                    static_cast<void>(peek(behind.posted));
                                  }});
  }

  Database db_;
  DeferringBank bank_;
  std::atomic<int> wrong_{0};
  // If true, a subscriber pauses between its two accounts, and again before its commit, for about
  // as long as a publisher's call takes. A publication in between shows on only one account.
  bool lingers_ = false;
  alignas(kCacheLinePairBytes) std::atomic<int> idle_{0};  // what it reads meanwhile
};

TEST_F(DeferredRegionsTest, calls_hold_in_many_schedules) {
  for (uint64_t seed = 1; seed <= 80 && !HasFatalFailure(); ++seed) run(seed);
  EXPECT_OK(db_.verify());
  EXPECT_GT(regions_of("compare"), 80u);
  EXPECT_EQ(regions_of("post"), 0u) << "its parts are written apart";
}

// Many regions abort, so that subscribers with locks also meet publishers.
TEST_F(DeferredRegionsTest, calls_hold_where_many_regions_abort) {
  const WithOptions spurious([](auto& options) { options.spurious_abort_rate = 0.5; });
  for (uint64_t seed = 1; seed <= 80 && !HasFatalFailure(); ++seed) run(seed);
  EXPECT_OK(db_.verify());
  EXPECT_GT(regions_of("compare"), 20u);
}

// Most subscribers run in regions at first, and then all of them with locks.
TEST_F(DeferredRegionsTest, calls_hold_where_subscribers_linger) {
  lingers_ = true;
  for (const double rate : {0.5, 1.0}) {
    const WithOptions spurious([rate](auto& options) { options.spurious_abort_rate = rate; });
    for (uint64_t seed = 1; seed <= 20 && !HasFatalFailure(); ++seed) run(seed);
  }
  EXPECT_OK(db_.verify());
  EXPECT_GT(regions_of("compare"), 20u);
}

// Two schedules in three show the defect with locks, and one in twenty in regions.
TEST_F(DeferredRegionsTest, a_mutant_that_publishes_beside_subscribers_is_seen) {
  const WithOptions spurious([](auto& options) { options.spurious_abort_rate = 1; });
  lingers_ = true;
  set_mutant(Mutant::kPublishBesideSubscribers);
  for (uint64_t seed = 1; seed <= 100 && wrong_ == 0; ++seed) run_threads(seed);
  set_mutant(Mutant::kNone);
  EXPECT_NE(wrong_.load(), 0);
}

}  // namespace
}  // namespace elider::test
