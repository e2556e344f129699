// Rows with a variable-size: from the log, from a checkpoint, and from both.
#include <cstring>
#include <map>
#include <span>
#include <string>

#include "elider/files.h"
#include "tests/support/data_folder_test.h"

namespace elider::test {
namespace {

class SizedRowsFolderTest : public DataFolderTest {
 protected:
  void SetUp() override {
    DataFolderTest::SetUp();
    options_.durability = Durability::kAsync;  // closing brings it to the disk
  }

  using Notes = std::map<Key, std::string>;

  static Schema schema() {
    Schema schema;
    schema.name = "notes";
    schema.key_index = KeyIndex::kOrdered;
    schema.row_bytes = 20'000;
    schema.sized_rows = true;
    schema.columns = {{"n", ColumnType::kUInt64, 0, 8, 0}};
    return schema;
  }
  static TableRef notes(Database& database) {
    auto table = database.create_table(schema());
    EXPECT_OK(table);
    return *table;
  }
  static std::string note(uint64_t n, size_t bytes) {
    return std::string(reinterpret_cast<const char*>(&n), sizeof n) + std::string(bytes, static_cast<char>('a' + n % 26));
  }
  void put(Database& database, Key key, const std::string& note) {
    const TableRef table = notes(database);
    transact(database, [&](Transaction& txn) { ASSERT_OK(txn.put(table, key, std::as_bytes(std::span(note)))); });
    expected_[key] = note;
  }
  void remove(Database& database, Key key) {
    const TableRef table = notes(database);
    transact(database, [&](Transaction& txn) { ASSERT_OK(txn.remove(table, key)); });
    expected_.erase(key);
  }
  void expect_notes(Database& database) {
    const TableRef table = notes(database);
    Notes found;
    read(database, [&](Transaction& txn) {
      found.clear();
      ASSERT_OK(txn.scan(table, KeyRange{}, ScanOptions{}, [&](Key key, RawView view) {
        found[key] = std::string(reinterpret_cast<const char*>(view.bytes()), view.size());
        return true;
      }));
    });
    EXPECT_TRUE(found == expected_) << found.size() << " rows, not " << expected_.size();
    EXPECT_OK(database.verify());
  }
  void change_some(Database& database, uint64_t round) {
    for (Key key = 0; key < 60; ++key) {
      if ((key + round) % 7 == 0 && expected_.contains(key)) {
        remove(database, key);
      } else if ((key + round) % 3 == 0) {
        put(database, key, note(key + round, (key * 331 + round * 977) % 19'000));
      }
    }
  }

  Notes expected_;
};
INSTANTIATE_TEST_SUITE_P(Policies, SizedRowsFolderTest, durable_combinations(), combination_name);

TEST_P(SizedRowsFolderTest, ComeBackFromTheLogAndFromCheckpoints) {
  for (uint64_t round = 0; round < 4; ++round) {
    Database database = open();
    ASSERT_FALSE(HasFailure());
    expect_notes(database);
    change_some(database, round);
    if (round % 2 == 1) {
      ASSERT_OK(database.checkpoint());
    }
    change_some(database, round + 10);
    const TableRef table = notes(database);
    // An addition and an edit are logged as the whole row.
    transact(database, [&](Transaction& txn) {
      const uint64_t one = 1;
      const Key key = expected_.begin()->first;
      ASSERT_OK(txn.add(table, key, 0, ColumnType::kUInt64, &one));
      uint64_t n;
      std::string& kept = expected_.begin()->second;
      std::memcpy(&n, kept.data(), sizeof n);
      ++n;
      std::memcpy(kept.data(), &n, sizeof n);
    });
    expect_notes(database);
  }
  Database database = open();
  expect_notes(database);
}

TEST_P(SizedRowsFolderTest, ABackupHasThem) {
  {
    Database database = open();
    change_some(database, 1);
    ASSERT_OK(database.backup(folder_ / "copy"));
  }
  Database copy = open(options_for(folder_ / "copy"));
  expect_notes(copy);
}

TEST_P(SizedRowsFolderTest, AnotherKindOfRowIsAnotherSchema) {
  {
    Database database = open();
    put(database, 1, note(1, 5));
  }
  Database database = open();
  Schema other = schema();
  other.sized_rows = false;
  EXPECT_REFUSED(Code::kSchemaMismatch, "variable size in the table", database.create_table(other));
}

}  // namespace
}  // namespace elider::test
