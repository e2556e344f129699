// Options::threads_at_once: more threads than run transactions at once.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class ThreadsAtOnceTest : public DatabaseTest {
 protected:
  void SetUp() override {
    Options options;
    options.threads_at_once = 1;
    reopen(options);
    accounts_ = create(account_schema(GetParam().key_index));
    insert(accounts_, 1, Account{1, 0, 0, 0});
  }
  Status add(Transaction& txn) {
    return txn.update(accounts_, 1, {}, [](Account& a) { ++a.balance; });
  }

  Table<Account> accounts_;
};
ELIDER_ON_CONCURRENT(ThreadsAtOnceTest);

TEST_P(ThreadsAtOnceTest, AllThreadsCommit) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        EXPECT_OK(db_.run([&](Transaction& txn) { return add(txn); }));
        EXPECT_OK(db_.run_group(
            2, [&](size_t, Touches& touches) { touches.row(accounts_, 1); }, [&](size_t, Transaction& txn) { return add(txn); }));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(row(accounts_, 1).balance, 6 * 200 * 3);
}

// It may begin late, but it does.
TEST_P(ThreadsAtOnceTest, AProcedureMayWaitForAnotherThreadsTransaction) {
  uint32_t runs = 0;
  EXPECT_OK(db_.run([&](Transaction&) -> Status {
    if (runs++ == 0) std::thread([&] { EXPECT_OK(db_.run([&](Transaction& txn) { return add(txn); })); }).join();
    return {};
  }));
  EXPECT_OK(db_.run([&](Transaction& outer) -> Status {
    EXPECT_OK(db_.run([&](Transaction& txn) { return add(txn); }));  // within another one of this thread
    return outer.get(accounts_, 1).status();
  }));
  EXPECT_EQ(row(accounts_, 1).balance, 2);
}

}  // namespace
}  // namespace elider::test
