// Scans by key: order, direction, ranges, limits, columns, ending early, and visitors that use the
// transaction they are visited by.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"
#include "tests/support/random.h"

namespace elider::test {
namespace {

std::vector<Key> keys_of_scan(Transaction& txn, const Table<Account>& table, KeyRange range, const ScanOptions& options = {}) {
  std::vector<Key> keys;
  EXPECT_OK(txn.scan(table, range, options, [&](Key key, const View<Account>& view) {
    EXPECT_EQ(view.key(), key);
    keys.push_back(key);
    return true;
  }));
  return keys;
}

class ScanTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(grouped_account_schema(GetParam().key_index));
  }
  void fill(Key first, Key last, Key step) {
    transact(db_, [&](Transaction& txn) {
      for (Key key = first; key <= last; key += step) ASSERT_OK(txn.insert(accounts_, key, Account{key, int64_t(key) * 2, 3, 4}));
    });
  }
  // Runs the check in an ordinary transaction, then on a snapshot.
  template <class Check>
  void both_ways(Check&& check) {
    transact(db_, check);
    read(db_, check);
  }

  Table<Account> accounts_;
};
ELIDER_ON_ORDERED(ScanTest);

class HashedScanTest : public DatabaseTest {};
ELIDER_ON_EVERY(HashedScanTest);

TEST_P(HashedScanTest, OnlyAnOrderedTableScans) {
  const Table<Account> accounts = create(account_schema(GetParam().key_index));
  insert(accounts, 1, Account{});
  transact(db_, [&](Transaction& txn) {
    const Status status = txn.scan(accounts, {}, {}, [](Key, const View<Account>&) { return true; });
    if (GetParam().ordered()) EXPECT_OK(status);
    else EXPECT_CODE(Code::kUnsupported, status);
    EXPECT_OK(txn.get(accounts, 1));
  });
}

TEST_P(ScanTest, AnEmptyTableHasNothingToVisit) {
  both_ways([&](Transaction& txn) { EXPECT_TRUE(keys_of_scan(txn, accounts_, {}).empty()); });
}

TEST_P(ScanTest, BothEndsOfTheRangeBelongToIt) {
  fill(10, 100, 10);
  both_ways([&](Transaction& txn) {
    EXPECT_EQ(keys_of_scan(txn, accounts_, {20, 50}), (std::vector<Key>{20, 30, 40, 50}));
    EXPECT_EQ(keys_of_scan(txn, accounts_, {21, 49}), (std::vector<Key>{30, 40}));
    EXPECT_EQ(keys_of_scan(txn, accounts_, {30, 30}), (std::vector<Key>{30}));
    EXPECT_TRUE(keys_of_scan(txn, accounts_, {31, 39}).empty());
    EXPECT_TRUE(keys_of_scan(txn, accounts_, {101, kKeyMax}).empty());
    EXPECT_TRUE(keys_of_scan(txn, accounts_, {0, 9}).empty());
  });
}

TEST_P(ScanTest, ARangeWhoseEndsAreSwappedIsEmpty) {
  fill(10, 100, 10);
  both_ways([&](Transaction& txn) {
    EXPECT_TRUE(keys_of_scan(txn, accounts_, {50, 20}).empty());
    EXPECT_TRUE(keys_of_scan(txn, accounts_, {50, 20}, {.reverse = true}).empty());
  });
}

TEST_P(ScanTest, ReverseGoesFromTheLastKeyToTheFirst) {
  fill(10, 100, 10);
  both_ways([&](Transaction& txn) {
    EXPECT_EQ(keys_of_scan(txn, accounts_, {20, 50}, {.reverse = true}), (std::vector<Key>{50, 40, 30, 20}));
    EXPECT_EQ(keys_of_scan(txn, accounts_, {}, {.limit = 2, .reverse = true}), (std::vector<Key>{100, 90}));
  });
}

TEST_P(ScanTest, LimitsCountVisitedRows) {
  fill(10, 100, 10);
  both_ways([&](Transaction& txn) {
    EXPECT_TRUE(keys_of_scan(txn, accounts_, {}, {.limit = 0}).empty());
    EXPECT_EQ(keys_of_scan(txn, accounts_, {15, kKeyMax}, {.limit = 1}), (std::vector<Key>{20}));
    EXPECT_EQ(keys_of_scan(txn, accounts_, {}, {.limit = 10}).size(), 10u);
    EXPECT_EQ(keys_of_scan(txn, accounts_, {}, {.limit = 11}).size(), 10u);
  });
}

TEST_P(ScanTest, AVisitorEndsTheScan) {
  fill(10, 100, 10);
  both_ways([&](Transaction& txn) {
    for (bool reverse : {false, true}) {
      int visits = 0;
      EXPECT_OK(txn.scan(accounts_, {}, {.reverse = reverse}, [&](Key, const View<Account>&) { return ++visits < 3; }));
      EXPECT_EQ(visits, 3);
    }
  });
}

TEST_P(ScanTest, KeysAtTheEndsOfTheDomainAreVisited) {
  for (Key key : {Key{0}, Key{1}, kKeyMax - 1, kKeyMax}) insert(accounts_, key, Account{key, 0, 0, 0});
  both_ways([&](Transaction& txn) {
    const std::vector<Key> all{0, 1, kKeyMax - 1, kKeyMax};
    EXPECT_EQ(keys_of_scan(txn, accounts_, {}), all);
    EXPECT_EQ(keys_of_scan(txn, accounts_, {}, {.reverse = true}), std::vector<Key>(all.rbegin(), all.rend()));
    EXPECT_EQ(keys_of_scan(txn, accounts_, {kKeyMax, kKeyMax}), (std::vector<Key>{kKeyMax}));
    EXPECT_EQ(keys_of_scan(txn, accounts_, {0, 0}, {.reverse = true}), (std::vector<Key>{0}));
  });
}

TEST_P(ScanTest, ViewsHoldTheRowOrItsColumns) {
  fill(10, 100, 10);
  both_ways([&](Transaction& txn) {
    EXPECT_OK(txn.scan(accounts_, {}, {}, [&](Key key, const View<Account>& view) {
      EXPECT_EQ(*view, (Account{key, int64_t(key) * 2, 3, 4}));
      return true;
    }));
    ScanOptions options;
    options.columns = accounts_.columns(&Account::balance);
    EXPECT_OK(txn.scan(accounts_, {}, options, [&](Key key, const View<Account>& view) {
      EXPECT_EQ(view->balance, int64_t(key) * 2);
      return true;
    }));
  });
}

TEST_P(ScanTest, RandomScansOfManyLeavesAgreeWithAMap) {
  TestRandom random;
  std::map<Key, int64_t> model;
  transact(db_, [&](Transaction& txn) {
    for (uint64_t i = 0; i < scaled(3000); ++i) {
      const Key key = random.below(20'000);
      ASSERT_OK(txn.put(accounts_, key, Account{key, int64_t(i), 0, 0}));
      model[key] = int64_t(i);
    }
  });
  both_ways([&](Transaction& txn) {
    for (int i = 0; i < 100; ++i) {
      Key first = random.below(20'000), last = random.below(20'000);
      if (first > last) std::swap(first, last);
      const ScanOptions options{.limit = random.percent(50) ? kNoLimit : random.below(500), .reverse = random.percent(50)};
      std::vector<Key> expected;
      for (auto it = model.lower_bound(first); it != model.end() && it->first <= last; ++it) expected.push_back(it->first);
      if (options.reverse) std::reverse(expected.begin(), expected.end());
      if (expected.size() > options.limit) expected.resize(options.limit);
      ASSERT_EQ(keys_of_scan(txn, accounts_, {first, last}, options), expected);
    }
  });
}

TEST_P(ScanTest, AVisitorMayReadAndScanInTheSameTransaction) {
  fill(10, 1000, 10);
  both_ways([&](Transaction& txn) {
    int inner = 0;
    EXPECT_OK(txn.scan(accounts_, {10, 200}, {}, [&](Key key, const View<Account>& view) {
      EXPECT_OK(txn.get(accounts_, key + 500));
      EXPECT_OK(txn.scan(accounts_, {key, kKeyMax}, {.limit = 3}, [&](Key, const View<Account>&) { return ++inner > 0; }));
      EXPECT_EQ(view->owner, key);  // still this row
      return true;
    }));
    EXPECT_EQ(inner, 60);
  });
}

TEST_P(ScanTest, AVisitorMayChangeAndRemoveTheRowsItVisits) {
  fill(10, 1000, 10);
  transact(db_, [&](Transaction& txn) {
    int visits = 0;
    EXPECT_OK(txn.scan(accounts_, {}, {}, [&](Key key, const View<Account>& view) {
      ++visits;
      if (key % 20 == 0) EXPECT_OK(txn.remove(accounts_, key));
      else EXPECT_OK(txn.update(accounts_, view, accounts_.columns(&Account::balance), [](Account& a) { a.balance = -1; }));
      return true;
    }));
    EXPECT_EQ(visits, 100);
  });
  read(db_, [&](Transaction& txn) {
    int visits = 0;
    EXPECT_OK(txn.scan(accounts_, {}, {}, [&](Key key, const View<Account>& view) {
      EXPECT_NE(key % 20, 0u);
      EXPECT_EQ(view->balance, -1);
      return ++visits > 0;
    }));
    EXPECT_EQ(visits, 50);
  });
}

TEST_P(ScanTest, AVisitorMayInsertBehindTheScan) {
  fill(10, 1000, 10);
  transact(db_, [&](Transaction& txn) {
    int visits = 0;
    EXPECT_OK(txn.scan(accounts_, {}, {}, [&](Key key, const View<Account>&) {
      EXPECT_OK(txn.insert(accounts_, key - 5, Account{}));
      return ++visits > 0;
    }));
    EXPECT_EQ(visits, 100);
    EXPECT_EQ(keys_of_scan(txn, accounts_, {}).size(), 200u);
  });
  both_ways([&](Transaction& txn) { EXPECT_EQ(keys_of_scan(txn, accounts_, {}).size(), 200u); });
}

TEST_P(ScanTest, TheUntypedScanVisitsTheSameRows) {
  fill(10, 50, 10);
  const TableRef table = *db_.table("accounts");
  both_ways([&](Transaction& txn) {
    std::vector<Key> keys;
    EXPECT_OK(txn.scan(table, {20, 40}, {}, [&](Key key, RawView view) {
      EXPECT_EQ(reinterpret_cast<const Account*>(view.bytes())->owner, key);
      keys.push_back(key);
      return true;
    }));
    EXPECT_EQ(keys, (std::vector<Key>{20, 30, 40}));
  });
}

}  // namespace
}  // namespace elider::test
