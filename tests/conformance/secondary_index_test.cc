// Secondary indexes: the engine maintains them in the same transaction. They are scanned in the
// order of (value, key), and can be declared unique.
#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"
#include "tests/support/random.h"

namespace elider::test {
namespace {

// The entries of "by_branch" for these accounts.
using ByBranch = std::vector<std::pair<uint64_t, Key>>;

class SecondaryIndexTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(indexed_account_schema(GetParam().key_index));
    by_branch_ = *db_.index(accounts_, "by_branch");
    by_owner_ = *db_.index(accounts_, "by_owner");
  }
  ByBranch scan(Transaction& txn, KeyRange range = {}, const ScanOptions& options = {}) {
    ByBranch found;
    EXPECT_OK(txn.scan(by_branch_, range, options, [&](Key key, const View<Account>& view) {
      EXPECT_EQ(view.key(), key);
      found.emplace_back(view->branch, key);
      return true;
    }));
    return found;
  }
  // Returns the primary key of this owner, or kKeyMax.
  Key find_owner(Transaction& txn, uint64_t owner) {
    Key found = kKeyMax;
    EXPECT_OK(txn.scan(by_owner_, {owner, owner}, {}, [&](Key key, const View<Account>&) {
      found = key;
      return true;
    }));
    return found;
  }
  // Checks the committed entries in an ordinary transaction and on a snapshot.
  void expect_committed(const ByBranch& expected) {
    transact(db_, [&](Transaction& txn) { EXPECT_EQ(scan(txn), expected); });
    read(db_, [&](Transaction& txn) { EXPECT_EQ(scan(txn), expected); });
  }
  void fill() {
    transact(db_, [&](Transaction& txn) {
      ASSERT_OK(txn.insert(accounts_, 4, Account{400, 0, 10, 0}));
      ASSERT_OK(txn.insert(accounts_, 2, Account{200, 0, 20, 0}));
      ASSERT_OK(txn.insert(accounts_, 3, Account{300, 0, 10, 0}));
      ASSERT_OK(txn.insert(accounts_, 1, Account{100, 0, 30, 0}));
    });
  }

  Table<Account> accounts_;
  Index<Account> by_branch_, by_owner_;
};
ELIDER_ON_EVERY(SecondaryIndexTest);

TEST_P(SecondaryIndexTest, RowsAreFoundInTheOrderOfValueAndKey) {
  fill();
  expect_committed({{10, 3}, {10, 4}, {20, 2}, {30, 1}});
}

TEST_P(SecondaryIndexTest, RangesAreOfIndexValues) {
  fill();
  read(db_, [&](Transaction& txn) {
    EXPECT_EQ(scan(txn, {10, 10}), (ByBranch{{10, 3}, {10, 4}}));
    EXPECT_EQ(scan(txn, {11, 30}), (ByBranch{{20, 2}, {30, 1}}));
    EXPECT_EQ(scan(txn, {11, 19}), ByBranch{});
    EXPECT_EQ(scan(txn, {30, 10}), ByBranch{});
  });
}

TEST_P(SecondaryIndexTest, ReverseAndLimitsCount) {
  fill();
  const auto check = [&](Transaction& txn) {
    EXPECT_EQ(scan(txn, {}, {.reverse = true}), (ByBranch{{30, 1}, {20, 2}, {10, 4}, {10, 3}}));
    EXPECT_EQ(scan(txn, {10, 20}, {.limit = 2, .reverse = true}), (ByBranch{{20, 2}, {10, 4}}));
    EXPECT_EQ(scan(txn, {}, {.limit = 1}), (ByBranch{{10, 3}}));
    EXPECT_EQ(scan(txn, {}, {.limit = 0}), ByBranch{});
  };
  transact(db_, check);
  read(db_, check);
}

TEST_P(SecondaryIndexTest, AVisitorEndsTheScanAndMayUpdate) {
  fill();
  transact(db_, [&](Transaction& txn) {
    int visits = 0;
    EXPECT_OK(txn.scan(by_branch_, {}, {}, [&](Key, const View<Account>& view) {
      EXPECT_OK(txn.update(accounts_, view, accounts_.columns(&Account::balance), [](Account& a) { a.balance = 9; }));
      return ++visits < 2;
    }));
    EXPECT_EQ(visits, 2);
  });
  EXPECT_EQ(row(accounts_, 3).balance, 9);
  EXPECT_EQ(row(accounts_, 4).balance, 9);
  EXPECT_EQ(row(accounts_, 2).balance, 0);
}

TEST_P(SecondaryIndexTest, AScanOfColumnsFillsThem) {
  fill();
  ScanOptions options;
  options.columns = accounts_.columns(&Account::owner);
  read(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.scan(by_branch_, {}, options, [&](Key key, const View<Account>& view) {
      EXPECT_EQ(view->owner, key * 100);
      return true;
    }));
  });
}

TEST_P(SecondaryIndexTest, ChangingAnIndexedColumnMovesTheRow) {
  fill();
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.update(accounts_, 4, accounts_.columns(&Account::branch), [](Account& a) { a.branch = 25; }));
  });
  expect_committed({{10, 3}, {20, 2}, {25, 4}, {30, 1}});
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.write(accounts_, 4, accounts_.columns(&Account::branch), Account{0, 0, 5, 0}));
  });
  expect_committed({{5, 4}, {10, 3}, {20, 2}, {30, 1}});
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(accounts_, 4, Account{400, 0, 30, 0})); });
  expect_committed({{10, 3}, {20, 2}, {30, 1}, {30, 4}});
  transact(db_, [&](Transaction& txn) {
    auto view = txn.get(accounts_, 4, accounts_.columns(&Account::balance));
    ASSERT_OK(view);
    ASSERT_OK(txn.update(accounts_, *view, accounts_.columns(&Account::branch), [](Account& a) { a.branch = 10; }));
  });
  expect_committed({{10, 3}, {10, 4}, {20, 2}, {30, 1}});
}

TEST_P(SecondaryIndexTest, ChangingOtherColumnsLeavesTheRowWhereItIs) {
  fill();
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.update(accounts_, 4, accounts_.columns(&Account::balance), [](Account& a) { a.balance = 1; }));
    ASSERT_OK(txn.update(accounts_, 3, {}, [](Account& a) { a.flags = 1; }));
    ASSERT_OK(txn.add(accounts_, 2, &Account::balance, int64_t{3}));
  });
  expect_committed({{10, 3}, {10, 4}, {20, 2}, {30, 1}});
}

TEST_P(SecondaryIndexTest, ARemovedRowIsNotFoundByItsValues) {
  fill();
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 3)); });
  expect_committed({{10, 4}, {20, 2}, {30, 1}});
  transact(db_, [&](Transaction& txn) { EXPECT_EQ(find_owner(txn, 300), kKeyMax); });
  insert(accounts_, 3, Account{300, 0, 40, 0});
  expect_committed({{10, 4}, {20, 2}, {30, 1}, {40, 3}});
}

TEST_P(SecondaryIndexTest, ARowMovedBackToAFormerValueIsThereOnce) {
  fill();
  for (uint32_t branch : {11u, 10u, 11u, 10u})
    transact(db_, [&](Transaction& txn) {
      ASSERT_OK(txn.update(accounts_, 4, accounts_.columns(&Account::branch), [&](Account& a) { a.branch = branch; }));
    });
  expect_committed({{10, 3}, {10, 4}, {20, 2}, {30, 1}});
}

TEST_P(SecondaryIndexTest, AUniqueIndexRefusesAHeldValueAndNothingIsChanged) {
  fill();
  transact(db_, [&](Transaction& txn) {
    EXPECT_CODE(Code::kDuplicateKey, txn.insert(accounts_, 5, Account{300, 0, 50, 0}));
    EXPECT_CODE(Code::kDuplicateKey, txn.put(accounts_, 5, Account{300, 0, 50, 0}));
    EXPECT_CODE(Code::kDuplicateKey, txn.put(accounts_, 4, Account{300, 0, 50, 0}));
    EXPECT_CODE(Code::kDuplicateKey, txn.update(accounts_, 4, {}, [](Account& a) { a = {300, 9, 50, 9}; }));
    EXPECT_CODE(Code::kDuplicateKey, txn.write(accounts_, 4, accounts_.columns(&Account::owner), Account{300, 0, 0, 0}));
    EXPECT_CODE(Code::kNotFound, txn.get(accounts_, 5));
    auto view = txn.get(accounts_, 4);
    ASSERT_OK(view);
    EXPECT_EQ(**view, (Account{400, 0, 10, 0}));
    EXPECT_EQ(scan(txn), (ByBranch{{10, 3}, {10, 4}, {20, 2}, {30, 1}}));
  });
  expect_committed({{10, 3}, {10, 4}, {20, 2}, {30, 1}});
  EXPECT_EQ(row(accounts_, 4), (Account{400, 0, 10, 0}));
}

TEST_P(SecondaryIndexTest, ARowKeepsItsOwnUniqueValue) {
  fill();
  transact(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.put(accounts_, 3, Account{300, 5, 10, 0}));
    EXPECT_OK(txn.update(accounts_, 3, {}, [](Account& a) { a.balance = 6; }));
    EXPECT_EQ(find_owner(txn, 300), 3u);
  });
  EXPECT_EQ(row(accounts_, 3), (Account{300, 6, 10, 0}));
}

TEST_P(SecondaryIndexTest, AUniqueValueFreedInTheTransactionCanBeTaken) {
  fill();
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.remove(accounts_, 3));
    EXPECT_OK(txn.insert(accounts_, 5, Account{300, 0, 50, 0}));
    EXPECT_EQ(find_owner(txn, 300), 5u);
    ASSERT_OK(txn.update(accounts_, 4, accounts_.columns(&Account::owner), [](Account& a) { a.owner = 401; }));
    EXPECT_OK(txn.insert(accounts_, 6, Account{400, 0, 50, 0}));
    EXPECT_CODE(Code::kDuplicateKey, txn.insert(accounts_, 7, Account{401, 0, 50, 0}));
  });
  read(db_, [&](Transaction& txn) {
    EXPECT_EQ(find_owner(txn, 300), 5u);
    EXPECT_EQ(find_owner(txn, 400), 6u);
    EXPECT_EQ(find_owner(txn, 401), 4u);
  });
}

TEST_P(SecondaryIndexTest, AUniqueValueOfARemovedRowCanBeTakenLater) {
  fill();
  for (int round = 0; round < 20; ++round) {
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 3)); });
    if (round % 4 == 0) db_.collect_garbage();
    insert(accounts_, 5, Account{300, 0, 1, 0});
    read(db_, [&](Transaction& txn) { EXPECT_EQ(find_owner(txn, 300), 5u); });
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 5)); });
    insert(accounts_, 3, Account{300, 0, 1, 0});
    read(db_, [&](Transaction& txn) { EXPECT_EQ(find_owner(txn, 300), 3u); });
  }
}

TEST_P(SecondaryIndexTest, OwnWritesAreFoundByValue) {
  fill();
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.insert(accounts_, 9, Account{900, 0, 10, 0}));
    ASSERT_OK(txn.remove(accounts_, 3));
    ASSERT_OK(txn.update(accounts_, 1, accounts_.columns(&Account::branch), [](Account& a) { a.branch = 15; }));
    ASSERT_OK(txn.put(accounts_, 2, Account{200, 0, 35, 0}));
    const ByBranch expected{{10, 4}, {10, 9}, {15, 1}, {35, 2}};
    EXPECT_EQ(scan(txn), expected);
    EXPECT_EQ(scan(txn, {}, {.reverse = true}), ByBranch(expected.rbegin(), expected.rend()));
    EXPECT_EQ(scan(txn, {11, 20}), (ByBranch{{15, 1}}));
    EXPECT_EQ(scan(txn, {20, 30}), ByBranch{});
    EXPECT_EQ(scan(txn, {}, {.limit = 2}), (ByBranch{{10, 4}, {10, 9}}));
    EXPECT_EQ(find_owner(txn, 900), 9u);
    EXPECT_EQ(find_owner(txn, 300), kKeyMax);
  });
  expect_committed({{10, 4}, {10, 9}, {15, 1}, {35, 2}});
}

TEST_P(SecondaryIndexTest, AViewThroughAnIndexShowsOwnChangesOfOtherColumns) {
  fill();
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.update(accounts_, 4, accounts_.columns(&Account::balance), [](Account& a) { a.balance = 44; }));
    ASSERT_OK(txn.add(accounts_, 4, &Account::flags, 2u));
    EXPECT_OK(txn.scan(by_branch_, {10, 10}, {.limit = 1, .reverse = true}, [&](Key key, const View<Account>& view) {
      EXPECT_EQ(key, 4u);
      EXPECT_EQ(*view, (Account{400, 44, 10, 2}));
      return true;
    }));
  });
}

// A row has a value only within a transaction. The entry of this value must not outlive the row,
// because it would lead to memory that is used for something else.
TEST_P(SecondaryIndexTest, ValuesThatARowHadOnlyWithinATransactionLeaveNoEntry) {
  const auto set_branch = [&](Transaction& txn, Key key, uint32_t branch) {
    return txn.update(accounts_, key, accounts_.columns(&Account::branch), [&](Account& a) { a.branch = branch; });
  };
  using Body = std::function<void(Transaction&)>;
  const std::vector<std::pair<const char*, Body>> cases{
      {"changed, removed, inserted",
       [&](Transaction& txn) {
         ASSERT_OK(set_branch(txn, 4, 70));
         ASSERT_OK(txn.remove(accounts_, 4));
         ASSERT_OK(txn.insert(accounts_, 4, Account{400, 0, 10, 0}));
       }},
      {"inserted, removed, inserted elsewhere",
       [&](Transaction& txn) {
         ASSERT_OK(txn.insert(accounts_, 5, Account{500, 0, 70, 0}));
         ASSERT_OK(txn.remove(accounts_, 5));
         ASSERT_OK(txn.insert(accounts_, 5, Account{501, 0, 71, 0}));
         ASSERT_OK(txn.remove(accounts_, 5));
       }},
      {"inserted, removed, inserted, kept",
       [&](Transaction& txn) {
         ASSERT_OK(txn.remove(accounts_, 4));
         ASSERT_OK(txn.insert(accounts_, 4, Account{400, 0, 70, 0}));
         ASSERT_OK(txn.remove(accounts_, 4));
         ASSERT_OK(txn.insert(accounts_, 4, Account{400, 0, 10, 0}));
       }},
      {"changed and changed back", [&](Transaction& txn) {
         ASSERT_OK(set_branch(txn, 4, 70));
         ASSERT_OK(set_branch(txn, 4, 71));
         ASSERT_OK(set_branch(txn, 4, 10));
       }},
      {"refused, then inserted with another value, then removed",
       [&](Transaction& txn) {
         EXPECT_CODE(Code::kDuplicateKey, txn.insert(accounts_, 5, Account{300, 0, 70, 0}));
         ASSERT_OK(txn.insert(accounts_, 5, Account{500, 0, 71, 0}));
         ASSERT_OK(txn.remove(accounts_, 5));
       }},
  };
  fill();
  for (const auto& [what, body] : cases) {
    SCOPED_TRACE(what);
    transact(db_, body);
    expect_committed({{10, 3}, {10, 4}, {20, 2}, {30, 1}});
    db_.collect_garbage();
    EXPECT_OK(db_.verify());
    expect_committed({{10, 3}, {10, 4}, {20, 2}, {30, 1}});
    // The row is removed and its memory is reclaimed. Other rows use the memory.
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 4)); });
    db_.collect_garbage();
    EXPECT_OK(db_.verify());
    for (Key key = 1000; key < 1010; ++key) insert(accounts_, key, Account{key, 0, 70, 0});
    read(db_, [&](Transaction& txn) { EXPECT_EQ(scan(txn).size(), 13u); });
    transact(db_, [&](Transaction& txn) {
      for (Key key = 1000; key < 1010; ++key) ASSERT_OK(txn.remove(accounts_, key));
      ASSERT_OK(txn.insert(accounts_, 4, Account{400, 0, 10, 0}));
    });
    db_.collect_garbage();
  }
}

TEST_P(SecondaryIndexTest, ExtremeValuesAndKeysAreFound) {
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.insert(accounts_, 0, Account{0, 0, 0, 0}));
    ASSERT_OK(txn.insert(accounts_, kKeyMax, Account{kKeyMax, 0, ~0u, 0}));
  });
  read(db_, [&](Transaction& txn) {
    EXPECT_EQ(scan(txn), (ByBranch{{0, 0}, {~0u, kKeyMax}}));
    EXPECT_EQ(find_owner(txn, 0), 0u);
    EXPECT_OK(txn.scan(by_owner_, {kKeyMax, kKeyMax}, {.reverse = true}, [](Key key, const View<Account>&) {
      EXPECT_EQ(key, kKeyMax);
      return true;
    }));
  });
}

TEST_P(SecondaryIndexTest, SeveralTablesKeepTheirIndexesApart) {
  const Table<Account> others = create(indexed_account_schema(GetParam().key_index, "others"));
  fill();
  insert(others, 7, Account{300, 0, 10, 0});
  transact(db_, [&](Transaction& txn) {
    EXPECT_EQ(find_owner(txn, 300), 3u);
    const Index<Account> index = *db_.index(others, "by_owner");
    int visits = 0;
    EXPECT_OK(txn.scan(index, {}, {}, [&](Key key, const View<Account>&) { return key == 7u && ++visits; }));
    EXPECT_EQ(visits, 1);
  });
}

TEST_P(SecondaryIndexTest, AnUnknownIndexIsRefused) {
  IndexRef wrong = by_branch_;
  wrong.position = 7;
  transact(db_, [&](Transaction& txn) {
    EXPECT_CODE(Code::kInvalidArgument, txn.scan(wrong, KeyRange{}, ScanOptions{}, [](Key, RawView) { return true; }));
  });
}

// The indexed column has its own column group. If one transaction removes and inserts the row, its
// entry moves nevertheless. The same holds for two transactions, whether or not the block is
// reclaimed in between.
TEST_P(SecondaryIndexTest, AnIndexedColumnInAGroupOfItsOwnFollowsRemoveAndInsert) {
  const Table<Account> table = create(indexed_account_schema(GetParam().key_index, "grouped").group({"branch"}).group({"owner"}));
  const Index<Account> index = *db_.index(table, "by_branch");
  insert(table, 1, Account{100, 0, 10, 0});
  const auto expect_branch = [&](uint32_t branch) {
    read(db_, [&](Transaction& txn) {
      ByBranch found;
      EXPECT_OK(txn.scan(index, {}, {}, [&](Key key, const View<Account>& view) {
        found.emplace_back(view->branch, key);
        return true;
      }));
      EXPECT_EQ(found, (ByBranch{{branch, 1}}));
    });
    EXPECT_OK(db_.verify());
  };
  for (uint32_t branch = 11; branch < 30; ++branch) {
    const Account next{100, 0, branch, 0};
    switch (branch % 4) {
      case 0:
        transact(db_, [&](Transaction& txn) {
          ASSERT_OK(txn.remove(table, 1));
          ASSERT_OK(txn.insert(table, 1, next));
        });
        break;
      case 1:
        transact(db_, [&](Transaction& txn) {
          ASSERT_OK(txn.update(table, 1, table.columns(&Account::balance), [](Account& a) { ++a.balance; }));
          ASSERT_OK(txn.remove(table, 1));
          ASSERT_OK(txn.put(table, 1, Account{101, 0, 5, 0}));
          ASSERT_OK(txn.write(table, 1, table.columns(&Account::branch), next));
        });
        break;
      default:
        transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(table, 1)); });
        if (branch % 4 == 2) db_.collect_garbage();
        insert(table, 1, next);
    }
    expect_branch(branch);
    if (branch % 3 == 0) db_.collect_garbage();
    expect_branch(branch);
  }
}

}  // namespace
}  // namespace elider::test
