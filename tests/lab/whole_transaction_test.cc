// The protocol whole-transaction where regions never commit: all of a transaction runs under one
// lock, which threads take in turn; and the public face of single regions
// (lab/studies/try_region.h).
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "elider/laboratory.h"
#include "lab/studies/try_region.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

Statistics::Elision whole_site(const Database& db) {
  for (const Statistics::Elision& site : db.statistics().elision)
    if (site.site == "whole transaction") return site;
  return {};
}

class WholeTransactionTest : public testing::TestWithParam<HtmBackend> {
 protected:
  WholeTransactionTest() {
    Options options;
    options.protocol = Protocol::kWholeTransaction;
    options.htm = GetParam();
    change_laboratory(options).elision.window_runs = 0;
    auto db = Database::open(options);
    EXPECT_OK(db);
    db_ = std::move(*db);
    auto table = db_.create_table(account_schema(KeyIndex::kOrdered));
    EXPECT_OK(table);
    accounts_ = *table;
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert(accounts_, 1, Account{1, 100, 0, 0})); });
  }
  Database db_;
  Table<Account> accounts_;
};

TEST_P(WholeTransactionTest, EveryTransactionTakesTheOneLock) {
  for (int i = 0; i < 9; ++i) read(db_, [&](Transaction& txn) { ASSERT_OK(txn.get(accounts_, 1)); });
  const Statistics::Elision site = whole_site(db_);
  EXPECT_EQ(site.commits, 0u);
  EXPECT_EQ(site.fallbacks + site.direct, 10u);
}

// The inner transaction must not wait for the lock that its own thread holds.
TEST_P(WholeTransactionTest, ATransactionWithinATransactionCommitsByItself) {
  transact(db_, [&](Transaction& txn) {
    transact(db_, [&](Transaction& inner) { ASSERT_OK(inner.insert(accounts_, 2, Account{2, 5, 0, 0})); });
    ASSERT_OK(txn.get(accounts_, 2));
  });
  EXPECT_EQ(whole_site(db_).fallbacks + whole_site(db_).direct, 2u);
}

// Open transactions do not use the lock, and conflict as usual.
TEST_P(WholeTransactionTest, AnOpenTransactionGoesOnBesideIt) {
  ActiveTransaction open = begin(db_);
  ASSERT_OK(open->get(accounts_, 1));
  ASSERT_OK(open->put(accounts_, 3, Account{3, 1, 0, 0}));
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(accounts_, 1, Account{1, 101, 0, 0})); });
  EXPECT_EQ(open.commit().code(), Code::kConflict);
}

TEST_P(WholeTransactionTest, OneTransactionRunsAtATime) {
  constexpr int kThreads = 4, kRounds = 200;
  std::atomic<int> inside{0}, together{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round)
        EXPECT_OK(db_.run([&](Transaction& txn) -> Status {
          if (inside.fetch_add(1) != 0) together.fetch_add(1);
          Status status = txn.update(accounts_, 1, accounts_.columns(&Account::balance), [](Account& a) { ++a.balance; });
          inside.fetch_sub(1);
          return status;
        }));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(together.load(), 0);
  read(db_, [&](Transaction& txn) { EXPECT_EQ((*txn.get(accounts_, 1))->balance, 100 + kThreads * kRounds); });
  EXPECT_OK(db_.verify());
}

INSTANTIATE_TEST_SUITE_P(On, WholeTransactionTest, testing::Values(HtmBackend::kNone, HtmBackend::kAlwaysAborts),
                         [](const auto& info) { return std::string(info.param == HtmBackend::kNone ? "none" : "always_aborts"); });

TEST(RegionsTest, WithoutABackendTheMessageSaysWhy) {
  HtmBackend none = HtmBackend::kNone;
  const Status status = find_regions(&none);
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.message().find("hardware transactions are not available"), std::string::npos) << status.message();
}

TEST(RegionsTest, ARegionThatAbortsRunsNothing) {
  HtmBackend always_aborts = HtmBackend::kAlwaysAborts;
  ASSERT_OK(find_regions(&always_aborts));
  bool ran = false;
  const uint32_t status = try_region(always_aborts, [&] { ran = true; });
  EXPECT_NE(status, kRegionCommitted);
  EXPECT_EQ(region_cause_name(region_cause_of(status)), "system");
  EXPECT_FALSE(ran);
}

TEST(RegionsTest, LinesOfEmulatedRegionsAreCountedWhereThereIsAnEmulator) {
  const auto before = emulated_regions();
  HtmBackend emulated = HtmBackend::kEmulated;
  if (!find_regions(&emulated).ok()) {
    EXPECT_EQ(before.status().code(), Code::kUnsupported);
    return;
  }
  ASSERT_OK(before);
  struct alignas(64) Line {
    volatile int value = 0;
  };
  std::vector<Line> lines(3);
  EXPECT_EQ(try_region(emulated, [&] { lines[0].value = lines[1].value + lines[2].value; }), kRegionCommitted);
  EXPECT_NE(try_region(HtmBackend::kAlwaysAborts, [&] { lines[1].value = 1; }), kRegionCommitted);
  const auto after = emulated_regions();
  ASSERT_OK(after);
  EXPECT_EQ(after->committed - before->committed, 1u);
  EXPECT_EQ(after->lines_written - before->lines_written, 1u);
  EXPECT_GE(after->lines_read - before->lines_read, 2u);  // and what the compiler reads of the capture
}

}  // namespace
}  // namespace elider::test
