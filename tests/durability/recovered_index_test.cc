// Secondary indexes after recovery: rows come to them in chunks of 4,096, from one thread or
// several, out of a checkpoint or out of the log.
#include "tests/support/data_folder_test.h"

namespace elider::test {
namespace {

class RecoveredIndexTest : public DataFolderTest {};

TEST_P(RecoveredIndexTest, HasTheRowsOfEveryChunk) {
  constexpr Key kRows = 2 * 4096 + 700, kAtOnce = 900;
  constexpr uint32_t kBranches = 7;
  for (const KeyIndex kind : {KeyIndex::kOrdered, KeyIndex::kHashed}) {
    std::filesystem::remove_all(folder_ / "data");
    const auto schema = indexed_account_schema(kind);
    options_.schemas = {schema.schema()};
    {
      Database database = open();
      auto table = database.create_table(schema);
      ASSERT_OK(table);
      for (Key key = 0; key < kRows; key += kAtOnce)
        transact(database, [&](Transaction& txn) {
          for (Key k = key; k < std::min(key + kAtOnce, kRows); ++k)
            ASSERT_OK(txn.insert(*table, k, Account{100'000 + k, 0, static_cast<uint32_t>(k % kBranches), 0}));
        });
    }
    for (const uint32_t threads : {1u, 3u}) {
      options_.recovery_threads = threads;
      Database database = open();
      EXPECT_OK(database.verify()) << "each index finds each row";
      auto table = database.table<Account>("accounts");
      ASSERT_OK(table);
      auto by_branch = database.index(*table, "by_branch");
      auto by_owner = database.index(*table, "by_owner");
      ASSERT_OK(by_branch);
      ASSERT_OK(by_owner);
      read(database, [&](Transaction& txn) {
        for (const auto& index : {*by_branch, *by_owner}) {
          Key found = 0;
          ASSERT_OK(txn.scan(index, KeyRange{}, ScanOptions{}, [&](Key, const View<Account>&) { return ++found, true; }));
          EXPECT_EQ(found, kRows) << threads << " threads";
        }
      });
      ASSERT_OK(database.checkpoint()) << "the next opening loads it";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, RecoveredIndexTest, durable_combinations(), combination_name);

}  // namespace
}  // namespace elider::test
