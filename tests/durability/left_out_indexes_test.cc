// A program without the structs opens a database whose tables have secondary indexes. It reads
// rows, writes columns that no index uses, and copies tables. A program that has the structs then
// finds correct indexes.
#include <cstring>
#include <span>

#include "tests/support/data_folder_test.h"

namespace elider::test {
namespace {

class LeftOutIndexesTest : public DataFolderTest {
 protected:
  static constexpr Key kRows = 60;

  void SetUp() override {
    DataFolderTest::SetUp();
    Database database = open(with_schemas());
    auto accounts = database.create_table(schema_);
    auto others = database.create_table(indexed_account_schema(KeyIndex::kHashed, "others"));
    auto plain = database.create_table(account_schema(KeyIndex::kOrdered, "plain"));
    ASSERT_OK(accounts);
    ASSERT_OK(others);
    ASSERT_OK(plain);
    for (Key key = 0; key < kRows; ++key) {
      if (key == kRows / 2) {
        ASSERT_OK(database.checkpoint());
      }
      transact(database, [&](Transaction& txn) {
        ASSERT_OK(txn.insert(*accounts, key, account(key)));
        ASSERT_OK(txn.insert(*others, key, account(key)));
        ASSERT_OK(txn.insert(*plain, key, account(key)));
      });
    }
  }
  static Account account(Key key) { return {1000 + key, static_cast<int64_t>(key), static_cast<uint32_t>(key % 5), 0}; }
  Options with_schemas() const {
    Options options = options_;
    options.schemas = {schema_.schema(), indexed_account_schema(KeyIndex::kHashed, "others").schema()};
    return options;
  }
  Options without_schemas() const {
    Options options = options_;
    options.leave_out_indexes = true;
    return options;
  }
  // Checks that both tables are there, and that their indexes find every row.
  static void expect_whole(const Options& options) {
    Database database = open(options);
    EXPECT_OK(database.verify());
    EXPECT_TRUE(database.recovery().indexes_left_out.empty());
    for (const char* const name : {"accounts", "others"}) {
      auto table = database.table<Account>(name);
      ASSERT_OK(table);
      auto by_branch = database.index(*table, "by_branch");
      ASSERT_OK(by_branch);
      read(database, [&](Transaction& txn) {
        Key found = 0;
        ASSERT_OK(txn.scan(*by_branch, KeyRange{3, 3}, ScanOptions{}, [&](Key, const View<Account>&) { return ++found, true; }));
        EXPECT_EQ(found, kRows / 5) << name;
      });
      EXPECT_CODE(Code::kDuplicateKey, database.run([&](Transaction& txn) { return txn.insert(*table, 999, account(7)); })) << "by_owner";
    }
  }

  const SchemaOf<Account> schema_ = indexed_account_schema(KeyIndex::kOrdered);
};

TEST_P(LeftOutIndexesTest, OpeningIsRefusedUnlessItIsAskedForAndSaysHow) {
  EXPECT_REFUSED(Code::kSchemaMismatch, "leave_out_indexes", Database::open(options_));
  Options one = options_;
  one.schemas = {schema_.schema()};
  EXPECT_REFUSED(Code::kSchemaMismatch, "'others'", Database::open(one));
  Options wrong = without_schemas();
  wrong.schemas = {account_schema(KeyIndex::kOrdered).schema()};
  EXPECT_REFUSED(Code::kSchemaMismatch, "index 'by_branch', which the program does not describe", Database::open(wrong))
      << "a schema that is given must fit";
}

TEST_P(LeftOutIndexesTest, RowsAreReadAndTheIndexesAreNotFound) {
  Database database = open(without_schemas());
  EXPECT_EQ(database.recovery().indexes_left_out,
            (std::vector<std::string>{"'accounts'.'by_branch'", "'accounts'.'by_owner'", "'others'.'by_branch'", "'others'.'by_owner'"}));
  auto accounts = database.table("accounts");  // as bindings do
  ASSERT_OK(accounts);
  const Schema& described = accounts->schema();
  ASSERT_EQ(described.indexes.size(), 2u);
  EXPECT_TRUE(described.same_as(schema_)) << "names, columns and uniqueness";
  for (const SecondaryIndex& index : described.indexes) EXPECT_FALSE(index.key);
  EXPECT_CODE(Code::kNotFound, database.index(*accounts, "by_branch"));
  const std::vector<std::string> names = {"branch"};
  auto branch = database.columns(*accounts, names);
  ASSERT_OK(branch);
  read(database, [&](Transaction& txn) {
    Key next = 0;
    ASSERT_OK(txn.scan(*accounts, KeyRange{}, {.columns = *branch}, [&](Key key, RawView view) {
      uint32_t found = 0;
      std::memcpy(&found, view.bytes() + offset_of(&Account::branch), sizeof found);
      EXPECT_EQ(found, account(key).branch);
      return key == next++;
    }));
    EXPECT_EQ(next, kRows);
    RawView view;
    ASSERT_OK(txn.get(*database.table("others"), 7, {}, &view));
    EXPECT_CODE(Code::kInvalidArgument, txn.scan(IndexRef{*accounts, 0}, KeyRange{}, {}, [](Key, RawView) { return true; }));
  });
  EXPECT_OK(database.verify());
}

TEST_P(LeftOutIndexesTest, AWriteThatConcernsAnIndexIsRefusedAndTheTransactionGoesOn) {
  {
    Database database = open(without_schemas());
    auto accounts = *database.table<Account>("accounts");
    auto plain = *database.table<Account>("plain");
    const auto refused = [](const Status& status) {
      EXPECT_REFUSED(Code::kUnsupported, "'accounts'", status);
      EXPECT_NE(status.message().find("leave_out_indexes"), std::string::npos) << status.message();
    };
    transact(database, [&](Transaction& txn) {
      auto view = txn.get(accounts, 3);
      ASSERT_OK(view);
      refused(txn.insert(accounts, 1000, account(1000)));
      refused(txn.put(accounts, 3, account(4)));
      refused(txn.update(accounts, 3, {}, [](Account&) { FAIL() << "its change is not called"; }));
      refused(txn.update(accounts, *view, {}, [](Account&) { FAIL() << "its change is not called"; }));
      refused(txn.write(accounts, 3, {}, Account{}));
      refused(txn.write(accounts, 3, accounts.columns(&Account::balance, &Account::owner), Account{}));
      refused(txn.update(accounts, 3, accounts.columns(&Account::branch), [](Account&) { FAIL() << "its change is not called"; }));
      refused(txn.add(accounts, 3, &Account::branch, uint32_t{1}));
      refused(txn.remove(accounts, 3));
      ASSERT_OK(txn.put(plain, 3, account(77)));
    });
    EXPECT_EQ(rows(database, accounts).at(3), account(3));
    EXPECT_EQ(rows(database, accounts).size(), kRows);
    EXPECT_REFUSED(Code::kSchemaMismatch, "leave_out_indexes", database.create_table(schema_));
  }
  expect_whole(with_schemas());
  Database database = open(with_schemas());
  EXPECT_EQ(rows(database, *database.table<Account>("plain")).at(3), account(77));
}

TEST_P(LeftOutIndexesTest, ColumnsThatNoIndexReadsAreWritten) {
  {
    Database database = open(without_schemas());
    auto accounts = *database.table<Account>("accounts");
    const auto balance = accounts.columns(&Account::balance);
    const TableRef others = *database.table("others");
    const std::string flags[] = {"flags"};
    const ColumnsRef flags_of_others = *database.columns(others, flags);
    transact(database, [&](Transaction& txn) {
      ASSERT_OK(txn.write(accounts, 3, balance, Account{0, 100, 0, 0}));
      ASSERT_OK(txn.update(accounts, 3, balance, [](Account& a) { a.balance += 10; }));
      ASSERT_OK(txn.add(accounts, 3, &Account::balance, int64_t{1}));
      auto view = txn.get(accounts, 4);
      ASSERT_OK(view);
      ASSERT_OK(txn.update(accounts, *view, balance, [](Account& a) { a.balance = 7; }));
      void* image = nullptr;
      ASSERT_OK(txn.edit(others, 3, flags_of_others, &image));
      static_cast<Account*>(image)->flags = 5;
      ASSERT_OK(txn.edited(others, image));
    });
    EXPECT_OK(database.verify());
  }
  expect_whole(with_schemas());
  Database database = open(with_schemas());
  const auto accounts = rows(database, *database.table<Account>("accounts"));
  EXPECT_EQ(accounts.at(3), (Account{1003, 111, 3, 0}));
  EXPECT_EQ(accounts.at(4).balance, 7);
  const auto others = *database.table<Account>("others");
  read(database, [&](Transaction& txn) {
    auto view = txn.get(others, 3);
    ASSERT_OK(view);
    EXPECT_EQ(**view, (Account{1003, 3, 3, 5}));
  });
}

// Copies every table, without the structs.
TEST_P(LeftOutIndexesTest, ACopyMadeWithoutTheStructsHasTheIndexes) {
  Options copy = without_schemas();
  copy.data_folders = {folder_ / "copy"};
  Options strict = copy;
  strict.leave_out_indexes = false;
  strict.data_folders = {folder_ / "strict"};
  {
    Database source = open(without_schemas()), target = open(copy);
    for (const TableRef& table : source.tables()) {
      auto made = target.create_table(table.schema());
      ASSERT_OK(made);
      transact(target, [&](Transaction& writes) {
        read(source, [&](Transaction& reads) {
          for (Key key = 0; key < kRows; ++key) {
            RawView view;
            ASSERT_OK(reads.get(table, key, {}, &view));
            ASSERT_OK(writes.insert(*made, key, {view.bytes(), view.size()}));
          }
        });
      });
      EXPECT_OK(target.verify());
    }
  }
  {
    Database source = open(without_schemas()), target = open(strict);
    EXPECT_REFUSED(Code::kInvalidArgument, "lacks a key function", target.create_table((*source.table("accounts")).schema()));
  }
  Options owner = with_schemas();
  owner.data_folders = copy.data_folders;
  expect_whole(owner);
  {
    Database database = open(copy);  // after recovery, its tables refuse such writes
    const TableRef accounts = *database.table("accounts");
    EXPECT_CODE(Code::kUnsupported, database.run([&](Transaction& txn) { return txn.remove(accounts, 3); }));
  }
  owner.data_folders = copy.data_folders = {folder_ / "not unique"};
  {
    Schema schema = schema_.schema();
    for (SecondaryIndex& index : schema.indexes) index.key = nullptr;
    Database target = open(copy);
    auto made = target.create_table(schema);
    ASSERT_OK(made);
    const Account same = account(7);
    transact(target, [&](Transaction& txn) {
      for (const Key key : {1, 2}) ASSERT_OK(txn.insert(*made, key, std::as_bytes(std::span(&same, 1))));
    });
  }
  EXPECT_REFUSED(Code::kSchemaMismatch, "by_owner", Database::open(owner));
}

TEST_P(LeftOutIndexesTest, CheckpointsAndBackupsKeepThem) {
  {
    Database database = open(without_schemas());
    auto made = database.create_table(account_schema(KeyIndex::kOrdered, "made meanwhile"));
    ASSERT_OK(made);
    transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(*made, 1, account(1))); });
    ASSERT_OK(database.checkpoint());
    ASSERT_OK(database.backup(folder_ / "copy"));
    transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(*made, 2, account(2))); });
  }
  expect_whole(with_schemas());
  {
    Database database = open(with_schemas());
    EXPECT_EQ(rows(database, *database.table<Account>("made meanwhile")).size(), 2u);
  }
  Options copy = with_schemas();
  copy.data_folders = {folder_ / "copy"};
  expect_whole(copy);
}

// Tables whose schemas are given are not restricted.
TEST_P(LeftOutIndexesTest, ATableWhoseSchemaIsGivenHasItsIndexes) {
  Options options = without_schemas();
  options.schemas = {schema_.schema()};
  Database database = open(options);
  EXPECT_EQ(database.recovery().indexes_left_out, (std::vector<std::string>{"'others'.'by_branch'", "'others'.'by_owner'"}));
  auto accounts = *database.table<Account>("accounts");
  EXPECT_OK(database.index(accounts, "by_owner"));
  transact(database, [&](Transaction& txn) { ASSERT_OK(txn.add(accounts, 3, &Account::balance, int64_t{1})); });
  auto others = *database.table<Account>("others");
  EXPECT_CODE(Code::kUnsupported, database.run([&](Transaction& txn) { return txn.remove(others, 3); }));
  EXPECT_OK(database.verify());
}

INSTANTIATE_TEST_SUITE_P(Policies, LeftOutIndexesTest, durable_combinations(), combination_name);

}  // namespace
}  // namespace elider::test
