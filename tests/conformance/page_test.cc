// TableScan and IndexScan: pages of rows, within one transaction and over several, and what happens
// to the position when a procedure is repeated.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "elider/elider.h"
#include "tests/support/byte_keys.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

constexpr Key kRows = 25;

class PageTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(indexed_account_schema(GetParam().key_index));
    by_branch_ = *db_.index(accounts_, "by_branch");
    auto texts = db_.create_table(SchemaOf<Account, std::string_view>("texts").column("balance", &Account::balance));
    ASSERT_OK(texts);
    texts_ = *texts;
    transact(db_, [&](Transaction& txn) {
      for (Key key = 1; key <= kRows; ++key) {
        ASSERT_OK(txn.insert(accounts_, key, Account{key, static_cast<int64_t>(key), static_cast<uint32_t>(key % 3), 0}));
        ASSERT_OK(txn.insert(texts_, text(key), Account{key, static_cast<int64_t>(key), 0, 0}));
      }
    });
  }
  static std::string text(Key key) { return "a key with more than 48 bytes, so that it is allocated " + std::to_string(100 + key); }

  Table<Account> accounts_;
  Index<Account> by_branch_;
  Table<Account, std::string_view> texts_;
};
ELIDER_ON_EVERY(PageTest);

class PageConflictTest : public PageTest {};
ELIDER_ON_CONCURRENT(PageConflictTest);

TEST_P(PageTest, PagesContinueInLaterTransactions) {
  if (GetParam().key_index == KeyIndex::kHashed) GTEST_SKIP() << "hashed tables are scanned in no order";
  for (const bool reverse : {false, true}) {
    for (const bool one_transaction : {false, true}) {
      TableScan scan(accounts_, {3, 22}, {.limit = 18, .reverse = reverse});
      std::array<View<Account>, 7> page;
      std::vector<Key> found;
      const auto read_pages = [&](Transaction& txn, bool all) {
        for (size_t rows = 1; rows != 0; rows = all ? rows : 0) {
          auto count = scan.next(txn, page);
          ASSERT_OK(count);
          rows = *count;
          for (size_t i = 0; i < rows; ++i) {
            EXPECT_EQ(page[i]->balance, static_cast<int64_t>(page[i].key()));
            found.push_back(page[i].key());
          }
        }
      };
      if (one_transaction) read(db_, [&](Transaction& txn) { read_pages(txn, true); });
      else
        for (int i = 0; i < 5; ++i) transact(db_, [&](Transaction& txn) { read_pages(txn, false); });
      ASSERT_EQ(found.size(), 18u);
      for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], reverse ? 22 - i : 3 + i);
    }
  }
}

TEST_P(PageTest, RowsOfAPageOutliveTheirTransactionAndNotTheirPage) {
  TableScan scan(texts_);
  std::array<View<Account, std::string_view>, 10> page, next;
  transact(db_, [&](Transaction& txn) { EXPECT_EQ(*scan.next(txn, page), 10u); });
  EXPECT_EQ(page[9].key(), text(10));
  EXPECT_EQ(page[9]->balance, 10);
  transact(db_, [&](Transaction& txn) {
    EXPECT_REFUSED(Code::kInvalidArgument, "texts", txn.update(texts_, page[9], {}, [](Account& account) { ++account.balance; }));
    EXPECT_OK(txn.remove(texts_, page[9].key()));
  });
  transact(db_, [&](Transaction& txn) { EXPECT_EQ(*scan.next(txn, next), 10u); });
  EXPECT_EQ(next[0].key(), text(11));
  EXPECT_FALSE(page[0].shows());
  TableScan copy = scan;
  EXPECT_TRUE(next[9].shows());
  transact(db_, [&](Transaction& txn) {
    EXPECT_EQ(*copy.next(txn, page), 5u);
    EXPECT_EQ(*copy.next(txn, page), 0u);
    EXPECT_EQ(*scan.next(txn, page), 5u);
  });
}

TEST_P(PageTest, PagesOfAnIndexEndBetweenEqualValues) {
  for (const bool reverse : {false, true}) {
    IndexScan scan(by_branch_, {1, 2}, {.reverse = reverse});
    std::array<View<Account>, 4> page;
    std::vector<Key> found;
    for (size_t rows = 1; rows != 0;) {
      read(db_, [&](Transaction& txn) { rows = *scan.next(txn, page); });
      for (size_t i = 0; i < rows; ++i) found.push_back(page[i].key());
    }
    ASSERT_EQ(found.size(), 17u);
    if (reverse) std::reverse(found.begin(), found.end());
    for (size_t i = 1; i < found.size(); ++i) EXPECT_LT(std::pair(found[i - 1] % 3, found[i - 1]), std::pair(found[i] % 3, found[i]));
  }
}

TEST_P(PageTest, WrongArgumentsLeaveThePositionUnchanged) {
  RawTableScan numbers(TableRef(texts_), KeyRange{}), whole{TableRef(texts_)};
  std::array<RawView, 30> page;
  ActiveTransaction ended = begin(db_);
  ended.rollback();
  EXPECT_CODE(Code::kFinished, whole.next(*ended, page).status());
  transact(db_, [&](Transaction& txn) {
    EXPECT_REFUSED(Code::kInvalidArgument, "table 'texts' has byte keys", numbers.next(txn, page).status());
    EXPECT_EQ(*whole.next(txn, {}), 0u);
    EXPECT_EQ(*whole.next(txn, page), kRows);
  });
}

// The second attempt of a procedure reads the same pages as the first.
TEST_P(PageConflictTest, ARepeatedProcedureBeginsWhereItHadBegun) {
  TableScan scan(texts_);
  std::array<View<Account, std::string_view>, 5> page;
  transact(db_, [&](Transaction& txn) { EXPECT_EQ(*scan.next(txn, page), 5u); });
  uint32_t attempts = 0;
  std::vector<std::string> first;
  EXPECT_OK(db_.run([&](Transaction& txn) -> Status {
    attempts = txn.attempt();
    for (int i = 0; i < 2 && attempts != 2; ++i) {  // the second attempt does not use the scan
      auto rows = scan.next(txn, page);
      if (!rows.ok()) return rows.status();
      if (i == 0) first.emplace_back(page[0].key());
    }
    if (attempts <= 2) return Status(Code::kConflict, Cause::kUser);
    return {};
  }));
  EXPECT_EQ(attempts, 3u);
  EXPECT_EQ(first, (std::vector<std::string>{text(6), text(6)}));
  transact(db_, [&](Transaction& txn) { EXPECT_EQ(*scan.next(txn, page), 5u); });
  EXPECT_EQ(page[0].key(), text(16));
}

TEST_P(PageTest, EveryTableIsScannedInNoOrder) {
  std::vector<Key> found, texts;
  read(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.scan_rows(accounts_, {}, [&](Key key, const View<Account>& view) {
      EXPECT_EQ(view->balance, static_cast<int64_t>(key));
      EXPECT_EQ(view.key(), key);
      found.push_back(key);
    }));
    using TextView = View<Account, std::string_view>;
    EXPECT_OK(txn.scan_rows(texts_, {.threads = 4}, [&](std::string_view key, const TextView& view, unsigned thread) {
      EXPECT_EQ(key, text(view->owner));
      EXPECT_EQ(thread, 0u);
      texts.push_back(view->owner);
      return texts.size() < 20;
    }));
  });
  std::sort(found.begin(), found.end());
  ASSERT_EQ(found.size(), kRows);
  EXPECT_EQ(found.back(), kRows);
  EXPECT_EQ(texts.size(), 20u);
}

TEST_P(PageConflictTest, ThePositionStaysAfterBeginAgainAndAfterAFailedRun) {
  TableScan scan(texts_);
  std::array<View<Account, std::string_view>, 5> page;
  ActiveTransaction txn = begin(db_);
  EXPECT_EQ(*scan.next(*txn, page), 5u);
  ASSERT_OK(txn.begin_again());
  EXPECT_EQ(*scan.next(*txn, page), 5u);
  EXPECT_EQ(page[0].key(), text(6));
  txn.rollback();
  const auto fails = [&](Transaction& its) { return scan.next(its, page).ok() ? Status::rollback() : Status(); };
  EXPECT_CODE(Code::kRolledBack, db_.run(fails));
  transact(db_, [&](Transaction& its) { EXPECT_EQ(*scan.next(its, page), 5u); });
  EXPECT_EQ(page[0].key(), text(16));
}

}  // namespace
}  // namespace elider::test
