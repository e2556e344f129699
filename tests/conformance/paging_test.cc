// Paging: a scan continues where another one has ended. In a secondary index, this position is a
// value and a key, because a page may end between rows of equal values.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

constexpr uint64_t kValueMax = std::numeric_limits<uint64_t>::max();
using Positions = std::vector<IndexPosition>;

class PagingTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(indexed_account_schema(GetParam().key_index));
    by_branch_ = *db_.index(accounts_, "by_branch");
    by_owner_ = *db_.index(accounts_, "by_owner");
  }
  // Owners are unique.
  void fill(Key first, Key last, uint32_t branch) {
    transact(db_, [&](Transaction& txn) {
      for (Key key = first; key <= last; ++key) ASSERT_OK(txn.insert(accounts_, key, Account{key, 0, branch, 0}));
    });
  }
  static Positions scan(Transaction& txn, const Index<Account>& index, const IndexRange& range, const ScanOptions& options = {}) {
    Positions found;
    EXPECT_OK(txn.scan(index, range, options, [&](IndexPosition at, const View<Account>& view) {
      EXPECT_EQ(view.key(), at.key);
      found.push_back(at);
    }));
    return found;
  }
  // Returns all pages of the range, one scan after the other.
  template <class Page>
  static Positions pages(IndexRange rest, bool reverse, uint64_t limit, Page&& page) {
    Positions all;
    for (;;) {
      const Positions found = page(rest, ScanOptions{.limit = limit, .reverse = reverse});
      if (found.empty()) return all;
      EXPECT_LE(found.size(), limit);
      all.insert(all.end(), found.begin(), found.end());
      if (all.size() > 10'000) return ADD_FAILURE() << "pages without end", all;
      rest = reverse ? rest.before(found.back()) : rest.after(found.back());
    }
  }
  // Runs the check in an ordinary transaction, then on a snapshot, then on a held one.
  template <class Check>
  void every_way(Check&& check) {
    transact(db_, check);
    read(db_, check);
    auto held = db_.hold_snapshot();
    ASSERT_OK(held);
    EXPECT_OK(db_.run_read_only(check, {.snapshot = &*held}));
  }

  Table<Account> accounts_;
  Index<Account> by_branch_, by_owner_;
};
ELIDER_ON_EVERY(PagingTest);

TEST_P(PagingTest, RowsOfEqualValuesAreOnOnePageEach) {
  constexpr Key kRows = 1000;
  fill(1, kRows, 7);
  fill(kRows + 1, kRows + 3, 8);
  Positions all;
  for (Key key = 1; key <= kRows; ++key) all.push_back({7, key});
  every_way([&](Transaction& txn) {
    for (const bool reverse : {false, true}) {
      const auto page = [&](const IndexRange& rest, const ScanOptions& options) { return scan(txn, by_branch_, rest, options); };
      EXPECT_EQ(pages({7, 7}, reverse, 97, page), all);
      EXPECT_EQ(pages({7, 7}, reverse, kRows, page), all);
      std::reverse(all.begin(), all.end());
    }
  });
  // Each page is read in a separate transaction.
  EXPECT_EQ(pages({7, 7}, false, 100, [&](const IndexRange& rest, const ScanOptions& options) {
    Positions found;
    read(db_, [&](Transaction& txn) { found = scan(txn, by_branch_, rest, options); });
    return found;
  }), all);
}

TEST_P(PagingTest, AUniqueIndexHasPagesAsWell) {
  fill(1, 50, 7);
  every_way([&](Transaction& txn) {
    Positions expected;
    for (Key key = 5; key <= 45; ++key) expected.push_back({key, key});
    const auto page = [&](const IndexRange& rest, const ScanOptions& options) { return scan(txn, by_owner_, rest, options); };
    EXPECT_EQ(pages({5, 45}, false, 4, page), expected);
    std::reverse(expected.begin(), expected.end());
    EXPECT_EQ(pages({5, 45}, true, 4, page), expected);
  });
}

TEST_P(PagingTest, APositionCutsARangeAndNeverWidensIt) {
  for (const uint32_t branch : {10u, 20u, 30u}) fill(branch, branch + 4, branch);
  every_way([&](Transaction& txn) {
    const auto at = [&](const IndexRange& range) { return scan(txn, by_branch_, range); };
    EXPECT_EQ(at(IndexRange(20, 20).after({20, 23})), (Positions{{20, 24}}));
    EXPECT_EQ(at(IndexRange(20, 20).before({20, 21})), (Positions{{20, 20}}));
    EXPECT_EQ(at(IndexRange(20, 20).after({20, 20}).before({20, 23})), (Positions{{20, 21}, {20, 22}}));
    EXPECT_EQ(at(IndexRange(20, 20).after({20, 22}).before({20, 23})), Positions());
    EXPECT_EQ(at(IndexRange(20, 20).after({20, 23}).before({20, 21})), Positions());
    EXPECT_EQ(at(IndexRange(20, 20).after({10, 13})), at({20, 20}));
    EXPECT_EQ(at(IndexRange(20, 20).before({30, 31})), at({20, 20}));
    EXPECT_EQ(at(IndexRange(20, 20).after({20, 23}).after({10, 0})), (Positions{{20, 24}}));
    EXPECT_EQ(at(IndexRange(20, 20).before({20, 21}).before({30, 0})), (Positions{{20, 20}}));
    EXPECT_EQ(at(IndexRange(20, 20).after({20, 24})), Positions());
    EXPECT_EQ(at(IndexRange(20, 20).before({20, 20})), Positions());
    EXPECT_EQ(at(IndexRange(30, 10).after({10, 12})), Positions());
    EXPECT_EQ(at(IndexRange().after({20, 23}).before({30, 31})), (Positions{{20, 24}, {30, 30}}));
    // These are not the positions of any row.
    EXPECT_EQ(at(IndexRange(10, 30).after({20, 99})), at({30, 30}));
    EXPECT_EQ(at(IndexRange(10, 30).before({20, 3})), at({10, 10}));
    EXPECT_EQ(at(IndexRange(10, 30).after({15, kKeyMax}).before({25, 0})), at({20, 20}));
  });
}

// The successor of a position may have the next value. The last position does not have a successor.
TEST_P(PagingTest, PositionsAtTheEndsOfTheIndex) {
  const auto put = [&](Key key, uint64_t owner) { insert(accounts_, key, Account{owner, 0, 1, 0}); };
  put(0, 0);
  put(kKeyMax, 1);
  put(5, kValueMax - 1);
  put(kKeyMax - 1, kValueMax);
  const Positions all{{0, 0}, {1, kKeyMax}, {kValueMax - 1, 5}, {kValueMax, kKeyMax - 1}};
  every_way([&](Transaction& txn) {
    const auto page = [&](const IndexRange& rest, const ScanOptions& options) { return scan(txn, by_owner_, rest, options); };
    EXPECT_EQ(pages({}, false, 1, page), all);
    EXPECT_EQ(pages({}, true, 1, page), Positions(all.rbegin(), all.rend()));
    EXPECT_EQ(page(IndexRange().after({kValueMax, kKeyMax}), {}), Positions());
    EXPECT_EQ(page(IndexRange().before({kValueMax, kKeyMax}), {}), all);
    EXPECT_EQ(page(IndexRange().before({0, 0}), {}), Positions());
    EXPECT_EQ(page(IndexRange().after({0, kKeyMax}).before({1, kKeyMax}), {}), Positions());
  });
}

TEST_P(PagingTest, ATransactionSeesItsOwnWritesOnLaterPages) {
  fill(1, 9, 7);
  transact(db_, [&](Transaction& txn) {
    EXPECT_EQ(scan(txn, by_branch_, {7, 7}, {.limit = 3}), (Positions{{7, 1}, {7, 2}, {7, 3}}));
    ASSERT_OK(txn.remove(accounts_, 3));  // the row that the page ended with
    ASSERT_OK(txn.remove(accounts_, 4));
    ASSERT_OK(txn.insert(accounts_, 12, Account{12, 0, 7, 0}));
    ASSERT_OK(txn.insert(accounts_, 0, Account{0, 0, 7, 0}));
    EXPECT_EQ(scan(txn, by_branch_, IndexRange(7, 7).after({7, 3}), {.limit = 2}), (Positions{{7, 5}, {7, 6}}));
    EXPECT_EQ(scan(txn, by_branch_, IndexRange(7, 7).after({7, 8})), (Positions{{7, 9}, {7, 12}}));
    EXPECT_EQ(scan(txn, by_branch_, IndexRange(7, 7).before({7, 3}), {.reverse = true}), (Positions{{7, 2}, {7, 1}, {7, 0}}));
  });
}

// The position of a scan by key is the key.
TEST_P(PagingTest, AScanByKeyGoesOnAtTheEndsOfTheKeys) {
  if (!GetParam().ordered()) return;
  const std::vector<Key> keys{0, 1, 7, kKeyMax - 1, kKeyMax};
  for (const Key key : keys) insert(accounts_, key, Account{key, 0, 1, 0});
  every_way([&](Transaction& txn) {
    for (const bool reverse : {false, true}) {
      std::vector<Key> found;
      KeyRange rest;
      for (size_t before = 0; before == 0 || before != found.size();) {
        before = found.size();
        ASSERT_LE(found.size(), keys.size());
        const auto visit = [&](Key key, const View<Account>&) { found.push_back(key); };
        ASSERT_OK(txn.scan(accounts_, rest, {.limit = 2, .reverse = reverse}, visit));
        if (!found.empty()) rest = reverse ? rest.before(found.back()) : rest.after(found.back());
      }
      if (reverse) std::reverse(found.begin(), found.end());
      EXPECT_EQ(found, keys);
    }
  });
}

TEST_P(PagingTest, VisitorsAreGivenAPositionOrAKey) {
  fill(1, 4, 7);
  const IndexRange range = IndexRange(7, 7).after({7, 1});
  const auto index = db_.index(TableRef(accounts_), "by_branch");
  ASSERT_OK(index);
  every_way([&](Transaction& txn) {
    Positions found;
    EXPECT_OK(txn.scan(by_branch_, range, {}, [&](IndexPosition at, const View<Account>&) {
      found.push_back(at);
      return found.size() < 2;
    }));
    EXPECT_EQ(found, (Positions{{7, 2}, {7, 3}}));
    EXPECT_REFUSED(Code::kInvalidArgument, "enough", txn.scan(by_branch_, range, {}, [&](IndexPosition at, const View<Account>&) {
      found.push_back(at);
      return Status::invalid_argument("enough");
    }));
    EXPECT_OK(txn.scan(*index, range, {}, [&](IndexPosition at, RawView view) { return found.push_back(at), static_cast<bool>(view); }));
    EXPECT_EQ(found, (Positions{{7, 2}, {7, 3}, {7, 2}, {7, 2}, {7, 3}, {7, 4}}));
    std::vector<Key> keys;
    EXPECT_OK(txn.scan(*index, range, {}, [&](Key key, RawView) { return keys.push_back(key), true; }));
    EXPECT_EQ(keys, (std::vector<Key>{2, 3, 4}));
    EXPECT_CODE(Code::kInvalidArgument, txn.scan(IndexRef{accounts_, 9}, range, {}, [](IndexPosition, RawView) { return true; }));
  });
}

// -- phantoms -------------------------------------------------------------------------------------

class PagingPhantomTest : public PagingTest {
 protected:
  void SetUp() override {
    PagingTest::SetUp();
    for (Key key = 100; key <= 4000; key += 100) fill(key, key, 7);
    other_ = create(account_schema(GetParam().key_index, "others"));
    insert(other_, 1, Account{});
  }
  // A transaction that has scanned the range writes elsewhere, while another one inserts this key.
  void expect_commit(Code code, const IndexRange& range, const ScanOptions& options, Key inserted) {
    ActiveTransaction observer = begin(db_);
    scan(*observer, by_branch_, range, options);
    ASSERT_OK(observer->update(other_, 1, {}, [](Account& a) { ++a.balance; }));
    fill(inserted, inserted, 7);
    EXPECT_CODE(code, observer.commit()) << inserted;
  }
  Table<Account> other_;
};
ELIDER_ON_CONCURRENT(PagingPhantomTest);

TEST_P(PagingPhantomTest, APageCoversTheRowsAfterItsPositionAlone) {
  ELIDER_SKIP_IF_CLAIMED(GetParam().claims_reads());
  expect_commit(Code::kConflict, IndexRange(7, 7).after({7, 1000}), {.limit = 3}, 1001);
  expect_commit(Code::kConflict, IndexRange(7, 7).after({7, 1000}), {.limit = 3}, 1199);
  expect_commit(Code::kConflict, IndexRange(7, 7).before({7, 1000}), {.limit = 3, .reverse = true}, 999);
  expect_commit(Code::kConflict, IndexRange(7, 7).before({7, 1000}), {.limit = 3, .reverse = true}, 801);
  // The following inserts change the leaf that was scanned, but not the result of the scan.
  expect_commit(Code::kOk, IndexRange(7, 7).after({7, 2000}), {.limit = 3}, 1999);
  expect_commit(Code::kOk, IndexRange(7, 7).after({7, 2000}), {.limit = 3}, 2301);
  expect_commit(Code::kOk, IndexRange(7, 7).before({7, 2000}), {.limit = 3, .reverse = true}, 2001);
  expect_commit(Code::kOk, IndexRange(7, 7).before({7, 2000}), {.limit = 3, .reverse = true}, 1699);
}

}  // namespace
}  // namespace elider::test
