// The protocol spinlock: while a commit is under way, no row is read and nothing else commits.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/test_points.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class SpinlockTest : public testing::TestWithParam<Protocol> {
 protected:
  void SetUp() override {
    if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
    Options options;
    options.protocol = GetParam();
    options.htm = HtmBackend::kNone;
    auto db = Database::open(options);
    ASSERT_OK(db);
    db_ = std::move(*db);
    auto table = db_.create_table(account_schema(KeyIndex::kHashed));
    ASSERT_OK(table);
    accounts_ = *table;
    for (Key key : {1, 2}) transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert(accounts_, key, Account{key, 100, 0, 0})); });
  }
  void change(Key key) {
    EXPECT_OK(db_.run([&](Transaction& txn) { return txn.update(accounts_, key, {}, [](Account& a) { ++a.balance; }); }));
  }
  // Returns whether body() ends while a commit of another row is held with its locks.
  template <class Body>
  bool ends_during_a_commit(Body&& body) {
    std::atomic<bool> ended{false};
    std::thread other;
    bool meanwhile = false;
    {
      TestStop stop("occ.commit.after_lock");
      std::thread committing([&] { change(1); });
      stop.wait_until_reached();
      other = std::thread([&] {
        body();
        ended = true;
      });
      const std::chrono::milliseconds wait = GetParam() == Protocol::kOcc ? TestStop::kTimeout / 2 : std::chrono::milliseconds(100);
      const auto until = std::chrono::steady_clock::now() + wait;
      while (!ended && std::chrono::steady_clock::now() < until) std::this_thread::yield();
      meanwhile = ended;
      stop.go();
      committing.join();
    }
    other.join();
    return meanwhile;
  }
  Database db_;
  Table<Account> accounts_;
};

TEST_P(SpinlockTest, NoRowIsReadDuringACommit) {
  EXPECT_EQ(ends_during_a_commit([&] { transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.get(accounts_, 2)); }); }),
            GetParam() == Protocol::kOcc);
}

TEST_P(SpinlockTest, NothingElseCommitsDuringACommit) {
  EXPECT_EQ(ends_during_a_commit([&] {
              EXPECT_OK(db_.run([&](Transaction& txn) { return txn.write(accounts_, 2, {}, Account{2, 7, 0, 0}); }));
            }),
            GetParam() == Protocol::kOcc);
}

INSTANTIATE_TEST_SUITE_P(On, SpinlockTest, testing::Values(Protocol::kOcc, Protocol::kSpinlock),
                         [](const auto& info) { return std::string(info.param == Protocol::kOcc ? "occ" : "spinlock"); });

}  // namespace
}  // namespace elider::test
