// A leaderboard: an example of a ranked index. Threads play games, which change the scores of
// players. Meanwhile, the program shows the best players, the rank of one player, a page in the
// middle of the list, and percentiles. None of these reads the players before those that it shows.
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "elider/elider.h"

using elider::ColumnRange;
using elider::Key;
using elider::Status;
using elider::Transaction;
using elider::View;

struct Player {
  int64_t score;
  uint64_t games;
};

namespace {

constexpr Key kPlayers = 20'000;
constexpr unsigned kThreads = 2;
constexpr uint64_t kGames = 20'000;  // per thread

// A simple source of numbers that look random.
uint64_t scrambled(uint64_t number) {
  number = (number ^ (number >> 31)) * 0x9e3779b97f4a7c15;
  return number ^ (number >> 29);
}

Status show(Transaction& txn, const elider::Index<Player>& by_score) {
  ELIDER_ASSIGN(const uint64_t players, txn.count(by_score, ColumnRange()));
  ELIDER_ASSIGN(const uint64_t rank, txn.rank(by_score, Key{42}));
  std::printf("%llu players; player 42 has rank %llu\n", static_cast<unsigned long long>(players), static_cast<unsigned long long>(rank));
  const auto print = [](Key key, const View<Player>& player) {
    std::printf("  player %llu: %lld points\n", static_cast<unsigned long long>(key), static_cast<long long>(player->score));
  };
  std::printf("the best:\n");
  ELIDER_TRY(txn.scan(by_score, ColumnRange(), {.limit = 3}, print));
  std::printf("from place 10,000:\n");
  ELIDER_TRY(txn.scan(by_score, ColumnRange(), {.limit = 3, .skip = 10'000}, print));
  std::printf("the median, and the best of the last tenth:\n");
  ELIDER_TRY(txn.scan(by_score, ColumnRange(), {.limit = 1, .skip = players / 2}, print));
  return txn.scan(by_score, ColumnRange(), {.limit = 1, .reverse = true, .skip = players / 10}, print);
}

Status run() {
  ELIDER_ASSIGN(elider::Database db, elider::Database::open({}));
  ELIDER_ASSIGN(const auto players, db.create_table(elider::SchemaOf<Player>("players")
                                                        .column("score", &Player::score)
                                                        .column("games", &Player::games)
                                                        .ranked_index("by_score", {elider::descending("score")})));
  ELIDER_ASSIGN(const auto by_score, db.index(players, "by_score"));
  for (Key begin = 0; begin < kPlayers; begin += 1000)
    ELIDER_TRY(db.run([&](Transaction& txn) -> Status {
      for (Key key = begin; key < begin + 1000; ++key)
        ELIDER_TRY(txn.insert(players, key, Player{static_cast<int64_t>(scrambled(key) % 1000), 0}));
      return {};
    }));

  std::vector<Status> ends(kThreads);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (uint64_t game = 0; game < kGames && ends[t].ok(); ++game) {
        const uint64_t number = scrambled(game * kThreads + t);
        const Key winner = number % kPlayers, loser = (number >> 32) % kPlayers;
        ends[t] = db.run([&](Transaction& txn) -> Status {
          ELIDER_TRY(txn.update(players, winner, {}, [](Player& player) { player = {player.score + 3, player.games + 1}; }));
          return txn.update(players, loser, {}, [](Player& player) { player = {player.score - 3, player.games + 1}; });
        });
      }
    });
  Status shown = db.run_read_only([&](Transaction& txn) { return show(txn, by_score); });
  for (std::thread& thread : threads) thread.join();
  for (const Status& end : ends) ELIDER_TRY(end);
  ELIDER_TRY(shown);
  ELIDER_TRY(db.run_read_only([&](Transaction& txn) { return show(txn, by_score); }));
  return db.verify();  // compares the counts with the rows
}

}  // namespace

int main() {
  const Status status = run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "leaderboard: %s\n", std::string(status.message()).c_str());
  return 1;
}
