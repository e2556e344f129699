// Tables: created once, found by name, and described without their struct. Mistakes in a schema are
// refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class TableTest : public DatabaseTest {};
ELIDER_ON_EVERY(TableTest);

TEST_P(TableTest, CreatingTheSameTableAgainGivesIt) {
  const Table<Account> first = create(account_schema(GetParam().key_index));
  insert(first, 5, Account{1, 50, 0, 0});
  const Table<Account> again = create(account_schema(GetParam().key_index));
  EXPECT_EQ(again.base(), first.base());
  EXPECT_EQ(row(again, 5).balance, 50);
}

TEST_P(TableTest, ATableIsFoundByName) {
  const Table<Account> made = create(account_schema(GetParam().key_index));
  auto found = db_.table<Account>("accounts");
  ASSERT_OK(found);
  EXPECT_EQ(found->base(), made.base());
  auto untyped = db_.table("accounts");
  ASSERT_OK(untyped);
  EXPECT_EQ(untyped->base(), made.base());
}

TEST_P(TableTest, AnUnknownTableIsRefusedByName) {
  EXPECT_REFUSED(Code::kNotFound, "ghosts", db_.table<Account>("ghosts"));
  EXPECT_REFUSED(Code::kNotFound, "ghosts", db_.table("ghosts"));
}

TEST_P(TableTest, ATableOfAnotherRowSizeIsRefused) {
  create(account_schema(GetParam().key_index));
  EXPECT_REFUSED(Code::kSchemaMismatch, "accounts", db_.table<Document>("accounts"));
}

TEST_P(TableTest, AnotherSchemaOfTheSameNameIsRefused) {
  const KeyIndex kind = GetParam().key_index;
  create(account_schema(kind));
  const KeyIndex other = kind == KeyIndex::kOrdered ? KeyIndex::kHashed : KeyIndex::kOrdered;
  EXPECT_REFUSED(Code::kSchemaMismatch, "the key index is '", db_.create_table(account_schema(other)));
  EXPECT_REFUSED(Code::kSchemaMismatch, "balance", db_.create_table(grouped_account_schema(kind)));
  EXPECT_REFUSED(Code::kSchemaMismatch, "index", db_.create_table(indexed_account_schema(kind)));
  SchemaOf<Account> renamed("accounts");
  renamed.key_index(kind).column("owner", &Account::owner).column("amount", &Account::balance);
  EXPECT_CODE(Code::kSchemaMismatch, db_.create_table(renamed));
  EXPECT_EQ(db_.tables().size(), 1u);
}

TEST_P(TableTest, TheCatalogDescribesARowWithoutItsStruct) {
  create(indexed_account_schema(GetParam().key_index));
  create(numbers_schema(GetParam().key_index));
  const std::vector<TableRef> tables = db_.tables();
  ASSERT_EQ(tables.size(), 2u);
  const auto accounts = std::find_if(tables.begin(), tables.end(), [](const TableRef& t) { return t.schema().name == "accounts"; });
  ASSERT_NE(accounts, tables.end());
  const Schema& schema = accounts->schema();
  EXPECT_EQ(schema.row_bytes, sizeof(Account));
  EXPECT_EQ(schema.key_index, GetParam().key_index);
  ASSERT_EQ(schema.columns.size(), 4u);
  EXPECT_EQ(schema.columns[1].name, "balance");
  EXPECT_EQ(schema.columns[1].type, ColumnType::kInt64);
  EXPECT_EQ(schema.columns[1].offset, 8u);
  EXPECT_EQ(schema.columns[1].size, 8u);
  ASSERT_EQ(schema.indexes.size(), 2u);
  EXPECT_FALSE(schema.indexes[0].unique);
  EXPECT_TRUE(schema.indexes[1].unique);
}

TEST_P(TableTest, AnIndexIsFoundByName) {
  const Table<Account> accounts = create(indexed_account_schema(GetParam().key_index));
  EXPECT_OK(db_.index(accounts, "by_branch"));
  EXPECT_OK(db_.index(TableRef(accounts), "by_owner"));
  EXPECT_REFUSED(Code::kNotFound, "by_mood", db_.index(accounts, "by_mood"));
}

TEST_P(TableTest, ColumnsAreFoundByName) {
  const Table<Account> accounts = create(account_schema(GetParam().key_index));
  insert(accounts, 1, Account{3, 30, 300, 1});
  const std::vector<std::string> names{"branch", "balance"};
  auto columns = db_.columns(accounts, names);
  ASSERT_OK(columns);
  read(db_, [&](Transaction& txn) {
    RawView view;
    ASSERT_OK(txn.get(TableRef(accounts), 1, *columns, &view));
    const Account* account = reinterpret_cast<const Account*>(view.bytes());
    EXPECT_EQ(account->balance, 30);
    EXPECT_EQ(account->branch, 300u);
  });
  const std::vector<std::string> unknown{"balance", "shoe_size"};
  EXPECT_REFUSED(Code::kInvalidArgument, "shoe_size", db_.columns(accounts, unknown));
}

TEST_P(TableTest, AnUndescribedColumnIsRefusedByEveryOperation) {
  SchemaOf<Account> schema("accounts");
  schema.key_index(GetParam().key_index).column("owner", &Account::owner).column("balance", &Account::balance);
  const Table<Account> accounts = create(schema);
  insert(accounts, 1, Account{1, 10, 0, 0});
  const Columns<Account> unknown = accounts.columns(&Account::flags);
  transact(db_, [&](Transaction& txn) {
    EXPECT_CODE(Code::kInvalidArgument, txn.get(accounts, 1, unknown));
    const Key keys[] = {1};
    View<Account> views[1];
    EXPECT_CODE(Code::kInvalidArgument, txn.multi_get<Account>(accounts, keys, views, unknown));
    EXPECT_CODE(Code::kInvalidArgument, txn.update(accounts, 1, unknown, [](Account&) {}));
    EXPECT_CODE(Code::kInvalidArgument, txn.write(accounts, 1, unknown, Account{}));
    EXPECT_CODE(Code::kInvalidArgument, txn.add(accounts, 1, &Account::flags, 1u));
    if (GetParam().ordered()) {
      ScanOptions options;
      options.columns = unknown;
      EXPECT_CODE(Code::kInvalidArgument, txn.scan(accounts, {}, options, [](Key, const View<Account>&) { return true; }));
    }
    EXPECT_OK(txn.get(accounts, 1));  // bad input does not end the transaction
  });
  EXPECT_EQ(row(accounts, 1), (Account{1, 10, 0, 0}));
}

// Each schema has only one mistake. `word` is what the message must name.
TEST_P(TableTest, MistakesInASchemaAreRefusedByName) {
  int mistakes = 0;
  const auto refused = [&](const std::string& word, auto&& spoil) {
    Schema schema = indexed_account_schema(GetParam().key_index, "spoiled_" + std::to_string(++mistakes)).schema();
    const std::string name = schema.name;
    spoil(schema);
    EXPECT_REFUSED(Code::kInvalidArgument, word, db_.create_table(schema)) << "mistake " << mistakes;
    EXPECT_CODE(Code::kNotFound, db_.table(name)) << "mistake " << mistakes;
  };
  refused("name", [](Schema& s) { s.name.clear(); });
  for (const char* odd : {"\x01", "a\n", "\x7f", "\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
    refused("\\x", [&](Schema& s) { s.name = odd; });
    refused("\\x", [&](Schema& s) { s.columns[1].name = odd; });
    refused("\\x", [&](Schema& s) { s.indexes[1].name = odd; });
  }
  refused("spoiled", [](Schema& s) { s.key_index = static_cast<KeyIndex>(9); });
  refused("bytes", [](Schema& s) { s.row_bytes = 0; });
  refused("bytes", [](Schema& s) { s.row_bytes = kRowBytesMax + 1; });
  refused("balance", [](Schema& s) { s.columns[0].name = "balance"; });
  refused("column", [](Schema& s) { s.columns[2].name.clear(); });
  refused("flags", [](Schema& s) { s.columns[3].offset = 22; });   // leaves the row
  refused("flags", [](Schema& s) { s.columns[3].offset = ~0u; });  // leaves the row by overflow
  refused("branch", [](Schema& s) { s.columns[2].offset = 12; });  // lies over balance
  refused("branch", [](Schema& s) { s.columns[2].size = 0; });
  refused("branch", [](Schema& s) { s.columns[2].type = ColumnType::kInt64; });  // of four bytes
  refused("branch", [](Schema& s) { s.columns[2].type = static_cast<ColumnType>(99); });  // no type at all
  refused("flags", [](Schema& s) { s.columns[3].group = kColumnGroupsMax; });
  refused("by_branch", [](Schema& s) { s.indexes[1].name = "by_branch"; });
  refused("index", [](Schema& s) { s.indexes[0].name.clear(); });
  refused("by_branch", [](Schema& s) { s.indexes[0].key = nullptr; });
  refused("mood", [](Schema& s) { s.indexes[0].columns = {"mood"}; });
  refused("by_branch", [](Schema& s) { s.indexes[0].columns.clear(); });
  refused("indexes", [](Schema& s) {
    for (uint32_t i = 0; i < kSecondaryIndexesMax; ++i) {
      s.indexes.push_back(s.indexes[0]);
      s.indexes.back().name = "copy_" + std::to_string(i);
    }
  });
  refused("columns", [](Schema& s) {
    s.columns.clear();
    s.indexes.clear();
    s.row_bytes = kColumnsMax + 1;
    for (uint32_t i = 0; i <= kColumnsMax; ++i) s.columns.push_back({"c" + std::to_string(i), ColumnType::kUInt8, i, 1, 0});
  });
}

TEST_P(TableTest, AnUnknownColumnInAGroupIsRefusedByName) {
  SchemaOf<Account> schema = account_schema(GetParam().key_index).group({"aura"});
  EXPECT_REFUSED(Code::kInvalidArgument, "aura", db_.create_table(schema));
}

TEST_P(TableTest, ManyTablesLiveSideBySide) {
  std::vector<Table<Account>> tables;
  for (int i = 0; i < 40; ++i) tables.push_back(create(account_schema(GetParam().key_index, "t" + std::to_string(i))));
  transact(db_, [&](Transaction& txn) {
    for (int i = 0; i < 40; ++i) ASSERT_OK(txn.insert(tables[i], 1, Account{uint64_t(i), i, 0, 0}));
  });
  read(db_, [&](Transaction& txn) {
    for (int i = 0; i < 40; ++i) {
      auto view = txn.get(tables[i], 1);
      ASSERT_OK(view);
      EXPECT_EQ((*view)->balance, i);
    }
  });
  EXPECT_EQ(db_.tables().size(), 40u);
}

}  // namespace
}  // namespace elider::test
