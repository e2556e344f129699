// Scans' visitors: what they may return; and one that ends the transaction
// ends the scan, which says so.
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

constexpr Key kRows = 40;

class VisitorTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(indexed_account_schema(GetParam().key_index));
    for (Key key = 1; key <= kRows; ++key) insert(accounts_, key, Account{key, 0, 7, 0});
    auto index = db_.index(accounts_, "by_branch");
    ASSERT_OK(index);
    by_branch_ = *index;
  }
  // Through the secondary index, or by key.
  template <class Visitor>
  Status scan(Transaction& txn, bool by_key, bool reverse, Visitor&& visit) {
    ScanOptions options;
    options.reverse = reverse;
    return by_key ? txn.scan(accounts_, {}, options, visit) : txn.scan(by_branch_, {7, 7}, options, visit);
  }

  Table<Account> accounts_;
  Index<Account> by_branch_;
};
ELIDER_ON_EVERY(VisitorTest);

TEST_P(VisitorTest, OneThatEndsTheTransactionEndsTheScan) {
  for (int way = 0; way < 32; ++way) {
    const bool by_key = (way & 1) != 0, reverse = (way & 2) != 0, read_only = (way & 4) != 0;
    const bool commits = (way & 8) != 0, begins_another = (way & 16) != 0;
    if (by_key && !GetParam().ordered()) continue;
    ActiveTransaction txn = read_only ? begin_read_only(db_) : begin(db_);
    std::optional<ActiveTransaction> other;
    int visited = 0;
    const Status status = scan(*txn, by_key, reverse, [&](Key, const View<Account>&) {
      if (++visited != 3) return true;
      if (commits) EXPECT_OK(txn.commit());
      else txn.rollback();
      // It takes the session that has just become free.
      if (begins_another) other = read_only ? begin_read_only(db_) : begin(db_);
      return true;
    });
    EXPECT_CODE(Code::kFinished, status) << "way " << way;
    EXPECT_EQ(visited, 3) << "way " << way;
    if (!other) continue;
    EXPECT_OK((*other)->get(accounts_, 1));
    EXPECT_OK(other->commit());
  }
}

TEST_P(VisitorTest, OneThatEndsTheTransactionAndFailsHasEndedIt) {
  for (const bool by_key : {false, true}) {
    if (by_key && !GetParam().ordered()) continue;
    for (const bool read_only : {false, true}) {
      ActiveTransaction txn = read_only ? begin_read_only(db_) : begin(db_);
      const Status status = scan(*txn, by_key, false, [&](Key, const View<Account>&) -> Status {
        txn.rollback();
        return Status::rollback("no more of it");
      });
      EXPECT_CODE(Code::kFinished, status);
    }
  }
}

TEST_P(VisitorTest, OneThatLeavesAnEditOpenIsTold) {
  ActiveTransaction txn = begin(db_);
  void* image = nullptr;
  EXPECT_REFUSED(Code::kInvalidArgument, "edited()", scan(*txn, false, false, [&](Key, const View<Account>&) {
    EXPECT_OK(txn->edit(accounts_, 1, {}, &image));
    return true;
  }));
}

TEST_P(VisitorTest, ItMayReturnAStatusOrNothing) {
  for (const bool by_key : {false, true}) {
    if (by_key && !GetParam().ordered()) continue;
    read(db_, [&](Transaction& txn) {
      Key visited = 0;
      EXPECT_OK(scan(txn, by_key, false, [&](Key, const View<Account>&) { ++visited; }));
      EXPECT_EQ(visited, kRows);
      EXPECT_OK(scan(txn, by_key, false, [&](Key key, const View<Account>&) { return ++visited, txn.get(accounts_, key).status(); }));
      EXPECT_EQ(visited, 2 * kRows);
      visited = 0;
      const Status status = scan(txn, by_key, false, [&](Key key, const View<Account>&) -> Status {
        ++visited;
        ELIDER_TRY(txn.get(accounts_, key + kRows - 4));
        return {};
      });
      EXPECT_CODE(Code::kNotFound, status);
      EXPECT_EQ(status.key(), kRows + 1);
      EXPECT_EQ(visited, 5u);
    });
  }
}

TEST_P(VisitorTest, AProcedureMayReturnNothingAndHandFailuresOn) {
  EXPECT_OK(db_.run([&](Transaction& txn) { EXPECT_OK(txn.remove(accounts_, 1)); }));
  EXPECT_FALSE(has(accounts_, 1));
  const auto move = [&](Key from, Key to) {
    return db_.run([&](Transaction& txn) {
      ELIDER_ASSIGN(const auto source, txn.get(accounts_, from));
      ELIDER_TRY(txn.update(accounts_, source, {}, [](Account& a) { a.balance -= 5; }));
      ELIDER_ASSIGN(auto target, txn.get(accounts_, to));
      return txn.update(accounts_, target, {}, [](Account& a) { a.balance += 5; });
    });
  };
  EXPECT_OK(move(2, 3));
  EXPECT_EQ(row(accounts_, 2).balance, -5);
  EXPECT_EQ(row(accounts_, 3).balance, 5);
  EXPECT_CODE(Code::kNotFound, move(2, 1));
  EXPECT_EQ(row(accounts_, 2).balance, -5);
  const auto balance = [&](Key key) -> Result<int64_t> {
    ELIDER_TRY(db_.wait_durable());
    int64_t found = 0;
    ELIDER_TRY(db_.run_read_only([&](Transaction& txn) -> Status {
      ELIDER_ASSIGN(auto view, txn.get(accounts_, key));
      found = view->balance;
      return {};
    }));
    return found;
  };
  EXPECT_EQ(balance(3).value(), 5);
  EXPECT_CODE(Code::kNotFound, balance(1));
}

}  // namespace
}  // namespace elider::test
