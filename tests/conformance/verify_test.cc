// Database::verify finds what is wrong between rows and secondary indexes, whatever the key index.
// The damage is done by a key function that breaks its contract: it changes its mind.
#include <gtest/gtest.h>

#include <atomic>

#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class VerifyTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(account_schema(GetParam().key_index).index("by_branch", {"branch"}, [this](const Account& a) {
      return uint64_t{a.branch} + shift_;
    }));
    for (Key key = 0; key < 500; ++key) insert(accounts_, key, Account{key, 0, static_cast<uint32_t>(key % 7), 0});
  }
  void TearDown() override {
    shift_ = 0;
    DatabaseTest::TearDown();
  }
  std::atomic<uint64_t> shift_{0};
  Table<Account> accounts_;
};
ELIDER_ON_EVERY(VerifyTest);

TEST_P(VerifyTest, ARowThatItsIndexDoesNotFindIsReported) {
  EXPECT_OK(db_.verify());
  shift_ = 1000;
  EXPECT_REFUSED(Code::kInvalidArgument, "by_branch", db_.verify());
  EXPECT_REFUSED(Code::kInvalidArgument, "does not find the row of key", db_.verify());
}

TEST_P(VerifyTest, AnEntryThatNobodyWillTakeOutIsReported) {
  if (!GetParam().concurrent()) return;  // there, removed rows are unlinked at once
  // The rows are removed, a reader needs them, and then they are unlinked under other values:
  // their entries would stay.
  ActiveTransaction reader = begin_read_only(db_);
  transact(db_, [&](Transaction& txn) {
    for (Key key = 0; key < 500; ++key) ASSERT_OK(txn.remove(accounts_, key));
  });
  reader.rollback();
  shift_ = 1000;
  EXPECT_REFUSED(Code::kInvalidArgument, "the entry will not be removed", db_.verify());
  shift_ = 0;
  db_.collect_garbage();
}

TEST_P(VerifyTest, EntriesThatWaitToBeTakenOutAreInOrder) {
  transact(db_, [&](Transaction& txn) {
    for (Key key = 0; key < 500; key += 3) ASSERT_OK(txn.put(accounts_, key, Account{key, 0, 100, 0}));
    for (Key key = 1; key < 500; key += 3) ASSERT_OK(txn.remove(accounts_, key));
  });
  EXPECT_CODE(Code::kRolledBack, db_.run([&](Transaction& txn) -> Status {
    EXPECT_OK(txn.put(accounts_, 2, Account{2, 0, 200, 0}));
    EXPECT_OK(txn.insert(accounts_, 1000, Account{2, 0, 200, 0}));
    return Status::rollback();
  }));
  EXPECT_OK(db_.verify());
  db_.collect_garbage();
  EXPECT_OK(db_.verify());
}

}  // namespace
}  // namespace elider::test
