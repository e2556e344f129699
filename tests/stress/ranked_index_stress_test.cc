// A ranked index while threads move, remove and insert rows. Each transaction that counts sees
// counts that fit each other and a scan, and verify() compares them with the index at the end.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"
#include "tests/support/random.h"

namespace elider::test {
namespace {

struct Player {
  int64_t score = 0;
  int64_t removals = 0;
};

class RankedIndexStressTest : public DatabaseTest {
 protected:
  static constexpr Key kPlayers = 1500;
  // Half of the players always exist. The others come and go in pairs, so their number is even.
  static constexpr Key kPairs = 100;
  static constexpr int64_t kScores = 4000;

  void SetUp() override {
    DatabaseTest::SetUp();
    players_ = create(SchemaOf<Player>("players")
                          .key_index(GetParam().key_index)
                          .column("score", &Player::score)
                          .column("removals", &Player::removals)
                          .ranked_index("by_score", {descending("score")}));
    by_score_ = *db_.index(players_, "by_score");
    for (Key begin = 0; begin < kPlayers; begin += 250)
      transact(db_, [&](Transaction& txn) {
        for (Key key = begin; key < begin + 250; ++key)
          ASSERT_OK(txn.insert(players_, key, Player{static_cast<int64_t>(key * 7 % kScores), 0}));
      });
  }
  Status change(Transaction& txn, TestRandom& random) const {
    const Key key = random.below(kPlayers);
    const auto score = static_cast<int64_t>(random.below(kScores));
    if (random.percent(70)) return txn.update(players_, key, {}, [&](Player& row) { row.score = score; });
    const Key pair = kPlayers + 2 * random.below(kPairs);
    Status status = txn.remove(players_, pair);
    if (status.ok()) return txn.remove(players_, pair + 1);
    if (!status.not_found()) return status;
    status = txn.insert(players_, pair, Player{score, 0});
    return status.ok() ? txn.insert(players_, pair + 1, Player{kScores - score, 0}) : status;
  }
  // Returns why the counts are wrong, or ok.
  Status look(Transaction& txn, TestRandom& random) const {
    const Key key = random.below(kPlayers);
    const auto rank = txn.rank(by_score_, key);
    if (!rank.ok()) return rank.status();
    const auto position = txn.position(by_score_, key);
    if (!position.ok()) return position.status();
    const auto all = txn.count(by_score_, ColumnRange());
    if (!all.ok()) return all.status();
    const auto after = txn.count(by_score_, ColumnRange().after(*position));
    if (!after.ok()) return after.status();
    if (*all % 2 != 0 || *all < kPlayers || *rank + 1 + *after != *all)
      return Status(Code::kCorrupt, std::to_string(*rank) + " before and " + std::to_string(*after) + " after of " + std::to_string(*all));
    for (const bool reverse : {false, true}) {
      Key found = kPlayers;
      Status status = txn.scan(by_score_, ColumnRange(), {.limit = 1, .reverse = reverse, .skip = reverse ? *after : *rank},
                               [&](Key at, const View<Player>&) { found = at; });
      if (!status.ok()) return status;
      if (found != key) return Status(Code::kCorrupt, "the row of rank " + std::to_string(*rank) + " is " + std::to_string(found));
    }
    return {};
  }

  Table<Player> players_;
  Index<Player> by_score_;
};
ELIDER_ON_EVERY(RankedIndexStressTest);

TEST_P(RankedIndexStressTest, CountsFitInEveryTransaction) {
  const TestRandom random;
  const unsigned writers = GetParam().threads() ? 3 : 1;
  std::vector<std::thread> threads;
  std::atomic<unsigned> running{writers};
  for (unsigned t = 0; t < writers; ++t)
    threads.emplace_back([&, mine = random.split(t)]() mutable {
      for (uint64_t i = 0; i < scaled(300); ++i) {
        EXPECT_OK(db_.run([&](Transaction& txn) { return change(txn, mine); }));
        if (i % 16 != 0) continue;
        EXPECT_OK(db_.run([&](Transaction& txn) { return look(txn, mine); }));
      }
      --running;
    });
  TestRandom mine = random.split(100);
  while (GetParam().threads() && running != 0) EXPECT_OK(db_.run_read_only([&](Transaction& txn) { return look(txn, mine); }));
  for (std::thread& thread : threads) thread.join();
  read(db_, [&](Transaction& txn) {
    uint64_t rows = 0;
    EXPECT_OK(txn.scan(by_score_, ColumnRange(), {}, [&](Key, const View<Player>&) { ++rows; }));
    EXPECT_EQ(*txn.count(by_score_, ColumnRange()), rows);
  });
  EXPECT_OK(db_.verify());
  db_.collect_garbage();
}

}  // namespace
}  // namespace elider::test
