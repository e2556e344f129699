// Ranked indexes in data folders: the counts are recovered from the log and from checkpoints, and
// are created and dropped with their table.
#include <string>
#include <thread>
#include <vector>

#include "base/test_points.h"
#include "elider/described.h"
#include "tests/support/data_folder_test.h"

namespace elider::test {
namespace {

struct Player {
  int64_t score = 0;
  uint64_t games = 0;
};

class RankedIndexFolderTest : public DataFolderTest {
 protected:
  static constexpr Key kPlayers = 2500;

  void SetUp() override {
    DataFolderTest::SetUp();
    options_.durability = Durability::kAsync;
  }
  static SchemaOf<Player> players() {
    SchemaOf<Player> schema("players");
    return schema.column("score", &Player::score).column("games", &Player::games).ranked_index("by_score", {descending("score")});
  }
  static void fill(Database& db, Key first, Key last) {
    if (first == 0) {
      ASSERT_OK(db.create_table(players()));
    }
    const auto table = db.table<Player>("players");
    ASSERT_OK(table);
    for (Key begin = first; begin < last; begin += 250)
      transact(db, [&](Transaction& txn) {
        for (Key key = begin; key < begin + 250; ++key)
          ASSERT_OK(txn.put(*table, key, Player{static_cast<int64_t>(key), 0}));
      });
  }
  // Looks at the database without its schema.
  static void expect(Database& db, uint64_t rows) {
    EXPECT_OK(db.verify());
    const auto table = db.table<Player>("players");
    ASSERT_OK(table);
    EXPECT_TRUE(table->schema().indexes[0].ranked);
    const auto by_score = db.index(*table, "by_score");
    ASSERT_OK(by_score);
    read(db, [&](Transaction& txn) {
      EXPECT_EQ(*txn.count(*by_score, ColumnRange()), rows);
      EXPECT_EQ(*txn.rank(*by_score, 3), rows - 4);
    });
    EXPECT_EQ(db.tables().size(), 1u);
  }
};
INSTANTIATE_TEST_SUITE_P(Policies, RankedIndexFolderTest, durable_combinations(), combination_name);

TEST_P(RankedIndexFolderTest, TheCountsAreRecoveredFromTheLogAndFromACheckpoint) {
  {
    auto db = open();
    fill(db, 0, kPlayers);
    expect(db, kPlayers);
  }
  for (const uint32_t threads : {1u, 3u}) {
    options_.recovery_threads = threads;
    auto db = open();
    expect(db, kPlayers);
    const auto table = db.table<Player>("players");
    transact(db, [&](Transaction& txn) {  // changes that the log has after the checkpoint
      for (Key key = 100; key < 300; ++key) ASSERT_OK(txn.remove(*table, key));
    });
    expect(db, kPlayers - 200);
    fill(db, 0, 500);
    ASSERT_OK(db.checkpoint());
    transact(db, [&](Transaction& txn) {
      for (Key key = 1000; key < 1200; ++key) ASSERT_OK(txn.update(*table, key, {}, [](Player& row) { row.score += 5000; }));
    });
    expect(db, kPlayers);
  }
  options_.schemas = {players().schema()};
  auto db = open();
  expect(db, kPlayers);
}

// The table has its counts at each earlier number, or neither exists.
TEST_P(RankedIndexFolderTest, EveryNumberHasTheTableWithItsCountsOrNeither) {
  std::vector<std::pair<SnapshotNumber, uint64_t>> moments;  // the rows at each number
  {
    auto db = open();
    auto table = db.create_table(players());
    ASSERT_OK(table);
    RunPolicy policy;
    SnapshotNumber number = 0;
    policy.commit_number = &number;
    for (Key key = 0; key < 300; ++key) {
      ASSERT_OK(db.run([&](Transaction& txn) { return txn.insert(*table, key, Player{static_cast<int64_t>(key), 0}); }, policy));
      moments.emplace_back(number, key + 1);
      if (key % 60 != 59) continue;
      ASSERT_OK(db.wait_durable());
    }
    ASSERT_OK(db.drop_table("players"));
  }
  {
    auto db = open();
    EXPECT_TRUE(db.tables().empty());
  }
  for (size_t i = 299; i < moments.size(); i -= 60) {  // each opening removes the later commits; wraps around
    const auto last = [&] {
      uint64_t rows = 0;
      for (const auto& [number, count] : moments)
        if (number <= moments[i].first) rows = count;
      return rows;
    }();
    Options options = options_;
    options.recover_to = moments[i].first;
    auto db = open(options);
    expect(db, last);
  }
}

TEST_P(RankedIndexFolderTest, ADroppedTableTakesItsCountsAlong) {
  {
    auto db = open();
    fill(db, 0, 500);
    ASSERT_OK(db.drop_table("players"));
    fill(db, 0, 1000);
  }
  {
    auto db = open();
    expect(db, 1000);
    ASSERT_OK(db.checkpoint());
  }
  auto db = open();
  expect(db, 1000);
  const Statistics statistics = db.statistics();
  EXPECT_EQ(statistics.tables.size(), 2u);
}

// A checkpoint is taken while threads write.
TEST_P(RankedIndexFolderTest, ACheckpointBesideWritersHasCountsThatFit) {
  if (!GetParam().threads()) GTEST_SKIP() << "one thread";
  {
    auto db = open();
    fill(db, 0, kPlayers);
    const auto table = db.table<Player>("players");
    std::thread writer([&] {
      for (Key i = 0; i < 2000; ++i)
        EXPECT_OK(db.run([&](Transaction& txn) {
          return txn.update(*table, i * 37 % kPlayers, {}, [&](Player& row) { row.score = static_cast<int64_t>(i * 101 % 5000) + 10; });
        }));
    });
    for (int i = 0; i < 3; ++i) EXPECT_OK(db.checkpoint());
    writer.join();
  }
  auto db = open();
  EXPECT_OK(db.verify());
}

// A crash after each step of create_index() and drop_index() leaves a folder that opens, with the
// index and its counts or without the index. The index can then be created, and the table dropped.
TEST_P(RankedIndexFolderTest, EveryStepOfCreatingAndDroppingIsRecovered) {
  const SecondaryIndex by_games = SecondaryIndex::ranked_of_columns("by_games", {"games", "score"});
  std::vector<std::string> copies;
  {
    auto db = open();
    fill(db, 0, 500);
    const auto copy = [&](const std::string& step) {
      ASSERT_OK(db.wait_durable());
      std::filesystem::copy(folder_ / "data", folder_ / step);
      copies.push_back(step);
    };
    for (const char* const step :
         {"index_build.counted", "index_build.counts_inserted", "catalog.index_logged", "catalog.index_drop_logged"})
      TestPoints::on(step, [&copy, step] { copy(step); });
    ASSERT_OK(db.create_index("players", by_games));
    copy("created");
    fill(db, 500, kPlayers);
    ASSERT_OK(db.drop_index("players", "by_games"));
    copy("dropped");
    TestPoints::clear();
  }
  EXPECT_EQ(copies.size(), 6u);
  for (const std::string& step : copies) {
    SCOPED_TRACE(step);
    const bool has = step == "catalog.index_logged" || step == "created";
    const uint64_t rows = step.find("drop") != std::string::npos ? kPlayers : 500;
    for (int round = 0; round < 2; ++round) {
      auto opened = Database::open(options_for(folder_ / step));
      ASSERT_OK(opened);
      Database& db = *opened;
      expect(db, rows);
      const auto table = db.table<Player>("players");
      ASSERT_OK(table);
      auto index = db.index(*table, "by_games");
      EXPECT_EQ(index.ok(), has || round == 1) << index.status().message();
      if (!index.ok()) {
        ASSERT_OK(db.create_index("players", by_games));
        index = db.index(*table, "by_games");
      }
      transact(db, [&](Transaction& txn) { ASSERT_OK(txn.put(*table, 3, Player{3, 5})); });
      read(db, [&](Transaction& txn) {
        EXPECT_EQ(*txn.count(*index, ColumnRange()), rows);
        EXPECT_EQ(*txn.rank(*index, 3), rows - 1);
      });
      EXPECT_OK(db.verify());
      if (round == 0) continue;
      ASSERT_OK(db.drop_table("players"));
      EXPECT_EQ(db.statistics().tables.size(), 0u) << "also the counts";
    }
  }
}

}  // namespace
}  // namespace elider::test
