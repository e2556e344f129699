// Tests that tables with byte keys are recovered from the log, from a checkpoint, from both, and
// from a backup, and that the log and the schema in the files describe the keys.
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "elider/files.h"
#include "tests/support/byte_keys.h"
#include "tests/support/data_folder_test.h"

namespace elider::test {
namespace {

class ByteKeyFolderTest : public DataFolderTest {
 protected:
  using Rows = std::map<std::string, Account>;
  using Notes = std::map<std::string, std::string>;
  struct Tables {
    Table<Account, std::string_view> accounts;
    TableRef notes;
  };

  void SetUp() override {
    DataFolderTest::SetUp();
    options_.durability = Durability::kAsync;  // closing the database writes the log to the disk
    options_.schemas = {byte_account_schema(GetParam().key_index).schema()};
  }
  Schema note_schema() {
    Schema schema;
    schema.name = "notes";
    schema.key_index = GetParam().key_index;
    schema.key_kind = KeyKind::kBytes;
    schema.row_bytes = 5000;
    schema.sized_rows = true;
    return schema;
  }
  Tables tables(Database& database) {
    auto accounts = database.create_table(byte_account_schema(GetParam().key_index));
    EXPECT_OK(accounts);
    auto notes = database.create_table(note_schema());
    EXPECT_OK(notes);
    return {*accounts, *notes};
  }
  // Inserts rows, changes some of their columns, adds to columns, and removes and reinserts rows.
  void change_some(Database& database, uint64_t round) {
    const Tables all = tables(database);
    const std::vector<std::string> keys = unlike_keys();
    for (size_t begin = 0; begin < keys.size(); begin += 7)
      transact(database, [&](Transaction& txn) {
        for (size_t i = begin; i < std::min(begin + 7, keys.size()); ++i) change(txn, all, keys[i], i, round);
      });
  }
  void change(Transaction& txn, const Tables& all, const std::string& key, size_t i, uint64_t round) {
    const uint64_t what = (i + round) % 5;
    if (what == 0 && accounts_.contains(key)) {
      ASSERT_OK(txn.remove(all.accounts, key));
      accounts_.erase(key);
    } else if (!accounts_.contains(key)) {
      accounts_[key] = {i, static_cast<int64_t>(round), static_cast<uint32_t>(i % 4), 0};
      ASSERT_OK(txn.insert(all.accounts, key, accounts_[key]));
    } else if (what == 1) {
      ASSERT_OK(txn.add(all.accounts, key, &Account::balance, 1000));
      accounts_[key].balance += 1000;
    } else {
      ASSERT_OK(txn.update(all.accounts, key, all.accounts.columns(&Account::branch), [&](Account& a) { a.branch = 40 + round % 3; }));
      accounts_[key].branch = static_cast<uint32_t>(40 + round % 3);
    }
    if ((i + round) % 3 != 0) return;
    if (notes_.contains(key) && round % 2 == 1) {
      ASSERT_OK(txn.remove(all.notes, key));
      notes_.erase(key);
      return;
    }
    notes_[key] = std::string(1 + (i * 331 + round * 97) % 5000, static_cast<char>('a' + i % 26));
    ASSERT_OK(txn.put(all.notes, key, std::as_bytes(std::span(notes_[key]))));
  }
  void expect_rows(Database& database) {
    ASSERT_OK(database.verify());
    const Tables all = tables(database);
    auto by_branch = database.index(all.accounts, "by_branch");
    ASSERT_OK(by_branch);
    Rows found;
    Notes notes;
    std::map<std::pair<uint64_t, std::string>, int64_t> entries, expected;
    read(database, [&](Transaction& txn) {
      for (const std::string& key : unlike_keys()) {
        if (auto view = txn.get(all.accounts, key); view.ok()) {
          found[key] = **view;
        }
        RawView view;
        if (txn.get(all.notes, key, {}, &view).ok()) notes[key] = std::string(reinterpret_cast<const char*>(view.bytes()), view.size());
      }
      if (GetParam().ordered()) {
        Rows scanned;
        ASSERT_OK(txn.scan(all.accounts, ByteRange::all(), {}, [&](std::string_view key, const View<Account, std::string_view>& view) {
          scanned[std::string(key)] = *view;
        }));
        EXPECT_TRUE(scanned == found);
        size_t count = 0;
        ASSERT_OK(txn.scan(all.notes, ByteRange::all(), {}, [&](Bytes key, RawView view) {
          EXPECT_EQ(notes[key.to_string()], std::string(reinterpret_cast<const char*>(view.bytes()), view.size()));
          ++count;
          return true;
        }));
        EXPECT_EQ(count, notes.size());
      }
      ASSERT_OK(txn.scan(*by_branch, {}, {}, [&](ByteIndexPosition at, const View<Account, std::string_view>& view) {
        entries[{at.value, at.key.to_string()}] = view->balance;
      }));
    });
    EXPECT_TRUE(found == accounts_) << found.size() << " rows, not " << accounts_.size();
    EXPECT_TRUE(notes == notes_) << notes.size() << " notes, not " << notes_.size();
    for (const auto& [key, account] : accounts_) expected[{account.branch, key}] = account.balance;
    EXPECT_TRUE(entries == expected);
    EXPECT_EQ(all.accounts.schema().key_index, GetParam().key_index);
    EXPECT_EQ(database.statistics().tables[0].rows, accounts_.size());
    EXPECT_EQ(database.statistics().tables[1].rows, notes_.size());
  }

  Rows accounts_;
  Notes notes_;
};
INSTANTIATE_TEST_SUITE_P(On, ByteKeyFolderTest, testing::ValuesIn(combinations_of_byte_keys(false)), combination_name);

TEST_P(ByteKeyFolderTest, ComeFromTheLog) {
  for (uint64_t round = 0; round < 4; ++round) {
    Database database = open();
    expect_rows(database);
    change_some(database, round);
    expect_rows(database);
  }
  Database database = open();
  expect_rows(database);
}

TEST_P(ByteKeyFolderTest, ComeFromACheckpointAndTheLogBehindIt) {
  for (uint64_t round = 0; round < 3; ++round) {
    Database database = open();
    expect_rows(database);
    change_some(database, round);
    ASSERT_OK(database.checkpoint());
    change_some(database, round + 10);
  }
  {
    Database database = open();
    expect_rows(database);
    ASSERT_OK(database.checkpoint());
  }
  Database database = open();
  expect_rows(database);
}

TEST_P(ByteKeyFolderTest, ABackupHasThem) {
  Options in_memory = options_;
  in_memory.data_folders.clear();
  Database database = open(in_memory);
  change_some(database, 0);
  change_some(database, 1);
  ASSERT_OK(database.backup((folder_ / "backup").string()));
  database = Database();
  Database copy = open(options_for(folder_ / "backup"));
  expect_rows(copy);
}

TEST_P(ByteKeyFolderTest, TheLogShowsTheWholeKeys) {
  const std::string longest(kKeyBytesMax, 'L');
  {
    Database database = open();
    const Tables all = tables(database);
    transact(database, [&](Transaction& txn) {
      ASSERT_OK(txn.insert(all.accounts, "user:0000001", {1, 1, 1, 1}));
      ASSERT_OK(txn.insert(all.accounts, "user:0000002", {2, 1, 1, 1}));
      ASSERT_OK(txn.insert(all.accounts, longest, {3, 1, 1, 1}));
      ASSERT_OK(txn.insert(all.accounts, "", {4, 1, 1, 1}));
    });
  }
  std::map<std::string, int> found;
  EXPECT_OK(files::dump_log({folder_ / "data"}, 0, ~uint64_t{0}, [&](const files::LoggedRecord& record) {
    for (const files::LoggedChange& change : record.changes) {
      EXPECT_TRUE(change.byte_key && !change.tuple_key);
      ++found[change.key_bytes];
    }
    return true;
  }));
  EXPECT_EQ(found, (std::map<std::string, int>{{"user:0000001", 2}, {"user:0000002", 2}, {longest, 2}, {"", 2}}));
}

// The log, a checkpoint and the schema in the files, for a table with tuple keys.
TEST_P(ByteKeyFolderTest, TuplesComeFromTheFilesWithTheirTypes) {
  using TupleKey = std::tuple<uint16_t, std::string, std::optional<Descending<int64_t>>>;
  SchemaOf<Account, TupleKey> schema("tuples");
  schema.key_index(GetParam().key_index).column("balance", &Account::balance);
  std::map<TupleKey, int64_t> expected;
  for (int round = 0; round < 3; ++round) {
    Database database = open();
    auto table = database.create_table(schema);
    ASSERT_OK(table);
    transact(database, [&](Transaction& txn) {
      for (int i = 0; i < 20; ++i) {
        const TupleKey key(static_cast<uint16_t>(i % 3), i % 2 == 0 ? "even" : std::string("o\0d", 3),
                           i % 5 == 0 ? std::nullopt : std::optional(Descending<int64_t>{i - 10}));
        ASSERT_OK(txn.put(*table, key, {0, 100 * round + i, 0, 0}));
        expected[key] = 100 * round + i;
      }
      ASSERT_OK(txn.remove(*table, expected.begin()->first));
      expected.erase(expected.begin());
    });
    if (round == 1) {
      ASSERT_OK(database.checkpoint());
    }
  }
  uint64_t changes = 0;
  EXPECT_OK(files::dump_log({folder_ / "data"}, 0, ~uint64_t{0}, [&](const files::LoggedRecord& record) {
    for (const files::LoggedChange& change : record.changes) {
      ++changes;
      EXPECT_TRUE(change.byte_key && change.tuple_key);
      EXPECT_TRUE(check_tuple_key(schema.schema().key_fields, std::as_bytes(std::span(change.key_bytes))).ok());
    }
    return true;
  }));
  EXPECT_GT(changes, 0u);
  Database database = open();
  EXPECT_EQ(database.table("tuples")->schema().key_fields, schema.schema().key_fields);
  EXPECT_CODE(Code::kSchemaMismatch, (database.table<Account, std::tuple<uint16_t, std::string>>("tuples")));
  auto table = database.table<Account, TupleKey>("tuples");
  ASSERT_OK(table);
  std::map<TupleKey, int64_t> found;
  read(database, [&](Transaction& txn) {
    for (const auto& [key, balance] : expected)
      if (auto view = txn.get(*table, key); view.ok()) found[view->key()] = (*view)->balance;
  });
  for (const auto& each : database.statistics().tables)
    if (each.name == "tuples") {
      EXPECT_EQ(each.rows, expected.size());
    }
  EXPECT_EQ(found, expected);
}

// Files whose keys are not of the table's types are damaged. Here, a handle of another type has
// written such a key.
TEST_P(ByteKeyFolderTest, KeysOfOtherTypesInTheFilesAreDamage) {
  SchemaOf<Account, std::tuple<uint16_t>> schema("numbered");
  schema.key_index(GetParam().key_index).column("balance", &Account::balance);
  for (const bool checkpoint : {false, true}) {
    std::filesystem::remove_all(folder_ / "data");
    {
      Database database = open();
      auto table = database.create_table(schema);
      ASSERT_OK(table);
      const Table<Account, std::tuple<std::string>> other(table->base());
      transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(other, {"text"}, {1, 1, 1, 1})); });
      EXPECT_REFUSED(Code::kInvalidArgument, "does not have a key (uint16)", database.verify());
      if (checkpoint) {
        ASSERT_OK(database.checkpoint());
      }
    }
    EXPECT_REFUSED(Code::kCorrupt, "field 0 is text instead of uint16", Database::open(options_));
  }
}

TEST_P(ByteKeyFolderTest, TheFilesKnowTheKindOfKey) {
  {
    Database database = open();
    tables(database);
  }
  Options options = options_;
  Schema numbers = byte_account_schema(GetParam().key_index);
  numbers.key_kind = KeyKind::kNumbers;
  options.schemas = {numbers};
  EXPECT_CODE(Code::kSchemaMismatch, Database::open(options));
  options.schemas = {byte_account_schema(GetParam().ordered() ? KeyIndex::kHashed : KeyIndex::kRadix)};
  EXPECT_REFUSED(Code::kSchemaMismatch, "key index", Database::open(options));
  Database database = open();
  EXPECT_CODE(Code::kSchemaMismatch, database.table<Account>("texts"));
  EXPECT_EQ(database.table("notes")->schema().key_kind, KeyKind::kBytes);
  EXPECT_EQ(database.table("notes")->schema().key_index, GetParam().key_index);
}

}  // namespace
}  // namespace elider::test
