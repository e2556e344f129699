// Sequences of a database that is closed, crashes, is taken back to an earlier state, or was made
// before names of tables were reserved.
#include <filesystem>
#include <memory>
#include <utility>

#include "engine/engine.h"
#include "tests/support/data_folder_test.h"

namespace elider::test {
namespace {

class DurableSequenceTest : public DataFolderTest {};
INSTANTIATE_TEST_SUITE_P(Policies, DurableSequenceTest, durable_combinations(), combination_name);

// The number that is first given is on the disk when sequence() or at_least() returns.
TEST_P(DurableSequenceTest, WhereASequenceStartsIsDurable) {
  {
    Database database = open();
    ASSERT_OK(database.sequence("started", {.start = 500}));
    auto raised = database.sequence("raised");
    ASSERT_OK(raised);
    ASSERT_OK(raised->at_least(700));
    std::filesystem::copy(folder_ / "data", folder_ / "crashed", std::filesystem::copy_options::recursive);
  }
  for (const char* const folder : {"data", "crashed"}) {
    Options options = options_;
    options.data_folders = {folder_ / folder};
    auto left = Database::open(options);
    ASSERT_OK(left);
    for (const auto& [name, first] : {std::pair("started", 500u), std::pair("raised", 700u)}) {
      auto ids = left->sequence(name);
      ASSERT_OK(ids);
      auto number = ids->next();
      ASSERT_OK(number);
      EXPECT_EQ(*number, first) << name << " in " << folder;
    }
  }
}

// As elider/sequence.h says.
TEST_P(DurableSequenceTest, NumbersThatWereGivenAfterAStateComeAgainThere) {
  uint64_t given = 0;
  SnapshotNumber before = 0;
  {
    Database database = open();
    auto table = database.create_table(account_schema(KeyIndex::kOrdered));
    ASSERT_OK(table);
    ASSERT_OK(database.sequence("ids", {.start = 10, .chunk = 1}));
    RunPolicy policy;
    policy.commit_number = &before;
    ASSERT_OK(database.run([&](Transaction& txn) { return txn.insert(*table, 1, Account{}); }, policy));
    ASSERT_OK(database.wait_durable());
    auto ids = database.sequence("ids", 1);
    ASSERT_OK(ids);
    auto number = ids->next();
    ASSERT_OK(number);
    given = *number;
  }
  options_.recover_to = before;
  Database database = open();
  auto ids = database.sequence("ids", 1);
  ASSERT_OK(ids);
  auto number = ids->next();
  ASSERT_OK(number);
  EXPECT_EQ(*number, given);
}

// Before names were reserved a program could make this table; the engine still can.
TEST_P(DurableSequenceTest, ATableOfAReservedNameStaysAndSequencesGoElsewhere) {
  const SchemaOf<Account> theirs = account_schema(KeyIndex::kOrdered, "elider_sequences");
  {
    std::unique_ptr<detail::Engine> engine;
    ASSERT_OK(detail::open_engine(options_, {}, &engine));
    ASSERT_OK(engine->create_table(theirs.schema()));
  }
  options_.schemas = {theirs};
  for (uint64_t run = 0; run < 2; ++run) {
    Database database = open();
    auto table = database.create_table(theirs);
    ASSERT_OK(table);
    transact(database, [&](Transaction& txn) { ASSERT_OK(txn.put(*table, run, Account{})); });
    EXPECT_EQ(rows(database, *table).size(), run + 1);
    auto ids = database.sequence("ids", 1);
    ASSERT_OK(ids);
    auto number = ids->next();
    ASSERT_OK(number);
    EXPECT_EQ(*number, run + 1);
    EXPECT_OK(database.table("elider_sequences_2"));
  }
}

}  // namespace
}  // namespace elider::test
