// Validation of the smallest transactions: two reads, or a read and an absence, and then a commit
// that changes one of them. A transaction that has read a single row does not need validation. Two
// rows, or a row and an absence, were valid at the same time only if no change came in between.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class ValidationTest : public DatabaseTest {
 protected:
  using Body = std::function<void(Transaction&)>;

  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(account_schema(GetParam().key_index));
    others_ = create(account_schema(GetParam().key_index, "others"));
    for (Key key : {1, 2}) insert(accounts_, key, Account{key, 0, 0, 0});
    insert(others_, 1, Account{});
  }

  Body getting(Key key) {
    return [=, this](Transaction& txn) { ASSERT_OK(txn.get(accounts_, key)); };
  }
  Body missing(Key key) {
    return [=, this](Transaction& txn) { EXPECT_CODE(Code::kNotFound, txn.get(accounts_, key)); };
  }
  Body updating(Key key) {
    return [=, this](Transaction& txn) { ASSERT_OK(txn.update(accounts_, key, {}, [](Account& a) { ++a.balance; })); };
  }
  Body inserting(Key key) {
    return [=, this](Transaction& txn) { ASSERT_OK(txn.insert(accounts_, key, Account{key, 0, 0, 0})); };
  }
  Body removing(Key key) {
    return [=, this](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, key)); };
  }

  // Does both reads, and lets `change` commit after them or between them. Repeats this with a write
  // of its own and without one.
  void expect_conflict(const Body& first, const Body& second, const Body& change) {
    for (const bool writes : {false, true})
      for (const bool between : {false, true}) {
        SCOPED_TRACE(std::string(writes ? "with a write" : "read-only") + (between ? ", changed between the reads" : ""));
        ActiveTransaction reader = begin(db_);
        first(*reader);
        if (between) transact(db_, change);
        if (HasFatalFailure()) return;
        second(*reader);
        if (writes) {
          ASSERT_OK(reader->update(others_, 1, {}, [](Account& a) { ++a.balance; }));
        }
        if (!between) transact(db_, change);
        EXPECT_CODE(Code::kConflict, reader.commit());
        restore();
      }
  }
  void restore() {
    transact(db_, [&](Transaction& txn) {
      for (Key key : {1, 2}) ASSERT_OK(txn.put(accounts_, key, Account{key, 0, 0, 0}));
      const Status removed = txn.remove(accounts_, 3);
      ASSERT_TRUE(removed.ok() || removed.not_found()) << removed.message();
    });
  }

  Table<Account> accounts_, others_;
};
ELIDER_ON_CONCURRENT(ValidationTest);

TEST_P(ValidationTest, OfTwoReadsTheFirstChanges) {
  expect_conflict(getting(1), getting(2), updating(1));
  expect_conflict(getting(1), getting(2), removing(1));
}

TEST_P(ValidationTest, OfTwoReadsTheSecondChangesAfterIt) {
  ActiveTransaction reader = begin(db_);
  getting(1)(*reader);
  getting(2)(*reader);
  transact(db_, updating(2));
  EXPECT_CODE(Code::kConflict, reader.commit());
}

TEST_P(ValidationTest, OfAReadAndAnAbsenceTheRowChanges) { expect_conflict(getting(1), missing(3), updating(1)); }

TEST_P(ValidationTest, OfAnAbsenceAndAReadTheAbsenceEnds) { expect_conflict(missing(3), getting(1), inserting(3)); }

TEST_P(ValidationTest, TwoReadsThatNothingCameBetweenCommit) {
  for (const bool writes : {false, true}) {
    ActiveTransaction reader = begin(db_);
    getting(1)(*reader);
    missing(3)(*reader);
    if (writes) {
      ASSERT_OK(reader->update(others_, 1, {}, [](Account& a) { ++a.balance; }));
    }
    EXPECT_OK(reader.commit());
  }
}

}  // namespace
}  // namespace elider::test
