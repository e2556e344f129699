// Ranked indexes compared with a std::set, in transactions that commit and that roll back, within
// transactions that have written, and in snapshots that are held while rows change.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"
#include "tests/support/random.h"

namespace elider::test {
namespace {

struct Player {
  int32_t team = 0;
  int64_t score = 0;
};

class RankedIndexModelTest : public DatabaseTest {
 protected:
  using Rows = std::map<Key, Player>;
  // The order of the index {"team", descending("score")}, whose last part is the key.
  using Order = std::set<std::tuple<int32_t, int64_t, Key>>;
  static constexpr Key kKeys = 4000;
  static constexpr int32_t kTeams = 5;

  void SetUp() override {
    DatabaseTest::SetUp();
    players_ = create(SchemaOf<Player>("players")
                          .key_index(GetParam().key_index)
                          .column("team", &Player::team)
                          .column("score", &Player::score)
                          .group({"score"})
                          .ranked_index("by_team", {"team", descending("score")})
                          .index("by_score", {"score"}));
    by_team_ = *db_.index(players_, "by_team");
  }
  static Order order_of(const Rows& rows) {
    Order order;
    for (const auto& [key, row] : rows) order.emplace(row.team, -row.score, key);
    return order;
  }
  Player any_player() { return {static_cast<int32_t>(random_.below(kTeams)), static_cast<int64_t>(random_.below(500)) - 250}; }

  void change(Transaction& txn, Rows& rows) {
    const Key key = random_.below(kKeys);
    const auto found = rows.find(key);
    const Player player = any_player();
    switch (random_.below(5)) {
      case 0:
        if (found == rows.end()) ASSERT_OK(txn.insert(players_, key, player));
        else ASSERT_CODE(Code::kDuplicateKey, txn.insert(players_, key, player));
        rows.try_emplace(key, player);
        return;
      case 1:
        ASSERT_OK(txn.put(players_, key, player));
        rows[key] = player;
        return;
      case 2:
        if (found == rows.end()) ASSERT_CODE(Code::kNotFound, txn.remove(players_, key));
        else ASSERT_OK(txn.remove(players_, key));
        rows.erase(key);
        return;
      case 3:
        if (found == rows.end()) return;
        ASSERT_OK(txn.write(players_, key, players_.columns(&Player::score), player));
        found->second.score = player.score;
        return;
      default:
        if (found == rows.end()) return;
        ASSERT_OK(txn.update(players_, key, {}, [&](Player& row) { row.score += player.score % 3; }));
        found->second.score += player.score % 3;
    }
  }

  // A random range of the index, and the part of the order that it contains.
  struct Part {
    ColumnRange range;
    Order::const_iterator begin, end;
    uint64_t rows() const { return static_cast<uint64_t>(std::distance(begin, end)); }
  };
  Part any_part(const Order& order) {
    constexpr int64_t kFirst = -100000;
    const auto team = static_cast<int32_t>(random_.below(kTeams + 1));
    const auto score = static_cast<int64_t>(random_.below(500)) - 250, more = score + static_cast<int64_t>(random_.below(100));
    switch (random_.below(5)) {
      case 0: return {{}, order.begin(), order.end()};
      case 1: return {prefix(team), order.lower_bound({team, kFirst, 0}), order.lower_bound({team + 1, kFirst, 0})};
      case 2:
        return {ColumnRange::between(prefix(team, Descending{more}), prefix(team, Descending{score})),
                order.lower_bound({team, -more, 0}), order.lower_bound({team, -score + 1, 0})};
      case 3:
        return {ColumnRange::between(prefix(team), prefix(team + 1)), order.lower_bound({team, kFirst, 0}),
                order.lower_bound({team + 2, kFirst, 0})};
      default:
        return {prefix(team, Descending{score}), order.lower_bound({team, -score, 0}), order.lower_bound({team, -score + 1, 0})};
    }
  }

  void compare(Transaction& txn, const Rows& rows, const Order& order) {
    const Part part = any_part(order);
    const Result<uint64_t> counted = txn.count(by_team_, part.range);
    ASSERT_OK(counted);
    ASSERT_EQ(*counted, part.rows());
    ASSERT_EQ(*txn.count(by_team_, part.range, 100), std::min<uint64_t>(part.rows(), 100));
    const uint64_t skip = random_.below(part.rows() + 2);
    for (const bool reverse : {false, true}) {
      std::vector<Key> expected, found;
      for (uint64_t i = skip; i < std::min(part.rows(), skip + 3); ++i)
        expected.push_back(std::get<2>(reverse ? *std::prev(part.end, static_cast<std::ptrdiff_t>(i) + 1)
                                               : *std::next(part.begin, static_cast<std::ptrdiff_t>(i))));
      ASSERT_OK(txn.scan(by_team_, part.range, {.limit = 3, .reverse = reverse, .skip = skip},
                         [&](Key key, const View<Player>&) { found.push_back(key); }));
      ASSERT_EQ(found, expected) << "skip " << skip << (reverse ? " backward" : "");
    }
    const Key key = random_.below(kKeys);
    const auto row = rows.find(key);
    const Result<uint64_t> rank = txn.rank(by_team_, key);
    if (row == rows.end()) {
      ASSERT_CODE(Code::kNotFound, rank.status());
      return;
    }
    ASSERT_OK(rank);
    const auto at = order.find({row->second.team, -row->second.score, key});
    ASSERT_EQ(*rank, static_cast<uint64_t>(std::distance(order.begin(), at)));
    const Result<ColumnPosition> position = txn.position(by_team_, key);
    ASSERT_OK(position);
    ASSERT_EQ(*txn.rank(by_team_, *position), *rank);
    ASSERT_EQ(*txn.count(by_team_, ColumnRange().after(*position)), rows.size() - 1 - *rank);
  }
  void compare_often(Transaction& txn, const Rows& rows, uint64_t times) {
    const Order order = order_of(rows);
    for (uint64_t i = 0; i < times && !HasFatalFailure(); ++i) compare(txn, rows, order);
  }

  TestRandom random_;
  Table<Player> players_;
  Index<Player> by_team_;
};
ELIDER_ON_EVERY(RankedIndexModelTest);

TEST_P(RankedIndexModelTest, CountsAndRanksAreThoseOfASet) {
  Rows rows;
  for (Key key = 0; key < kKeys; key += 100)
    transact(db_, [&](Transaction& txn) {
      for (Key each = key; each < key + 100; each += 2) {
        rows[each] = any_player();
        ASSERT_OK(txn.insert(players_, each, rows[each]));
      }
    });
  ASSERT_OK(db_.verify());
  for (uint64_t round = 0; round < scaled(12) && !HasFatalFailure(); ++round) {
    auto held = db_.hold_snapshot();
    ASSERT_OK(held);
    const Rows before = rows;
    for (uint64_t i = 0; i < 10 && !HasFatalFailure(); ++i) {
      Rows changed;
      const bool commits = random_.percent(70);
      const uint64_t seed = random_.next();
      const Status status = db_.run([&](Transaction& txn) -> Status {
        random_ = TestRandom(seed);
        changed = rows;
        for (uint64_t changes = random_.below(60); changes > 0 && !HasFatalFailure(); --changes) change(txn, changed);
        compare_often(txn, changed, 3);
        return commits && !HasFatalFailure() ? Status() : Status::rollback();
      });
      EXPECT_TRUE(status.ok() || !commits) << status.message();
      if (status.ok()) rows = changed;
    }
    transact(db_, [&](Transaction& txn) { compare_often(txn, rows, 5); });
    read(db_, [&](Transaction& txn) { compare_often(txn, rows, 20); });
    ASSERT_OK(db_.run_read_only(
        [&](Transaction& txn) -> Status {
          compare_often(txn, before, 20);
          return {};
        },
        {.snapshot = &*held}));
    ASSERT_OK(db_.verify());
  }
  // Removes all rows, so that all boundaries merge.
  for (Key key = 0; key < kKeys; key += 500)
    transact(db_, [&](Transaction& txn) {
      for (Key each = key; each < key + 500; ++each)
        if (rows.erase(each) != 0) {
          ASSERT_OK(txn.remove(players_, each));
        }
    });
  read(db_, [&](Transaction& txn) { EXPECT_EQ(*txn.count(by_team_, ColumnRange()), 0u); });
}

}  // namespace
}  // namespace elider::test
