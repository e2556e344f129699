// What conflicts and what does not: column groups, adds, presence and
// absence of keys, unique values.
//
// Two transactions are open at once; `first` commits, then `second` tries to. Where both outcomes
// of the second are serializable, the test says which one is promised.
#include <gtest/gtest.h>

#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class ConflictTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(grouped_account_schema(GetParam().key_index));
    balance_ = accounts_.columns(&Account::balance);
    flags_ = accounts_.columns(&Account::flags);
    owner_ = accounts_.columns(&Account::owner);
    for (Key key = 1; key <= 4; ++key) insert(accounts_, key, Account{key, 0, 0, 0});
    first_ = begin(db_);
    second_ = begin(db_);
  }
  void TearDown() override {
    first_ = ActiveTransaction();
    second_ = ActiveTransaction();
    DatabaseTest::TearDown();
  }
  // Makes the second transaction a writer, so that its commit has to be
  // serializable with the first.
  void expect_second(Code code) {
    ASSERT_OK(second_->write(accounts_, 4, owner_, Account{44, 0, 0, 0}));
    EXPECT_OK(first_.commit());
    EXPECT_CODE(code, second_.commit());
  }
  static constexpr auto kIncrease = [](Account& a) { ++a.balance; };

  Table<Account> accounts_;
  Columns<Account> balance_, flags_, owner_;
  ActiveTransaction first_, second_;
};
ELIDER_ON_CONCURRENT(ConflictTest);

TEST_P(ConflictTest, DisjointGroupsDoNotConflict) {
  ASSERT_OK(second_->get(accounts_, 1, flags_));
  ASSERT_OK(second_->get(accounts_, 1, owner_));
  ASSERT_OK(second_->update(accounts_, 1, flags_, [](Account& a) { a.flags = 5; }));
  ASSERT_OK(first_->update(accounts_, 1, balance_, kIncrease));
  expect_second(Code::kOk);
  EXPECT_EQ(row(accounts_, 1), (Account{1, 1, 0, 5}));
}

TEST_P(ConflictTest, AReadOfAChangedGroupConflicts) {
  ASSERT_OK(second_->get(accounts_, 1, balance_));
  ASSERT_OK(first_->update(accounts_, 1, balance_, kIncrease));
  expect_second(Code::kConflict);
}

TEST_P(ConflictTest, AReadOfTheWholeRowConflictsWithAnyGroup) {
  ASSERT_OK(second_->get(accounts_, 1));
  ASSERT_OK(first_->update(accounts_, 1, flags_, [](Account& a) { a.flags = 5; }));
  expect_second(Code::kConflict);
}

TEST_P(ConflictTest, AReadOfSeveralGroupsConflictsWithEachOfThem) {
  ASSERT_OK(second_->get(accounts_, 1, accounts_.columns(&Account::owner, &Account::balance)));
  ASSERT_OK(first_->write(accounts_, 1, balance_, Account{0, 9, 0, 0}));
  expect_second(Code::kConflict);
}

TEST_P(ConflictTest, AMultiGetIsTrackedLikeAGet) {
  const Key keys[] = {2, 1};
  View<Account> views[2];
  ASSERT_OK(second_->multi_get<Account>(accounts_, keys, views, balance_));
  ASSERT_OK(first_->update(accounts_, 1, balance_, kIncrease));
  expect_second(Code::kConflict);
}

TEST_P(ConflictTest, AMultiGetOfOtherGroupsDoesNotConflict) {
  const Key keys[] = {2, 1};
  View<Account> views[2];
  ASSERT_OK(second_->multi_get<Account>(accounts_, keys, views, flags_));
  ASSERT_OK(first_->update(accounts_, 1, balance_, kIncrease));
  expect_second(Code::kOk);
}

TEST_P(ConflictTest, AddsNeverConflictWithEachOther) {
  ELIDER_SKIP_IF_CLAIMED(GetParam().claims_writes());
  ASSERT_OK(first_->add(accounts_, 1, &Account::balance, int64_t{5}));
  ASSERT_OK(second_->add(accounts_, 1, &Account::balance, int64_t{7}));
  expect_second(Code::kOk);
  EXPECT_EQ(row(accounts_, 1).balance, 12);
}

TEST_P(ConflictTest, AddsToTwoColumnsOfOneGroupNeverConflict) {
  ELIDER_SKIP_IF_CLAIMED(GetParam().claims_writes());
  const Table<Numbers> numbers = create(numbers_schema(GetParam().key_index));
  insert(numbers, 1, Numbers{});
  ASSERT_OK(first_->add(numbers, 1, &Numbers::i64, int64_t{5}));
  ASSERT_OK(second_->add(numbers, 1, &Numbers::f64, 0.5));
  expect_second(Code::kOk);
  EXPECT_EQ(row(numbers, 1).i64, 5);
  EXPECT_EQ(row(numbers, 1).f64, 0.5);
}

TEST_P(ConflictTest, AReadOfWhatAnotherAddedToConflicts) {
  ASSERT_OK(second_->get(accounts_, 1, balance_));
  ASSERT_OK(first_->add(accounts_, 1, &Account::balance, int64_t{5}));
  expect_second(Code::kConflict);
}

TEST_P(ConflictTest, AnAddThatWasReadBackConflictsWithAnotherAdd) {
  ASSERT_OK(second_->add(accounts_, 1, &Account::balance, int64_t{7}));
  auto view = second_->get(accounts_, 1, balance_);
  ASSERT_OK(view);
  EXPECT_EQ((*view)->balance, 7);
  ASSERT_OK(first_->add(accounts_, 1, &Account::balance, int64_t{5}));
  expect_second(Code::kConflict);
  EXPECT_EQ(row(accounts_, 1).balance, 5);
}

TEST_P(ConflictTest, AnAddToARowRemovedMeanwhileIsNotLostSilently) {
  ASSERT_OK(second_->add(accounts_, 1, &Account::balance, int64_t{7}));
  ASSERT_OK(first_->remove(accounts_, 1));
  EXPECT_OK(first_.commit());
  const Status status = second_.commit();
  if (!status.ok()) {  // serial before the removal is as good
    EXPECT_CODE(Code::kConflict, status);
  }
  EXPECT_FALSE(has(accounts_, 1));
}

TEST_P(ConflictTest, TwoUpdatesOfOneRowConflict) {
  ELIDER_SKIP_IF_CLAIMED(GetParam().claims_writes());
  ASSERT_OK(first_->update(accounts_, 1, balance_, kIncrease));
  ASSERT_OK(second_->update(accounts_, 1, balance_, kIncrease));
  expect_second(Code::kConflict);
  EXPECT_EQ(row(accounts_, 1).balance, 1);
}

TEST_P(ConflictTest, AnAbsentReadConflictsWithAnInsertOfTheKey) {
  EXPECT_CODE(Code::kNotFound, second_->get(accounts_, 9));
  ASSERT_OK(first_->insert(accounts_, 9, Account{}));
  expect_second(Code::kConflict);
}

TEST_P(ConflictTest, AnAbsentMultiGetConflictsWithAnInsertOfTheKey) {
  const Key keys[] = {1, 9};
  View<Account> views[2];
  ASSERT_OK(second_->multi_get<Account>(accounts_, keys, views));
  ASSERT_OK(first_->insert(accounts_, 9, Account{}));
  expect_second(Code::kConflict);
}

TEST_P(ConflictTest, AnAbsentReadOfARemovedKeyConflictsWithItsReinsertion) {
  first_.rollback();
  second_.rollback();
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 1)); });
  first_ = begin(db_);
  second_ = begin(db_);
  EXPECT_CODE(Code::kNotFound, second_->get(accounts_, 1));
  ASSERT_OK(first_->insert(accounts_, 1, Account{}));
  expect_second(Code::kConflict);
}

// Each call that answers "not found" has read an absence.
TEST_P(ConflictTest, AnUpdateThatFoundNothingReadAnAbsence) {
  EXPECT_CODE(Code::kNotFound, second_->update(accounts_, 9, balance_, kIncrease));
  ASSERT_OK(first_->insert(accounts_, 9, Account{}));
  expect_second(Code::kConflict);
}

TEST_P(ConflictTest, AWriteThatFoundNothingReadAnAbsence) {
  EXPECT_CODE(Code::kNotFound, second_->write(accounts_, 9, balance_, Account{}));
  ASSERT_OK(first_->insert(accounts_, 9, Account{}));
  expect_second(Code::kConflict);
}

TEST_P(ConflictTest, AnAddThatFoundNothingReadAnAbsence) {
  EXPECT_CODE(Code::kNotFound, second_->add(accounts_, 9, &Account::balance, int64_t{1}));
  ASSERT_OK(first_->insert(accounts_, 9, Account{}));
  expect_second(Code::kConflict);
}

TEST_P(ConflictTest, ARemoveThatFoundNothingReadAnAbsence) {
  EXPECT_CODE(Code::kNotFound, second_->remove(accounts_, 9));
  ASSERT_OK(first_->insert(accounts_, 9, Account{}));
  expect_second(Code::kConflict);
}

// And an insert that answers "duplicate" has read a presence.
TEST_P(ConflictTest, ARefusedInsertReadAPresence) {
  EXPECT_CODE(Code::kDuplicateKey, second_->insert(accounts_, 1, Account{}));
  ASSERT_OK(first_->remove(accounts_, 1));
  expect_second(Code::kConflict);
}

TEST_P(ConflictTest, ARefusedInsertDoesNotConflictWithReads) {
  EXPECT_CODE(Code::kDuplicateKey, second_->insert(accounts_, 1, Account{}));
  ASSERT_OK(first_->get(accounts_, 1));
  expect_second(Code::kOk);
}

TEST_P(ConflictTest, OfTwoInsertsOfOneKeyOneWins) {
  ELIDER_SKIP_IF_CLAIMED(GetParam().claims_writes());
  ASSERT_OK(first_->insert(accounts_, 9, Account{1, 1, 1, 1}));
  ASSERT_OK(second_->insert(accounts_, 9, Account{2, 2, 2, 2}));
  EXPECT_OK(first_.commit());
  EXPECT_CODE(Code::kConflict, second_.commit());
  EXPECT_EQ(row(accounts_, 9), (Account{1, 1, 1, 1}));
}

TEST_P(ConflictTest, AnInsertAfterARolledBackInsertOfTheKeyWins) {
  ASSERT_OK(first_->insert(accounts_, 9, Account{1, 1, 1, 1}));
  ASSERT_OK(second_->insert(accounts_, 9, Account{2, 2, 2, 2}));
  first_.rollback();
  EXPECT_OK(second_.commit());
  EXPECT_EQ(row(accounts_, 9), (Account{2, 2, 2, 2}));
}

TEST_P(ConflictTest, AReadConflictsWithARemove) {
  ASSERT_OK(second_->get(accounts_, 1, flags_));  // the removal changes every group
  ASSERT_OK(first_->remove(accounts_, 1));
  expect_second(Code::kConflict);
}

TEST_P(ConflictTest, AReadConflictsWithARemoveAndAnEqualReinsertion) {
  ASSERT_OK(second_->get(accounts_, 1, flags_));
  ASSERT_OK(first_->remove(accounts_, 1));
  EXPECT_OK(first_.commit());
  insert(accounts_, 1, Account{1, 0, 0, 0});
  ASSERT_OK(second_->write(accounts_, 4, owner_, Account{44, 0, 0, 0}));
  EXPECT_CODE(Code::kConflict, second_.commit());
}

TEST_P(ConflictTest, OfTwoRemovesOneWins) {
  ELIDER_SKIP_IF_CLAIMED(GetParam().claims_writes());
  ASSERT_OK(first_->remove(accounts_, 1));
  ASSERT_OK(second_->remove(accounts_, 1));
  expect_second(Code::kConflict);
}

TEST_P(ConflictTest, ABlindWriteOfARemovedRowDoesNotBringItBack) {
  ASSERT_OK(second_->write(accounts_, 1, flags_, Account{9, 9, 9, 9}));
  ASSERT_OK(first_->remove(accounts_, 1));
  EXPECT_OK(first_.commit());
  const Status status = second_.commit();
  if (!status.ok()) {
    EXPECT_CODE(Code::kConflict, status);
  }
  EXPECT_FALSE(has(accounts_, 1));
}

// The blind write was told that the row is there; a put does not care. Together they must not bring
// a row back that was removed meanwhile: the write would have been told another thing.
TEST_P(ConflictTest, APutAfterABlindWriteDoesNotBringTheRowBack) {
  ASSERT_OK(second_->write(accounts_, 1, owner_, Account{9, 9, 9, 9}));
  ASSERT_OK(second_->put(accounts_, 1, Account{5, 5, 5, 5}));
  ASSERT_OK(first_->remove(accounts_, 1));
  EXPECT_OK(first_.commit());
  EXPECT_CODE(Code::kConflict, second_.commit());
  EXPECT_FALSE(has(accounts_, 1));
}

TEST_P(ConflictTest, APutAfterAnAddDoesNotBringTheRowBack) {
  const Table<Account> plain = create(account_schema(GetParam().key_index, "plain"));  // one column group
  insert(plain, 1, Account{});
  ASSERT_OK(second_->add(plain, 1, &Account::balance, int64_t{1}));
  ASSERT_OK(second_->put(plain, 1, Account{5, 5, 5, 5}));
  ASSERT_OK(first_->remove(plain, 1));
  EXPECT_OK(first_.commit());
  EXPECT_CODE(Code::kConflict, second_.commit());
  EXPECT_FALSE(has(plain, 1));
}

TEST_P(ConflictTest, AReadThatTheWriterDidNotChangeDoesNotConflict) {
  ASSERT_OK(second_->get(accounts_, 2));
  EXPECT_CODE(Code::kDuplicateKey, first_->insert(accounts_, 2, Account{}));
  ASSERT_OK(first_->update(accounts_, 1, balance_, kIncrease));
  expect_second(Code::kOk);
}

class UniqueConflictTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(indexed_account_schema(GetParam().key_index));
    insert(accounts_, 1, Account{100, 0, 10, 0});
    insert(accounts_, 4, Account{400, 0, 40, 0});
  }
  Table<Account> accounts_;
};
ELIDER_ON_CONCURRENT(UniqueConflictTest);

TEST_P(UniqueConflictTest, OfTwoInsertsOfOneUniqueValueOneWins) {
  ActiveTransaction first = begin(db_), second = begin(db_);
  ASSERT_OK(first->insert(accounts_, 2, Account{200, 0, 20, 0}));
  ASSERT_OK(second->insert(accounts_, 3, Account{200, 0, 30, 0}));
  const bool first_won = first.commit().ok(), second_won = second.commit().ok();  // which one is not promised
  EXPECT_NE(first_won, second_won);
  EXPECT_EQ(has(accounts_, 2), first_won);
  EXPECT_EQ(has(accounts_, 3), second_won);
  // Tried again, it is a duplicate.
  transact(db_, [&](Transaction& txn) {
    EXPECT_CODE(Code::kDuplicateKey, txn.insert(accounts_, 9, Account{200, 0, 30, 0}));
  });
}

TEST_P(UniqueConflictTest, AnUpdateToAValueTakenMeanwhileConflicts) {
  ActiveTransaction first = begin(db_), second = begin(db_);
  ASSERT_OK(second->update(accounts_, 1, accounts_.columns(&Account::owner), [](Account& a) { a.owner = 200; }));
  ASSERT_OK(first->insert(accounts_, 2, Account{200, 0, 20, 0}));
  EXPECT_OK(first.commit());
  EXPECT_CODE(Code::kConflict, second.commit());
  EXPECT_EQ(row(accounts_, 1).owner, 100u);
}

TEST_P(UniqueConflictTest, ARefusedUniqueValueReadItsPresence) {
  ActiveTransaction first = begin(db_), second = begin(db_);
  EXPECT_CODE(Code::kDuplicateKey, second->insert(accounts_, 2, Account{100, 0, 20, 0}));
  ASSERT_OK(second->update(accounts_, 4, accounts_.columns(&Account::flags), [](Account& a) { a.flags = 1; }));
  ASSERT_OK(first->remove(accounts_, 1));
  EXPECT_OK(first.commit());
  EXPECT_CODE(Code::kConflict, second.commit());
}

}  // namespace
}  // namespace elider::test
