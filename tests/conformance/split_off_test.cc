// A transaction's own inserts split a leaf that it has scanned or checked. The new half must be
// tracked like the old one. Otherwise, an insert of another transaction there is a phantom that is
// not detected.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>

#include "base/test_points.h"
#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class SplitOffTest : public DatabaseTest {
 protected:
  static constexpr Key kRows = 9, kStep = 100;
  // Offsets of the own inserts from the first row of the range. A leaf splits in the middle, or
  // after its last entry if the keys ascend.
  static constexpr std::array<Key, 4> kOwnFrom{1, 1, 301, 701};
  static constexpr std::array<Key, 4> kOwnStep{1, 31, 1, 1};
  static constexpr Key kOwn = 24;

  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(indexed_account_schema(GetParam().key_index));
    by_branch_ = *db_.index(accounts_, "by_branch");
    by_owner_ = *db_.index(accounts_, "by_owner");
  }
  void TearDown() override {
    set_mutant(Mutant::kNone);
    DatabaseTest::TearDown();
  }
  static Account account(Key key) { return {key, 0, static_cast<uint32_t>(key), 0}; }
  static bool visit(Key, const View<Account>&) { return true; }

  using Observe = std::function<Status(Transaction&, KeyRange)>;
  // Returns the number of gaps in a range into which another transaction can insert a row without
  // the observer's commit noticing.
  uint64_t phantoms(const Observe& observe) {
    uint64_t found = 0;
    for (size_t shape = 0; shape < kOwnFrom.size(); ++shape)
      for (Key gap = 0; gap + 1 < kRows; ++gap) found += phantom(observe, shape, gap);
    return found;
  }
  bool phantom(const Observe& observe, size_t shape, Key gap) {
    const Key first = next_first_, last = first + (kRows - 1) * kStep;
    next_first_ += 100 * kStep;
    transact(db_, [&](Transaction& txn) {
      for (Key key = first; key <= last; key += kStep) ASSERT_OK(txn.insert(accounts_, key, account(key)));
    });
    ActiveTransaction observer = begin(db_);
    EXPECT_OK(observe(*observer, {first, last}));
    for (Key i = 0; i < kOwn; ++i) {
      const Key key = first + kOwnFrom[shape] + i * kOwnStep[shape];
      EXPECT_OK(observer->insert(accounts_, key, account(key)));
    }
    const Key foreign = first + gap * kStep + 60;
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert(accounts_, foreign, account(foreign))); });
    return observer.commit().ok();
  }
  void expect_none_but_with_the_mutant(const Observe& observe) {
    EXPECT_EQ(0u, phantoms(observe));
    if (!TestPoints::enabled()) return;
    set_mutant(Mutant::kForgetSplitOff);
    EXPECT_NE(0u, phantoms(observe)) << "the test cannot tell";
    set_mutant(Mutant::kNone);
  }

  Table<Account> accounts_;
  Index<Account> by_branch_, by_owner_;
  // Sometimes the first row of a range shares its first seven bytes only with the own inserts and
  // the other transaction's insert after it. This makes a radix tree split off a node.
  Key next_first_ = 1200;
};
ELIDER_ON_CONCURRENT(SplitOffTest);

TEST_P(SplitOffTest, ANewHalfOfAScannedLeafOfKeysIsTracked) {
  if (!GetParam().ordered()) return;  // scans are of ordered tables
  expect_none_but_with_the_mutant([&](Transaction& txn, KeyRange range) { return txn.scan(accounts_, range, {}, visit); });
}

TEST_P(SplitOffTest, ANewHalfOfAScannedLeafOfValuesIsTracked) {
  expect_none_but_with_the_mutant([&](Transaction& txn, KeyRange range) { return txn.scan(by_branch_, range, {}, visit); });
}

TEST_P(SplitOffTest, ANewHalfOfALeafOfUniqueValuesIsTracked) {
  expect_none_but_with_the_mutant(
      [&](Transaction& txn, KeyRange range) { return txn.scan(by_owner_, range, {.reverse = true}, visit); });
}

}  // namespace
}  // namespace elider::test
