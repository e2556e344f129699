// Chains of writes to one row with several column groups, in one transaction. After each step, the
// transaction reads what a model predicts. After the commit, so do all other transactions.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

enum class Step {
  kPut,
  kInsert,
  kRemove,
  kAddBalance,
  kAddBranch,
  kUpdateBalance,
  kUpdateOwnerAndFlags,
  kWriteBalance,
  kWriteBranch,
  kWriteAll
};
constexpr int kSteps = 10;
constexpr std::array<const char*, kSteps> kNames{"put",   "insert",        "remove",       "add balance", "add branch", "update balance",
                                                 "update owner+flags", "write balance", "write branch", "write all"};

class WriteChainTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(grouped_account_schema(GetParam().key_index));
    // This table has the same columns, and one of them is indexed. Writes take other code paths.
    indexed_ = create(grouped_account_schema(GetParam().key_index, "indexed").index("by_flags", {"flags"}, [](const Account& a) {
      return uint64_t{a.flags};
    }));
  }
  using Row = std::optional<Account>;

  // Applies the step to the row. `salt` makes the values of each step unique.
  static Status perform(Transaction& txn, const Table<Account>& table, Key key, Step step, uint32_t salt) {
    const Account fresh = fresh_row(salt);
    switch (step) {
      case Step::kPut: return txn.put(table, key, fresh);
      case Step::kInsert: return txn.insert(table, key, fresh);
      case Step::kRemove: return txn.remove(table, key);
      case Step::kAddBalance: return txn.add(table, key, &Account::balance, int64_t{salt});
      case Step::kAddBranch: return txn.add(table, key, &Account::branch, salt);
      case Step::kUpdateBalance:
        return txn.update(table, key, table.columns(&Account::balance), [&](Account& a) { a.balance += salt; });
      case Step::kUpdateOwnerAndFlags:
        return txn.update(table, key, table.columns(&Account::owner, &Account::flags), [&](Account& a) {
          a.owner += salt;
          a.flags += salt;
        });
      case Step::kWriteBalance: return txn.write(table, key, table.columns(&Account::balance), fresh);
      case Step::kWriteBranch: return txn.write(table, key, table.columns(&Account::branch), fresh);
      case Step::kWriteAll: return txn.write(table, key, {}, fresh);
    }
    return Status::invalid_argument("no such step");
  }
  // Applies the step to a model of the row.
  static Code perform(Step step, uint32_t salt, Row& model) {
    const Account fresh = fresh_row(salt);
    if (step == Step::kInsert && model) return Code::kDuplicateKey;
    if (step == Step::kPut || step == Step::kInsert) {
      model = fresh;
      return Code::kOk;
    }
    if (!model) return Code::kNotFound;
    switch (step) {
      case Step::kRemove: model.reset(); break;
      case Step::kUpdateBalance:
      case Step::kAddBalance: model->balance += salt; break;
      case Step::kAddBranch: model->branch += salt; break;
      case Step::kUpdateOwnerAndFlags:
        model->owner += salt;
        model->flags += salt;
        break;
      case Step::kWriteBalance: model->balance = fresh.balance; break;
      case Step::kWriteBranch: model->branch = fresh.branch; break;
      default: model = fresh;
    }
    return Code::kOk;
  }
  static Account fresh_row(uint32_t salt) { return {salt, int64_t{salt} * 2, salt * 3, salt * 4}; }
  static constexpr uint32_t salt_of(uint32_t step) { return 100 * (step + 1); }
  // This is not called within ASSERT_NO_FATAL_FAILURE. If a region aborts there, googletest keeps a
  // reporter that no longer exists.
  void expect_own(Transaction& txn, const Table<Account>& table, Key key, const Row& model) {
    auto view = txn.get(table, key);
    ASSERT_CODE(model ? Code::kOk : Code::kNotFound, view);
    if (!model) return;
    ASSERT_EQ(**view, *model);
    auto part = txn.get(table, key, table.columns(&Account::balance));
    ASSERT_OK(part);
    ASSERT_EQ((*part)->balance, model->balance);
  }
  // Runs all chains of `length` steps on a row that exists, and on one that does not. Reading after
  // each step turns blind writes into tracked ones, so each chain runs with and without these
  // reads.
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
            const auto step = static_cast<Step>(rest % kSteps);
            const Code expected = perform(step, salt_of(i), model);
            ASSERT_CODE(expected, perform(txn, table, key, step, salt_of(i))) << words;
            if (reading) expect_own(txn, table, key, model);
            if (HasFatalFailure()) return;
          }
          expect_own(txn, table, key, model);
        });
        read(db_, [&](Transaction& txn) { expect_own(txn, table, key, model); });
        if (HasFailure()) FAIL() << words;
      }
    EXPECT_OK(db_.verify());
  }

  // Runs all chains of `length` steps. Before the chain commits, another transaction removes the
  // row, inserts it or replaces it. The chain may commit only if every step would have given the
  // same answer after that.
  void run_chains_against_another(const Table<Account>& table, int length) {
    enum class Other { kRemoves, kInserts, kReplaces };
    constexpr std::array<const char*, 3> kOthers{", removed", ", inserted", ", replaced"};
    int chains = 1;
    for (int i = 0; i < length; ++i) chains *= kSteps;
    const Key key = 5;
    const Account another{7, 8, 9, 10};
    int committed = 0;
    for (int variant = 0; variant < 6 * chains; ++variant) {
      const auto others = static_cast<Other>(variant % 3);
      const bool block_stays = variant / 3 % 2 != 0;  // a snapshot keeps a removed row's block in its index
      std::string words = table.schema().name + kOthers[static_cast<size_t>(others)] + (block_stays ? " in place: " : ": ");
      transact(db_, [&](Transaction& txn) {
        static_cast<void>(txn.remove(table, key));
        if (others == Other::kInserts) return;
        ASSERT_OK(txn.put(table, key, Account{1, 2, 3, 4}));
      });
      ActiveTransaction holder = block_stays ? begin_read_only(db_) : ActiveTransaction();
      ActiveTransaction txn = begin(db_);
      std::vector<std::pair<Step, Code>> done;
      int rest = variant / 6;
      for (uint32_t i = 0; i < static_cast<uint32_t>(length); ++i, rest /= kSteps) {
        const auto step = static_cast<Step>(rest % kSteps);
        done.emplace_back(step, perform(*txn, table, key, step, salt_of(i)).code());
        words += std::string(kNames[static_cast<size_t>(step)]) + "; ";
      }
      transact(db_, [&](Transaction& other) {
        ASSERT_OK(others == Other::kRemoves ? other.remove(table, key) : other.put(table, key, another));
      });
      Row model;
      if (others != Other::kRemoves) model = another;
      const Status status = txn.commit();
      if (status.ok()) {
        ++committed;
        for (uint32_t i = 0; i < done.size(); ++i) ASSERT_EQ(perform(done[i].first, salt_of(i), model), done[i].second) << words;
      } else {
        ASSERT_CODE(Code::kConflict, status) << words;
      }
      holder = {};
      read(db_, [&](Transaction& after) { expect_own(after, table, key, model); });
      if (HasFailure()) FAIL() << words;
    }
    EXPECT_GT(committed, 0);
    EXPECT_OK(db_.verify());
  }

  Table<Account> accounts_, indexed_;
};
ELIDER_ON_EVERY(WriteChainTest);

class BlindWriteTest : public WriteChainTest {};
ELIDER_ON_CONCURRENT(BlindWriteTest);

TEST_P(WriteChainTest, EveryChainOfThreeWritesReadsAndCommitsAsTheModelSays) { run_chains(accounts_, 3); }

TEST_P(WriteChainTest, EveryChainOfTwoWritesOfAnIndexedRowReadsAndCommitsAsTheModelSays) { run_chains(indexed_, 2); }

TEST_P(BlindWriteTest, NoChainOfThreeWritesCommitsWhatAnothersWriteMadeWrong) {
  ELIDER_SKIP_IF_CLAIMED(GetParam().claims_writes());
  run_chains_against_another(accounts_, 3);
}

TEST_P(BlindWriteTest, NoChainOfTwoWritesOfAnIndexedRowCommitsWhatAnothersWriteMadeWrong) {
  ELIDER_SKIP_IF_CLAIMED(GetParam().claims_writes());
  run_chains_against_another(indexed_, 2);
}

// A blind write over the transaction's own blind write or addition still does not read anything.
// Changes of other transactions do not conflict with it.
TEST_P(BlindWriteTest, AWriteOverAnOwnBlindChangeStaysBlind) {
  ELIDER_SKIP_IF_CLAIMED(GetParam().claims_writes());
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
