// Chains of writes of one row with several commit groups, in one transaction: after each step the
// transaction reads what a model says, and so does everybody after the commit.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>

#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

enum class Step { kPut, kInsert, kRemove, kAddBalance, kAddBranch, kUpdateBalance, kUpdateOwnerAndFlags, kWriteBalance, kWriteBranch, kWriteAll };
constexpr int kSteps = 10;
constexpr std::array<const char*, kSteps> kNames{"put",   "insert",        "remove",       "add balance", "add branch", "update balance",
                                                 "update owner+flags", "write balance", "write branch", "write all"};

class WriteChainTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(grouped_account_schema(GetParam().key_index));
    // The same columns, one of them indexed: writes go other ways.
    indexed_ = create(grouped_account_schema(GetParam().key_index, "indexed").index("by_flags", {"flags"}, [](const Account& a) {
      return uint64_t{a.flags};
    }));
  }
  using Row = std::optional<Account>;

  // Does the step to the row and to the model; `salt` makes each step's values its own.
  void apply(Transaction& txn, const Table<Account>& table, Key key, Step step, uint32_t salt, Row& model) {
    const Account fresh{salt, int64_t{salt} * 2, salt * 3, salt * 4};
    const bool there = model.has_value();
    const Code missing = there ? Code::kOk : Code::kNotFound;
    switch (step) {
      case Step::kPut:
        ASSERT_OK(txn.put(table, key, fresh));
        model = fresh;
        return;
      case Step::kInsert:
        ASSERT_CODE(there ? Code::kDuplicateKey : Code::kOk, txn.insert(table, key, fresh));
        if (!there) model = fresh;
        return;
      case Step::kRemove:
        ASSERT_CODE(missing, txn.remove(table, key));
        model.reset();
        return;
      case Step::kAddBalance:
        ASSERT_CODE(missing, txn.add(table, key, &Account::balance, int64_t{salt}));
        if (there) model->balance += salt;
        return;
      case Step::kAddBranch:
        ASSERT_CODE(missing, txn.add(table, key, &Account::branch, salt));
        if (there) model->branch += salt;
        return;
      case Step::kUpdateBalance:
        ASSERT_CODE(missing, txn.update(table, key, table.columns(&Account::balance), [&](Account& a) {
          EXPECT_EQ(a.balance, model->balance);
          a.balance += salt;
        }));
        if (there) model->balance += salt;
        return;
      case Step::kUpdateOwnerAndFlags:
        ASSERT_CODE(missing, txn.update(table, key, table.columns(&Account::owner, &Account::flags), [&](Account& a) {
          EXPECT_EQ(a.owner, model->owner);
          EXPECT_EQ(a.flags, model->flags);
          a.owner += salt;
          a.flags += salt;
        }));
        if (!there) return;
        model->owner += salt;
        model->flags += salt;
        return;
      case Step::kWriteBalance:
        ASSERT_CODE(missing, txn.write(table, key, table.columns(&Account::balance), fresh));
        if (there) model->balance = fresh.balance;
        return;
      case Step::kWriteBranch:
        ASSERT_CODE(missing, txn.write(table, key, table.columns(&Account::branch), fresh));
        if (there) model->branch = fresh.branch;
        return;
      case Step::kWriteAll:
        ASSERT_CODE(missing, txn.write(table, key, {}, fresh));
        if (there) model = fresh;
        return;
    }
  }
  void expect_own(Transaction& txn, const Table<Account>& table, Key key, const Row& model) {
    auto view = txn.get(table, key);
    ASSERT_CODE(model ? Code::kOk : Code::kNotFound, view);
    if (!model) return;
    ASSERT_EQ(**view, *model);
    auto part = txn.get(table, key, table.columns(&Account::balance));
    ASSERT_OK(part);
    ASSERT_EQ((*part)->balance, model->balance);
  }
  // All chains of `length` steps over a row that is there, or is not. Reading after each step makes blind
  // writes tracked ones, so it is done and left out.
  void run_chains(const Table<Account>& table, int length) {
    int chains = 1;
    for (int i = 0; i < length; ++i) chains *= kSteps;
    const Key key = 5;
    for (int chain = 0; chain < chains; ++chain)
      for (int variant = 0; variant < 4; ++variant) {
        const bool there = variant & 1, reading = variant & 2;
        Row model;
        if (there) model = Account{1, 2, 3, 4};
        std::string words = table.schema().name + (there ? ", present: " : ", absent: ");
        transact(db_, [&](Transaction& txn) {
          static_cast<void>(txn.remove(table, key));
          if (!there) return;
          ASSERT_OK(txn.put(table, key, *model));
        });
        transact(db_, [&](Transaction& txn) {
          int rest = chain;
          for (uint32_t i = 0; i < static_cast<uint32_t>(length); ++i, rest /= kSteps) {
            words += std::string(kNames[static_cast<size_t>(rest % kSteps)]) + "; ";
            ASSERT_NO_FATAL_FAILURE(apply(txn, table, key, static_cast<Step>(rest % kSteps), 100 * (i + 1), model)) << words;
            if (!reading) continue;
            ASSERT_NO_FATAL_FAILURE(expect_own(txn, table, key, model)) << words;
          }
          ASSERT_NO_FATAL_FAILURE(expect_own(txn, table, key, model)) << words;
        });
        read(db_, [&](Transaction& txn) { ASSERT_NO_FATAL_FAILURE(expect_own(txn, table, key, model)) << words; });
        if (HasFailure()) FAIL() << words;
      }
    EXPECT_OK(db_.verify());
  }

  Table<Account> accounts_, indexed_;
};
ELIDER_ON_EVERY(WriteChainTest);

class BlindWriteTest : public WriteChainTest {};
ELIDER_ON_CONCURRENT(BlindWriteTest);

TEST_P(WriteChainTest, EveryChainOfThreeWritesReadsAndCommitsAsTheModelSays) { run_chains(accounts_, 3); }

TEST_P(WriteChainTest, EveryChainOfTwoWritesOfAnIndexedRowReadsAndCommitsAsTheModelSays) { run_chains(indexed_, 2); }

// A blind write over an own blind write, or over an own add, reads nothing still: nobody's change conflicts.
TEST_P(BlindWriteTest, AWriteOverAnOwnBlindChangeStaysBlind) {
  insert(accounts_, 5, Account{1, 2, 3, 4});
  ActiveTransaction txn = begin(db_);
  ASSERT_OK(txn->write(accounts_, 5, accounts_.columns(&Account::owner), Account{10, 0, 0, 0}));
  ASSERT_OK(txn->write(accounts_, 5, accounts_.columns(&Account::branch), Account{0, 0, 30, 0}));
  ASSERT_OK(txn->add(accounts_, 5, &Account::balance, int64_t{7}));
  ASSERT_OK(txn->write(accounts_, 5, accounts_.columns(&Account::balance), Account{0, 20, 0, 0}));
  transact(db_, [&](Transaction& other) { ASSERT_OK(other.put(accounts_, 5, Account{8, 8, 8, 8})); });
  EXPECT_OK(txn.commit());
  EXPECT_EQ(row(accounts_, 5), (Account{10, 20, 30, 8}));
}

}  // namespace
}  // namespace elider::test
