// An index may hand out several witnesses for one leaf: a scan holds only while all of them do.
#include "base/test_points.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class SeveralWitnessesTest : public DatabaseTest {
 protected:
  static constexpr Key kRows = 14, kStep = 100, kOwn = 24;

  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(indexed_account_schema(GetParam().key_index));
    by_branch_ = *db_.index(accounts_, "by_branch");
  }
  void TearDown() override {
    set_mutant(Mutant::kNone);
    DatabaseTest::TearDown();
  }
  static Account account(Key key) { return {key, 0, static_cast<uint32_t>(key), 0}; }
  static bool visit(Key, const View<Account>&) { return true; }

  // The observer scans, and splits the leaves by inserts of its own; then somebody else inserts
  // into each gap, in its turn.
  template <class Observe>
  uint64_t phantoms(Observe&& observe) {
    uint64_t found = 0;
    for (Key gap = 0; gap + 1 < kRows; ++gap) {
      const Key first = next_first_, last = first + (kRows - 1) * kStep;
      next_first_ += 100 * kStep;
      transact(db_, [&](Transaction& txn) {
        for (Key key = first; key <= last; key += kStep) ASSERT_OK(txn.insert(accounts_, key, account(key)));
      });
      ActiveTransaction observer = begin(db_);
      EXPECT_OK(observe(*observer, KeyRange{first, last}));
      for (Key key = first + 1; key < first + 1 + kOwn; ++key) EXPECT_OK(observer->insert(accounts_, key, account(key)));
      const Key foreign = first + gap * kStep + 60;
      transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert(accounts_, foreign, account(foreign))); });
      found += observer.commit().ok();
    }
    return found;
  }

  Table<Account> accounts_;
  Index<Account> by_branch_;
  Key next_first_ = 1000;
};
INSTANTIATE_TEST_SUITE_P(ByteKeys, SeveralWitnessesTest, testing::Values(Combination{}), combination_name);

// Though the new half of a leaf is forgotten: the list of leaves has
// changed, and its witness says so.
TEST_P(SeveralWitnessesTest, TheSecondTellsOfASplit) {
  set_mutant(Mutant::kForgetSplitOff);
  EXPECT_EQ(0u, phantoms([&](Transaction& txn, KeyRange range) { return txn.scan(accounts_, range, {}, visit); }));
  EXPECT_EQ(0u, phantoms([&](Transaction& txn, KeyRange range) { return txn.scan(by_branch_, range, {}, visit); }));
}

}  // namespace
}  // namespace elider::test
