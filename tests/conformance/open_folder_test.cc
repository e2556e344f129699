// Opening a folder: one that is mistyped becomes no database; tables come from
// Options::schemas, and are what these say.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "tests/support/data_folder_test.h"

namespace elider::test {
namespace {

class OpenFolderTest : public DataFolderTest {
 protected:
  std::filesystem::path data() const { return folder_ / "data"; }
  void put_file(const std::string& name) const {
    std::filesystem::create_directories(data());
    std::ofstream(data() / name) << "not elider's";
  }
  size_t files_of_data() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(data()), std::filesystem::directory_iterator()));
  }
};
ELIDER_ON_EVERY(OpenFolderTest);

TEST_P(OpenFolderTest, AFolderOfOtherFilesIsRefusedAndStaysAsItIs) {
  put_file("passwd");
  const auto refused = Database::open(options_);
  EXPECT_REFUSED(Code::kInvalidArgument, "'passwd'", refused);
  EXPECT_REFUSED(Code::kInvalidArgument, data().string(), refused);
  options_.durability = Durability::kNone;
  EXPECT_REFUSED(Code::kInvalidArgument, "'passwd'", Database::open(options_));
  EXPECT_EQ(files_of_data(), 1u) << "not even a lock file was made";
  options_.durability = Durability::kAsync;
  // Also where it is to be the second folder of a database.
  options_.data_folders = {folder_ / "first", data()};
  EXPECT_REFUSED(Code::kInvalidArgument, "'passwd'", Database::open(options_));
  EXPECT_EQ(files_of_data(), 1u);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "first"));
}

TEST_P(OpenFolderTest, AnEmptyFolderIsTakenAndAFileBesideADatabaseIsNoMatter) {
  std::filesystem::create_directories(data() / "lost+found");
  { open(); }
  put_file("notes.txt");
  open();
}

TEST_P(OpenFolderTest, AMissingDatabaseIsMadeOnlyIfThatIsAllowed) {
  options_.create_if_missing = false;
  for (const Durability durability : {Durability::kAsync, Durability::kNone}) {
    options_.durability = durability;
    EXPECT_CODE(Code::kNotFound, Database::open(options_));
    EXPECT_FALSE(std::filesystem::exists(data()));
  }
  std::filesystem::create_directories(data());
  EXPECT_REFUSED(Code::kNotFound, data().string(), Database::open(options_));
  EXPECT_EQ(files_of_data(), 0u);
  options_.durability = Durability::kAsync;
  options_.create_if_missing = true;
  { open(); }
  options_.create_if_missing = false;
  open();
}

TEST_P(OpenFolderTest, AnExistingDatabaseIsRefusedIfThatIsAskedFor) {
  options_.error_if_exists = true;
  { open(); }
  EXPECT_REFUSED(Code::kInvalidArgument, "error_if_exists", Database::open(options_));
  options_.error_if_exists = false;
  open();
}

// Nothing that commits without a folder is ever on a disk.
TEST_P(OpenFolderTest, GroupDurabilityNeedsAFolder) {
  options_.data_folders.clear();
  options_.durability = Durability::kGroup;
  EXPECT_REFUSED(Code::kInvalidArgument, "data_folders", Database::open(options_));
  options_.durability = Durability::kAsync;
  Database database = open();
  RunPolicy policy;
  policy.durability = Durability::kGroup;
  bool ran = false;
  EXPECT_REFUSED(Code::kInvalidArgument, "data_folders", database.run([&](Transaction&) { ran = true; }, policy));
  EXPECT_FALSE(ran);
  auto made = database.create_table(account_schema(GetParam().key_index));
  ASSERT_OK(made);
  ActiveTransaction txn = begin(database);
  ASSERT_OK(txn->insert(*made, 1, Account{}));
  EXPECT_REFUSED(Code::kInvalidArgument, "data_folders", txn.commit(Durability::kGroup));
  EXPECT_CODE(Code::kFinished, txn.commit());
  EXPECT_EQ(database.statistics().tables[0].rows, 0u);
}

// -- schemas given when opening -------------------------------------------------------------------

TEST_P(OpenFolderTest, TablesThatAreMissingAreMadeFromTheSchemas) {
  options_.schemas = {indexed_account_schema(GetParam().key_index), numbers_schema(GetParam().key_index)};
  for (int run = 0; run < 2; ++run) {
    Database database = open();
    auto accounts = database.table<Account>("accounts");
    ASSERT_OK(accounts);
    ASSERT_OK(database.table<Numbers>("numbers"));
    ASSERT_OK(database.index(*accounts, "by_owner"));
    const auto key = static_cast<Key>(run);
    transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(*accounts, key, Account{10 + key, 0, 0, 0})); });
  }
  options_.data_folders.clear();
  EXPECT_EQ(open().tables().size(), 2u) << "in memory, too";
}

TEST_P(OpenFolderTest, SchemasThatMakeNoSenseAreRefusedBeforeAnythingIsMade) {
  SchemaOf<Account> schema("accounts");
  options_.schemas = {schema.column("owner", &Account::owner).index("empty", {}, [](const Account&) { return uint64_t{0}; })};
  EXPECT_REFUSED(Code::kInvalidArgument, "'empty'", Database::open(options_));
  EXPECT_FALSE(std::filesystem::exists(data()));
}

TEST_P(OpenFolderTest, ASchemaWithAnIndexThatTheTableLacksIsAMismatch) {
  {
    Database database = open();
    ASSERT_OK(database.create_table(account_schema(GetParam().key_index)));
  }
  options_.schemas = {indexed_account_schema(GetParam().key_index)};
  EXPECT_REFUSED(Code::kSchemaMismatch, "only an index by columns can be added", Database::open(options_));
  options_.schemas = {grouped_account_schema(GetParam().key_index)};
  EXPECT_REFUSED(Code::kSchemaMismatch, "column 'balance' has column group 0 in the table, but 1 in the program's description",
                 Database::open(options_));
  options_.schemas = {account_schema(GetParam().key_index)};
  open();
}

// -- checkpoints by the size of the data ----------------------------------------------------------

// 64 MiB of log are enough for a small database.
TEST(CheckpointByDefaultTest, TheLogOfASmallDatabaseStaysSmall) {
  const TemporaryFolder temporary("elider_data");
  Options options;
  options.data_folders = {temporary.path() / "data"};
  auto database = Database::open(options);
  ASSERT_OK(database);
  auto documents = database->create_table(document_schema(KeyIndex::kOrdered));
  ASSERT_OK(documents);
  const Document document = document_of(1);
  constexpr uint64_t kBytesMax = uint64_t{1} << 30;
  while (database->statistics().checkpoints.taken == 0 && database->statistics().log_bytes < kBytesMax)
    ASSERT_OK(database->run([&](Transaction& txn) -> Status {
      for (Key key = 0; key < 256; ++key) ELIDER_TRY(txn.put(*documents, key, document));
      return {};
    }));
  EXPECT_EQ(database->statistics().checkpoints.taken, 1u);
}

}  // namespace
}  // namespace elider::test
