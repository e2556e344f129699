// Mistakes of the program that uses the library. The engine says what was wrong, and does not read
// memory that was released.
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class MistakesTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(indexed_account_schema(GetParam().key_index));
    insert(accounts_, 1, Account{10, 100, 0, 0});
    insert(accounts_, 2, Account{20, 200, 0, 0});
  }
  Table<Account> accounts_;
};
ELIDER_ON_EVERY(MistakesTest);

// -- what is not there ----------------------------------------------------------------------------

TEST(MistakesDeathTest, AFailureHasNoValue) {
  Result<std::string> failed = Status::invalid_argument("option 'x' makes no sense");
  EXPECT_DEATH(static_cast<void>(failed->size()), "-> of a Result .*option 'x' makes no sense");
  EXPECT_DEATH(static_cast<void>((*failed).size()), "\\* of a Result .*option 'x' makes no sense");
  EXPECT_DEATH(static_cast<void>(std::move(failed).value()), "value\\(\\) of a Result .*option 'x' makes no sense");
  Options wrong;
  wrong.workers_max = 0;
  EXPECT_DEATH(static_cast<void>(Database::open(wrong)->tables()), "workers_max");
}

TEST(MistakesDeathTest, AMissingRowShowsNothing) {
  const View<Account> none;
  EXPECT_DEATH(static_cast<void>(none->balance), "View that shows no row");
  EXPECT_DEATH(static_cast<void>((*none).balance), "View that shows no row");
  EXPECT_DEATH(static_cast<void>(none.key()), "View that shows no row");
}

#ifndef NDEBUG
TEST_P(MistakesTest, AViewThatIsKeptPastItsTransactionIsFoundOut) {
  for (const bool read_only : {false, true}) {
    ActiveTransaction txn = read_only ? begin_read_only(db_) : begin(db_);
    auto view = txn->get(accounts_, 1);
    ASSERT_OK(view);
    EXPECT_EQ((*view)->balance, 100);
    EXPECT_OK(txn.commit());
    EXPECT_DEATH(static_cast<void>((*view)->balance), "View was used after its transaction");
  }
}
#endif

// Such a view shows the same row as before, or ends the process, in every build. It never shows
// another row.
TEST_P(MistakesTest, AViewThatIsKeptNeverShowsAnotherRow) {
  for (const bool read_only : {false, true}) {
    View<Account> kept, in_batch;
    const auto run = [&](auto&& body) { EXPECT_OK(read_only ? db_.run_read_only(body) : db_.run(body)); };
    run([&](Transaction& txn) -> Status {
      ELIDER_ASSIGN(kept, txn.get(accounts_, 1));
      const Key keys[] = {1};
      return txn.multi_get(accounts_, std::span<const Key>(keys), std::span(&in_batch, 1));
    });
    run([&](Transaction& txn) { return txn.get(accounts_, 2).status(); });
    EXPECT_FALSE(kept.shows());
    EXPECT_DEATH(static_cast<void>(kept->balance), "View was used after its transaction");
    run([&](Transaction& txn) {
      EXPECT_OK(txn.get(accounts_, 2));
      return txn.get(accounts_, 2).status();
    });
    EXPECT_FALSE(in_batch.shows());
    EXPECT_DEATH(static_cast<void>(in_batch.key()), "View was used after its transaction");
  }
}

// A row that is stored as one block is viewed in place, and its memory is returned to the system.
TEST_P(MistakesTest, AViewOfABlockIsFoundOutAtOnce) {
  SchemaOf<Document> schema("blocks");
  schema.key_index(GetParam().key_index).column("revision", &Document::revision).column("body", &Document::body);
  const Table<Document> blocks = create(schema);
  insert(blocks, 1, document_of(7));
  View<Document> kept;
  EXPECT_OK(db_.run([&](Transaction& txn) -> Status {
    ELIDER_ASSIGN(kept, txn.get(blocks, 1));
    EXPECT_EQ(kept->revision, 7u);
    return {};
  }));
  EXPECT_FALSE(kept.shows());
  EXPECT_DEATH(static_cast<void>(kept->revision), "View was used after its transaction");
}

// -- an ActiveTransaction after its end -----------------------------------------------------------

TEST_P(MistakesTest, AnEndedTransactionAnswersFinished) {
  const auto expect_finished = [&](ActiveTransaction& txn) {
    const auto index = db_.index(accounts_, "by_owner");
    ASSERT_OK(index);
    EXPECT_FALSE(txn);
    EXPECT_CODE(Code::kFinished, txn->get(accounts_, 1));
    std::vector<Key> keys = {1};
    std::vector<View<Account>> views(1);
    EXPECT_CODE(Code::kFinished, txn->multi_get(accounts_, std::span<const Key>(keys), std::span(views)));
    EXPECT_CODE(Code::kFinished, txn->scan(accounts_, {}, {}, [](Key, const View<Account>&) {}));
    EXPECT_CODE(Code::kFinished, txn->scan(*index, {}, {}, [](Key, const View<Account>&) {}));
    EXPECT_CODE(Code::kFinished, txn->insert(accounts_, 3, Account{}));
    EXPECT_CODE(Code::kFinished, txn->put(accounts_, 3, Account{}));
    EXPECT_CODE(Code::kFinished, txn->update(accounts_, 1, {}, [](Account&) {}));
    EXPECT_CODE(Code::kFinished, txn->update(accounts_, views[0], {}, [](Account&) {}));
    EXPECT_CODE(Code::kFinished, txn->write(accounts_, 1, {}, Account{}));
    EXPECT_CODE(Code::kFinished, txn->add(accounts_, 1, &Account::balance, int64_t{1}));
    EXPECT_CODE(Code::kFinished, (*txn).remove(accounts_, 1));
    EXPECT_EQ(txn->attempt(), 1u);
    EXPECT_CODE(Code::kFinished, txn.commit());
    txn.rollback();
  };
  ActiveTransaction never;
  expect_finished(never);
  ActiveTransaction committed = begin(db_);
  EXPECT_OK(committed.commit());
  expect_finished(committed);
  ActiveTransaction rolled_back = begin_read_only(db_);
  rolled_back.rollback();
  expect_finished(rolled_back);
  ActiveTransaction moved = begin(db_), to = std::move(moved);
  expect_finished(moved);
  EXPECT_OK(to->get(accounts_, 1));
  EXPECT_EQ(row(accounts_, 1).balance, 100);
}

// -- schemas --------------------------------------------------------------------------------------

TEST_P(MistakesTest, AnIndexFunctionThatReadsAColumnItDoesNotNameIsRefused) {
  const auto make = [&](auto key) {
    return db_.create_table(account_schema(GetParam().key_index, "others").index("by_sum", {"owner"}, key));
  };
  const auto sum = make([](const Account& a) { return a.owner + static_cast<uint64_t>(a.balance); });
  EXPECT_REFUSED(Code::kInvalidArgument, "index 'by_sum' reads column 'balance' but does not list it", sum);
  EXPECT_REFUSED(Code::kInvalidArgument, "'flags'", make([](const Account& a) { return a.owner == 0 ? 5 : uint64_t{a.flags}; }));
  EXPECT_REFUSED(Code::kInvalidArgument, "'branch'", make([](const Account& a) { return uint64_t{a.branch - a.flags}; }));
  EXPECT_REFUSED(Code::kInvalidArgument, "'balance'", make([](const Account& a) { return static_cast<uint64_t>(a.balance / 100); }));
  EXPECT_REFUSED(Code::kInvalidArgument, "'flags'", make([](const Account& a) { return uint64_t{a.flags & 2}; }));
  SchemaOf<Account> some("some");
  some.key_index(GetParam().key_index).column("owner", &Account::owner).index("by_sum", {"owner"}, [](const Account& a) {
    return a.owner + a.flags;
  });
  EXPECT_REFUSED(Code::kInvalidArgument, "bytes that no column describes", db_.create_table(some));
  EXPECT_OK(make([](const Account& a) -> uint64_t {
    if (a.owner == 1) throw 5;  // a row for which the function throws proves nothing
    return a.owner * 3;
  }));
}

// A correct function is not called with values that it cannot handle. It may divide by a column, or
// by a difference of columns.
TEST_P(MistakesTest, AnIndexFunctionMayDivideByWhatItNames) {
  const auto make = [&](const char* name, auto key) {
    return db_.create_table(account_schema(GetParam().key_index, name).index("by_ratio", {"owner", "branch"}, key));
  };
  EXPECT_OK(make("ratios", [](const Account& a) { return a.owner / a.branch; }));
  EXPECT_OK(make("differences", [](const Account& a) { return uint64_t{100} / (a.owner - a.branch); }));
}

TEST_P(MistakesTest, AMismatchSaysWhatDiffers) {
  struct Cents {
    int64_t cents;
    uint64_t more;
  };
  const auto make = [&](const char* name, ColumnType type, uint32_t offset, uint32_t size, uint32_t group) {
    Schema schema = SchemaOf<Cents>("prices").key_index(GetParam().key_index).schema();
    schema.columns = {{name, type, offset, size, group}};
    return db_.create_table(schema);
  };
  ASSERT_OK(make("cents", ColumnType::kInt64, 0, 8, 0));
  EXPECT_REFUSED(Code::kSchemaMismatch, "column 'cents' has type int64 in the table, but uint64 in the program's description", make("cents",
                 ColumnType::kUInt64, 0, 8, 0));
  EXPECT_REFUSED(Code::kSchemaMismatch, "column 'cents' has offset 0 in the table, but 8 in", make("cents", ColumnType::kInt64, 8, 8, 0));
  EXPECT_REFUSED(Code::kSchemaMismatch, "column 'cents' has column group 0 in the table, but 1 in", make("cents",
                 ColumnType::kInt64, 0, 8, 1));
  EXPECT_REFUSED(Code::kSchemaMismatch, "column 0 is 'cents' in the table, but 'euros' in", make("euros", ColumnType::kInt64, 0, 8, 0));
  const auto of_accounts = [&](bool unique, std::vector<std::string> columns) {
    Schema schema = indexed_account_schema(GetParam().key_index).schema();
    schema.indexes[1].unique = unique;
    schema.indexes[1].columns = std::move(columns);
    return db_.create_table(schema);
  };
  EXPECT_REFUSED(Code::kSchemaMismatch, "secondary index 'by_owner' is unique in the table, but is not unique in",
                 of_accounts(false, {"owner"}));
  EXPECT_REFUSED(Code::kSchemaMismatch, "reads columns 'owner' in the table, but 'owner', 'flags' in", of_accounts(true, {"owner",
                 "flags"}));
}

// -- answers that name what they are about --------------------------------------------------------

TEST_P(MistakesTest, ADuplicateInAUniqueIndexNamesIndexAndHolder) {
  transact(db_, [&](Transaction& txn) {
    const Status taken = txn.insert(accounts_, 3, Account{20, 0, 0, 0});
    EXPECT_REFUSED(Code::kDuplicateKey, "unique index 'by_owner' already has value 20, in the row of key 2", taken);
    EXPECT_EQ(taken.key(), 3u);
    EXPECT_EQ(taken.table(), "accounts");
    EXPECT_REFUSED(Code::kDuplicateKey, "in the row of key 1", txn.update(accounts_, 2, {}, [](Account& a) { a.owner = 10; }));
  });
}

TEST_P(MistakesTest, ARollbackMayHaveAReason) {
  const Status status = db_.run([](Transaction&) { return Status::rollback("the account is too poor"); });
  EXPECT_REFUSED(Code::kRolledBack, "the account is too poor", status);
  EXPECT_EQ(status.cause(), Cause::kUser);
  const Status plain = db_.run([](Transaction&) { return Status::rollback(); });
  EXPECT_EQ(plain.message(), "rolled back: user");
}

}  // namespace
}  // namespace elider::test
