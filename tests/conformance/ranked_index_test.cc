// Ranked indexes (SecondaryIndex::ranked) on every engine: keys and rows of all kinds, conflicts,
// and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"
#include "txn/ranks.h"

namespace elider::test {
namespace {

struct Player {
  int32_t team = 0;
  int64_t score = 0;
  uint64_t games = 0;
};

class RankedIndexTest : public DatabaseTest {
 protected:
  static constexpr Key kPlayers = 3000;

  void SetUp() override {
    DatabaseTest::SetUp();
    players_ = create(schema("players"));
    by_score_ = *db_.index(players_, "by_score");
  }
  SchemaOf<Player> schema(std::string name) const {
    SchemaOf<Player> schema(std::move(name));
    return schema.key_index(GetParam().key_index)
        .column("team", &Player::team)
        .column("score", &Player::score)
        .column("games", &Player::games)
        .group({"games"})
        .ranked_index("by_score", {descending("score")});
  }
  // Player k has the score k.
  void fill(Key players = kPlayers) {
    for (Key begin = 0; begin < players; begin += 500)
      transact(db_, [&](Transaction& txn) {
        for (Key key = begin; key < std::min(begin + 500, players); ++key)
          ASSERT_OK(txn.insert(players_, key, Player{static_cast<int32_t>(key % 3), static_cast<int64_t>(key), 0}));
      });
  }
  // The entry of a player in by_score.
  static std::string entry_of(int64_t score, Key key) {
    std::string entry = Bytes(prefix(Descending{score}).from()).to_string();
    for (int shift = 56; shift >= 0; shift -= 8) entry.push_back(static_cast<char>(key >> shift & 0xff));
    return entry;
  }
  Status txn_count(const Index<Player>& index) {
    return db_.run([&](Transaction& txn) { return txn.count(index, ColumnRange()).status(); });
  }
  // Both kinds of transactions see the same.
  template <class Body>
  void in_both(Body&& body) {
    transact(db_, body);
    read(db_, body);
  }

  Table<Player> players_;
  Index<Player> by_score_;
};
ELIDER_ON_EVERY(RankedIndexTest);

TEST_P(RankedIndexTest, ALeaderboardHasRanksAndPages) {
  fill();
  in_both([&](Transaction& txn) {
    EXPECT_EQ(*txn.rank(by_score_, 2999), 0u);
    EXPECT_EQ(*txn.rank(by_score_, 0), 2999u);
    EXPECT_EQ(*txn.rank(by_score_, 1234), 1765u);
    EXPECT_CODE(Code::kNotFound, txn.rank(by_score_, kPlayers));
    EXPECT_EQ(*txn.count(by_score_, ColumnRange()), kPlayers);
    EXPECT_EQ(*txn.count(by_score_, ColumnRange::between(prefix(Descending{1999}), prefix(Descending{1000}))), 1000u);
    EXPECT_EQ(*txn.count(by_score_, prefix(Descending{5000})), 0u);
    for (const bool reverse : {false, true})
      for (const uint64_t skip : {uint64_t{0}, uint64_t{7}, uint64_t{1500}, uint64_t{2999}, uint64_t{3000}, ~uint64_t{0}}) {
        std::vector<Key> found, expected;
        ASSERT_OK(txn.scan(by_score_, ColumnRange(), {.limit = 2, .reverse = reverse, .skip = skip},
                           [&](Key key, const View<Player>&) { found.push_back(key); }));
        for (uint64_t i = skip; i < kPlayers && expected.size() < 2; ++i) expected.push_back(reverse ? i : kPlayers - 1 - i);
        EXPECT_EQ(found, expected) << skip << reverse;
      }
  });
  IndexScan<Player> pages(by_score_, ColumnRange(), {.limit = 5, .skip = 2000});
  std::array<View<Player>, 3> page;
  std::vector<Key> found;
  for (size_t rows = 1; rows != 0;) {
    read(db_, [&](Transaction& txn) { rows = *pages.next(txn, page); });
    for (size_t i = 0; i < rows; ++i) found.push_back(page[i].key());
  }
  EXPECT_EQ(found, (std::vector<Key>{999, 998, 997, 996, 995}));
}

TEST_P(RankedIndexTest, OwnWritesCount) {
  fill(200);
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.update(players_, 10, {}, [](Player& row) { row.score = 1000; }));
    EXPECT_EQ(*txn.rank(by_score_, 10), 0u);
    EXPECT_EQ(*txn.rank(by_score_, 199), 1u);
    ASSERT_OK(txn.remove(players_, 199));
    EXPECT_EQ(*txn.rank(by_score_, 198), 1u);
    ASSERT_OK(txn.insert(players_, 199, Player{0, 5000, 0}));
    EXPECT_EQ(*txn.rank(by_score_, 10), 1u);
    ASSERT_OK(txn.put(players_, 199, Player{0, -1, 0}));
    EXPECT_EQ(*txn.rank(by_score_, 199), 199u);
    ASSERT_OK(txn.remove(players_, 199));
    EXPECT_EQ(*txn.count(by_score_, ColumnRange()), 199u);
    EXPECT_CODE(Code::kNotFound, txn.rank(by_score_, 199));
  });
  EXPECT_CODE(Code::kRolledBack, db_.run([&](Transaction& txn) -> Status {
    for (Key key = 0; key < 100; ++key)
      if (Status status = txn.remove(players_, key); !status.ok()) return status;
    EXPECT_EQ(*txn.count(by_score_, ColumnRange()), 99u);
    return Status::rollback();
  }));
  in_both([&](Transaction& txn) { EXPECT_EQ(*txn.count(by_score_, ColumnRange()), 199u); });
}

// The rank that a transaction has seen must still be right when it commits.
TEST_P(RankedIndexTest, ARankConflictsWithAWriteBeforeTheRow) {
  if (!GetParam().concurrent()) GTEST_SKIP() << "one thread cannot have two transactions";
  fill();
  const auto outcome = [&](Key changed, int64_t score) {
    auto txn = begin(db_);
    EXPECT_EQ(*txn->rank(by_score_, 1500), 1499u);
    EXPECT_OK(txn->update(players_, 0, players_.columns(&Player::games), [](Player& row) { ++row.games; }));
    transact(db_, [&](Transaction& other) {
      ASSERT_OK(other.update(players_, changed, {}, [&](Player& row) { row.score = score; }));
    });
    return txn.commit();
  };
  EXPECT_CODE(Code::kConflict, outcome(10, 4000));
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.update(players_, 10, {}, [](Player& row) { row.score = 10; })); });
  EXPECT_CODE(Code::kConflict, outcome(2500, 20));
}

// Writers add to the same counts, and a write does not read them.
TEST_P(RankedIndexTest, WritersOfTheSameIntervalDoNotConflict) {
  if (!GetParam().concurrent() || GetParam().claims_writes()) GTEST_SKIP() << "claims";
  if (GetParam().protocol != Protocol::kOcc) GTEST_SKIP() << "additions conflict under other protocols";
  fill();
  // Values that are not boundaries.
  const auto moves_to = [](int64_t from) {
    for (;; ++from) {
      for (const Key key : {Key{100}, Key{101}})
        if (txn::rank_level(entry_of(from, key)) != 0) goto next;
      return from;
    next:;
    }
  };
  const int64_t score = moves_to(500000);
  for (const Key key : {Key{100}, Key{101}})
    if (txn::rank_level(entry_of(static_cast<int64_t>(key), key)) != 0) GTEST_SKIP() << "a boundary";
  auto one = begin(db_), other = begin(db_);
  ASSERT_OK(one->update(players_, 100, {}, [&](Player& row) { row.score = score; }));
  ASSERT_OK(other->update(players_, 101, {}, [&](Player& row) { row.score = score; }));
  EXPECT_OK(one.commit());
  EXPECT_OK(other.commit());
  in_both([&](Transaction& txn) { EXPECT_EQ(*txn.rank(by_score_, 102), 2899u); });
}

TEST_P(RankedIndexTest, RowsAndKeysOfAllKindsAreRanked) {
  auto table = db_.create_table<std::tuple<uint32_t, std::string>>(RowSchema("described")
                                                                       .column("name", RowType::kText)
                                                                       .column("points", RowType::kInt32, {.nullable = true})
                                                                       .unique_ranked_index("by_name", {"name"})
                                                                       .ranked_index("by_points", {"points", descending("name")}));
  ASSERT_OK(table);
  auto by_name = db_.index(*table, "by_name"), by_points = db_.index(*table, "by_points");
  ASSERT_OK(by_name);
  ASSERT_OK(by_points);
  auto words = db_.create_table(SchemaOf<Player, std::string_view>("words").column("score", &Player::score).ranked_index(
      "by_score", {"score"}));
  ASSERT_OK(words);
  auto by_score = db_.index(*words, "by_score");
  ASSERT_OK(by_score);
  RowBuilder row(*table);
  constexpr int32_t kRows = 1500;
  for (int32_t begin = 0; begin < kRows; begin += 300)
    transact(db_, [&](Transaction& txn) {
      for (int32_t i = begin; i < begin + 300; ++i) {
        row.begin().set("name", std::string(static_cast<size_t>(i % 50), 'x') + std::to_string(i));
        if (i % 10 != 0) row.set("points", i);
        ASSERT_OK(txn.insert(*table, {7, std::to_string(i)}, row));
        ASSERT_OK(txn.insert(*words, std::to_string(i), Player{0, i, 0}));
      }
    });
  in_both([&](Transaction& txn) {
    EXPECT_EQ(*txn.rank(*by_points, {7, "1"}), 150u) << "nulls first";
    EXPECT_EQ(*txn.count(*by_points, prefix(nullptr)), 150u);
    EXPECT_EQ(*txn.rank(*by_points, {7, "1499"}), 1499u);
    EXPECT_CODE(Code::kNotFound, txn.rank(*by_points, {8, "1499"}));
    EXPECT_EQ(*txn.count(*by_name, prefix()), 1500u);
    EXPECT_EQ(*txn.rank(*by_score, "700"), 700u);
    EXPECT_EQ(*txn.rank(static_cast<const IndexRef&>(*by_score), Bytes("701")), 701u);
    auto position = txn.position(*by_score, "900");
    ASSERT_OK(position);
    EXPECT_EQ(*txn.count(*by_score, ColumnRange().after(*position)), 599u);
    std::string found;
    ASSERT_OK(txn.scan(*by_score, ColumnRange(), {.limit = 1, .skip = 321}, [&](std::string_view key, const auto&) { found = key; }));
    EXPECT_EQ(found, "321");
  });
  EXPECT_CODE(Code::kDuplicateKey, db_.run([&](Transaction& txn) {
    return txn.insert(*table, {1, "a"}, row.begin().set("name", "0").set("points", 1));
  }));
  ASSERT_OK(db_.verify());
}

// An insert that is refused because of another index does not change the counts.
TEST_P(RankedIndexTest, ARefusedWriteDoesNotCount) {
  auto table = create(SchemaOf<Player>("unique")
                          .key_index(GetParam().key_index)
                          .column("team", &Player::team)
                          .column("score", &Player::score)
                          .ranked_index("by_score", {"score"})
                          .unique_index("by_team", {"team"}));
  const Index<Player> by_score = *db_.index(table, "by_score");
  transact(db_, [&](Transaction& txn) {
    for (int32_t i = 0; i < 100; ++i) ASSERT_OK(txn.insert(table, static_cast<Key>(i), Player{i, i, 0}));
    for (Key key = 200; key < 300; ++key)
      ASSERT_CODE(Code::kDuplicateKey, txn.insert(table, key, Player{5, static_cast<int64_t>(key), 0}));
    ASSERT_CODE(Code::kDuplicateKey, txn.put(table, 7, Player{5, 1000, 0}));
    ASSERT_CODE(Code::kDuplicateKey, txn.update(table, 8, {}, [](Player& row) { row = {5, 2000, 0}; }));
    EXPECT_EQ(*txn.count(by_score, ColumnRange()), 100u);
    EXPECT_EQ(*txn.rank(by_score, 8), 8u);
  });
}

TEST_P(RankedIndexTest, LongEntriesAndBoundsAreCounted) {
  auto table = db_.create_table<std::string_view>(
      RowSchema("long").column("text", RowType::kText).ranked_index("by_text", {"text"}).row_bytes_max(4000));
  ASSERT_OK(table);
  auto by_text = db_.index(*table, "by_text");
  ASSERT_OK(by_text);
  const std::string begin(900, 'b');
  RowBuilder row(*table);
  transact(db_, [&](Transaction& txn) {
    for (int i = 0; i < 400; ++i) ASSERT_OK(txn.insert(*table, std::to_string(i), row.begin().set("text", begin + std::to_string(i))));
    EXPECT_REFUSED(Code::kInvalidArgument, "at most 1022 bytes together",
                   txn.insert(*table, "x", row.begin().set("text", std::string(1020, 'c'))));
    EXPECT_OK(txn.insert(*table, "x", row.begin().set("text", std::string(1018, 'c'))));
    EXPECT_EQ(*txn.count(*by_text, prefix()), 401u);
    EXPECT_EQ(*txn.rank(*by_text, "x"), 400u);
    EXPECT_EQ(*txn.rank(*by_text, ColumnPosition{OwnedBytes(std::string(2000, '\xff'))}), 401u);
    EXPECT_EQ(*txn.rank(*by_text, ColumnPosition{OwnedBytes(std::string())}), 0u);
  });
}

TEST_P(RankedIndexTest, MistakesAreRefused) {
  const auto plain = db_.create_table(SchemaOf<Player>("plain")
                                          .column("score", &Player::score)
                                          .index("by_score", {"score"})
                                          .index("by_number", {"score"}, [](const Player& p) { return static_cast<uint64_t>(p.score); }));
  ASSERT_OK(plain);
  const Index<Player> by_score = *db_.index(*plain, "by_score"), by_number = *db_.index(*plain, "by_number");
  in_both([&](Transaction& txn) {
    EXPECT_REFUSED(Code::kInvalidArgument, "declare it with ranked_index()", txn.rank(by_score, ColumnPosition{}).status());
    const auto none = [](Key, const View<Player>&) {};
    EXPECT_REFUSED(Code::kInvalidArgument, "ScanOptions::skip needs a ranked index",
                   txn.scan(by_score, ColumnRange(), {.skip = 1}, none));
    EXPECT_REFUSED(Code::kInvalidArgument, "only for scans of a ranked index", txn.scan(by_number, IndexRange(), {.skip = 1}, none));
    if (GetParam().ordered()) {
      EXPECT_REFUSED(Code::kInvalidArgument, "only for scans of a ranked index", txn.scan(players_, KeyRange{}, {.skip = 1}, none));
    }
    EXPECT_CODE(Code::kInvalidArgument, txn.rank(by_number, ColumnPosition{}));
    EXPECT_CODE(Code::kInvalidArgument, txn.rank(IndexRef{}, ColumnPosition{}));
    EXPECT_CODE(Code::kInvalidArgument, txn.count(by_score_, prefix("text")));
  });
  Schema with_function = SchemaOf<Player>("function").column("score", &Player::score);
  with_function.indexes.push_back({"by_score", false, {"score"}, [](const void*) { return uint64_t{0}; }});
  with_function.indexes[0].ranked = true;
  EXPECT_REFUSED(Code::kInvalidArgument, "only an index by columns can be ranked", db_.create_table(with_function));
  Schema unranked = schema("players");
  unranked.indexes[0].ranked = false;
  EXPECT_REFUSED(Code::kSchemaMismatch, "'by_score' is ranked in the table, but is not ranked in the program's description; change",
                 db_.create_table(unranked));
}

TEST_P(RankedIndexTest, TheTableOfTheCountsIsHiddenAndDroppedWithTheTable) {
  fill(300);
  for (const TableRef& table : db_.tables()) EXPECT_FALSE(table.schema().name.starts_with("elider_rank")) << table.schema().name;
  const std::string counts = txn::rank_table_name(players_.base()->id(), players_.schema().indexes[0].name);
  EXPECT_CODE(Code::kNotFound, db_.table(counts));
  EXPECT_CODE(Code::kInvalidArgument, db_.drop_table(counts));
  ASSERT_OK(db_.rename_table("players", "people"));
  in_both([&](Transaction& txn) { EXPECT_EQ(*txn.count(by_score_, ColumnRange()), 300u); });
  const auto has_counts = [&] {
    const Statistics statistics = db_.statistics();
    return std::any_of(statistics.tables.begin(), statistics.tables.end(), [&](const auto& table) { return table.name == counts; });
  };
  EXPECT_TRUE(has_counts());
  ASSERT_OK(db_.drop_table("people"));
  EXPECT_FALSE(has_counts());
  players_ = create(schema("players"));
  by_score_ = *db_.index(players_, "by_score");
  fill(100);
  in_both([&](Transaction& txn) { EXPECT_EQ(*txn.rank(by_score_, 40), 59u); });
}

TEST_P(RankedIndexTest, VerifyComparesTheCountsWithTheRows) {
  fill(1000);
  const TableRef counts(static_cast<txn::AnyTable*>(players_.base())->ranks(0));
  const auto add = [&](int64_t rows) {
    return db_.run([&](Transaction& txn) {
      return txn.add(counts, txn::RankKey(1, Bytes()).bytes(), offsetof(txn::RankRow, rows), ColumnType::kInt64, &rows);
    });
  };
  ASSERT_OK(add(1));
  EXPECT_REFUSED(Code::kInvalidArgument, "the counts of index 'by_score' are wrong at level 1", db_.verify());
  ASSERT_OK(add(-1));
  EXPECT_OK(db_.verify());
}

// The counts of an index can be built from its entries, in several transactions.
TEST_P(RankedIndexTest, CountsAreBuiltFromEntries) {
  fill();
  auto& counts = *static_cast<txn::AnyTable*>(players_.base())->ranks(0);
  const TableRef table(&counts);
  txn::RankBuilder builder;
  transact(db_, [&](Transaction& txn) {
    std::vector<std::string> keys;
    ASSERT_OK(txn.scan(table, ByteRange(), {}, [&](Bytes key, RawView) { return keys.push_back(key.to_string()), true; }));
    EXPECT_GT(keys.size(), 50u);
    for (const std::string& key : keys) ASSERT_OK(txn.remove(table, Bytes(key)));
    const auto visit = [&](const ColumnPosition& at, const View<Player>&) { builder.add(at.entry.bytes()); };
    ASSERT_OK(txn.scan(by_score_, ColumnRange(), {}, visit));
  });
  EXPECT_CODE(Code::kInvalidArgument, db_.verify()) << "an index of this size has a level";
  builder.finish();
  size_t next = 0;
  for (bool done = false; !done;)
    ASSERT_OK(db_.run([&, begin = next](Transaction& txn) {
      next = begin;
      return builder.insert(txn, counts, 20, &next, &done);
    }));
  EXPECT_OK(db_.verify());
  in_both([&](Transaction& txn) { EXPECT_EQ(*txn.rank(by_score_, 1000), 1999u); });
}

// A ranked index of an existing table, and one that comes back under its name.
TEST_P(RankedIndexTest, ARankedIndexIsCreatedAndDropped) {
  fill();
  const SecondaryIndex by_team = SecondaryIndex::ranked_of_columns("by_team", {"team", descending("score")});
  for (int round = 0; round < 3; ++round) {
    ASSERT_OK(db_.create_index("players", by_team));
    const auto index = db_.index(players_, "by_team");
    ASSERT_OK(index);
    const auto expect = [&](uint64_t in_team_1, uint64_t rank_of_1) {
      in_both([&](Transaction& txn) {
        EXPECT_EQ(*txn.count(*index, prefix(1)), in_team_1);
        EXPECT_EQ(*txn.rank(*index, Key{1}), 1000 + rank_of_1);
      });
    };
    expect(1000, 999);
    transact(db_, [&](Transaction& txn) {
      ASSERT_OK(txn.update(players_, 1000, {}, [](Player& player) { player.team = 2; }));
      ASSERT_OK(txn.insert(players_, kPlayers + 1, Player{1, 7, 0}));
      ASSERT_OK(txn.remove(players_, 10));
    });
    expect(999, 998);
    EXPECT_OK(db_.verify());
    ASSERT_OK(db_.drop_index("players", "by_team"));
    EXPECT_CODE(Code::kInvalidArgument, txn_count(*index));
    transact(db_, [&](Transaction& txn) {
      ASSERT_OK(txn.update(players_, 1000, {}, [](Player& player) { player.team = 1; }));
      ASSERT_OK(txn.remove(players_, kPlayers + 1));
      ASSERT_OK(txn.insert(players_, 10, Player{1, 10, 0}));
    });
    const std::string counts = txn::rank_table_name(players_.base()->id(), "by_team");
    for (const auto& table : db_.statistics().tables) EXPECT_NE(table.name, counts);
  }
  EXPECT_OK(db_.verify());
  in_both([&](Transaction& txn) { EXPECT_EQ(*txn.rank(by_score_, 40), kPlayers - 41); });
}

TEST_P(RankedIndexTest, AnOlderSnapshotCannotUseTheCounts) {
  fill(300);
  const auto snapshot = db_.hold_snapshot();
  ASSERT_OK(snapshot);
  ASSERT_OK(db_.create_index("players", SecondaryIndex::ranked_of_columns("by_team", {"team"})));
  const auto index = db_.index(players_, "by_team");
  ASSERT_OK(index);
  auto earlier = db_.begin_read_only(*snapshot);
  ASSERT_OK(earlier);
  EXPECT_REFUSED(Code::kInvalidArgument, "after the snapshot", (*earlier)->count(*index, ColumnRange()));
  EXPECT_REFUSED(Code::kInvalidArgument, "after the snapshot", (*earlier)->rank(*index, Key{1}));
}

// Before drop_index() drops the counts, they are dropped because an index of this name is created.
TEST_P(RankedIndexTest, CountsAreDroppedOnce) {
  ASSERT_OK(db_.create_index("players", SecondaryIndex::ranked_of_columns("by_team", {"team"})));
  fill(300);
  bool again = true;
  TestPoints::on("catalog.counts_alone", [&] {
    if (!std::exchange(again, false)) return;
    ASSERT_OK(db_.create_index("players", SecondaryIndex::ranked_of_columns("by_team", {"team"})));
  });
  ASSERT_OK(db_.drop_index("players", "by_team"));
  EXPECT_OK(db_.verify());
  in_both([&](Transaction& txn) { EXPECT_EQ(*txn.count(*db_.index(players_, "by_team"), prefix(1)), 100u); });
  ASSERT_OK(db_.drop_table("players"));
  for (const auto& table : db_.statistics().tables) EXPECT_FALSE(table.name.starts_with("elider_rank")) << table.name;
}

TEST_P(RankedIndexTest, ARankedIndexThatCannotBeCreatedLeavesNothing) {
  fill(400);
  SecondaryIndex by_team = SecondaryIndex::ranked_of_columns("by_team", {"team"}, true);
  EXPECT_REFUSED(Code::kDuplicateKey, "by_team", db_.create_index("players", by_team));
  const size_t tables = db_.statistics().tables.size();
  TestPoints::on("index_build.counts_inserted", [] { throw std::runtime_error("a fault"); });
  by_team.unique = false;
  EXPECT_THROW(static_cast<void>(db_.create_index("players", by_team)), std::runtime_error);
  TestPoints::clear();
  EXPECT_EQ(db_.statistics().tables.size(), tables);
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.update(players_, 1, {}, [](Player& player) { player.team = 2; })); });
  ASSERT_OK(db_.create_index("players", by_team));
  in_both([&](Transaction& txn) { EXPECT_EQ(*txn.count(*db_.index(players_, "by_team"), prefix(2)), 134u); });
  EXPECT_OK(db_.verify());
}

// A procedure in pieces cannot change the counts, because its declaration does not include them.
TEST_P(RankedIndexTest, ProceduresWithOperationsCannotChangeARankedIndex) {
  struct Call {
    uint64_t rows = 0;
  };
  using chopping::Operation;
  const auto body = [](Transaction&, Call&) { return Status(); };
  for (const Operation& operation : {Operation("insert").inserts("players"), Operation("remove").removes("players"),
                                     Operation("write").writes("players", {"score"}), Operation("all").writes("players", {})})
    EXPECT_REFUSED(Code::kInvalidArgument, "is ranked; use a procedure with a body",
                   install(db_, Procedure<Call>("change").operation(operation, body)));
  fill(100);
  Procedures procedures;
  const auto play = procedures.add(
      Procedure<Call>("play").operation(Operation("play").writes("players", {"games"}), [&](Transaction& txn, Call&) {
        return txn.update(players_, 3, players_.columns(&Player::games), [](Player& row) { ++row.games; });
      }));
  const auto count = procedures.add(
      Procedure<Call>("count").operation(Operation("count").scans("players", {"score"}), [&](Transaction& txn, Call& call) -> Status {
        auto rows = txn.count(by_score_, ColumnRange());
        if (!rows.ok()) return rows.status();
        call.rows = *rows;
        return {};
      }));
  InstallOptions options;
  options.check_accesses = true;
  ASSERT_OK(db_.install(std::move(procedures), options));
  Call call;
  EXPECT_OK(db_.call(play, call));
  EXPECT_REFUSED(Code::kInvalidArgument, "uses the counts of a ranked index", db_.call(count, call));
}

}  // namespace
}  // namespace elider::test
