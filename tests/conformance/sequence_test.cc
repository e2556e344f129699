// Sequences (elider/sequence.h): numbers that are given once, by any thread, within transactions
// and outside, under every protocol.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/test_points.h"
#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class SequenceTest : public DatabaseTest {
 protected:
  Sequence sequence(std::string_view name, uint32_t chunk = Sequence::kChunk) {
    auto made = db_.sequence(name, chunk);
    EXPECT_OK(made);
    return made.ok() ? *made : Sequence();
  }
  static uint64_t next(Sequence& sequence) {
    auto number = sequence.next();
    EXPECT_OK(number);
    return number.ok() ? *number : 0;
  }
};
ELIDER_ON_EVERY(SequenceTest);

TEST_P(SequenceTest, NumbersRiseFromOneWithinAThread) {
  Sequence ids = sequence("ids");
  for (uint64_t i = 1; i <= 100; ++i) EXPECT_EQ(next(ids), i);
}

TEST_P(SequenceTest, ChunksFollowEachOther) {
  Sequence ids = sequence("ids", 3);
  for (uint64_t i = 1; i <= 10; ++i) EXPECT_EQ(next(ids), i);
}

TEST_P(SequenceTest, TheSameNameIsTheSameSequenceAndAnotherIsAnother) {
  Sequence one = sequence("orders", 2), again = sequence("orders", 5), other = sequence("order");
  EXPECT_EQ(next(one), 1u);
  EXPECT_EQ(next(again), 2u);
  EXPECT_EQ(next(one), 3u);
  EXPECT_EQ(next(other), 1u);
}

TEST_P(SequenceTest, WrongNamesAndChunksAreRefused) {
  const auto refuse = [&](std::string_view word, std::string_view name, uint32_t chunk) {
    EXPECT_REFUSED(Code::kInvalidArgument, std::string(word), db_.sequence(name, chunk).status());
  };
  refuse("1 to 64 bytes", "", 1);
  refuse("1 to 64 bytes", std::string(65, 'x'), 1);
  refuse("none of them zero", std::string_view("a\0b", 3), 1);
  refuse("SequenceOptions::chunk is 0", "ids", 0);
  refuse("SequenceOptions::chunk is 16777217", "ids", Sequence::kChunkMax + 1);
  Sequence longest = sequence(std::string(64, 'x'), 1);
  EXPECT_EQ(next(longest), 1u);
  Sequence none;
  EXPECT_REFUSED(Code::kInvalidArgument, "Database::sequence", none.next().status());
}

TEST_P(SequenceTest, ATransactionThatRollsBackKeepsItsNumbersFromOthers) {
  Sequence ids = sequence("ids", 2);
  const Table<Account> accounts = create(account_schema(GetParam().key_index));
  EXPECT_CODE(Code::kRolledBack, db_.run([&](Transaction& txn) -> Status {
    for (int i = 0; i < 5; ++i) {
      const uint64_t id = next(ids);
      if (Status status = txn.insert(accounts, id, Account{id, 0, 0, 0}); !status.ok()) return status;
    }
    return Status::rollback();
  }));
  EXPECT_EQ(next(ids), 6u);
  EXPECT_FALSE(has(accounts, 1));
}

TEST_P(SequenceTest, ItsTableIsLikeAnyOther) {
  Sequence ids = sequence("ids", 10);
  next(ids);
  auto table = db_.table("elider_sequences");
  ASSERT_OK(table);
  EXPECT_EQ(table->schema().columns.size(), 2u);
  EXPECT_OK(db_.verify());
}

TEST_P(SequenceTest, AStartCountsWhereTheSequenceIsMade) {
  auto ids = db_.sequence("ids", {.start = 501, .chunk = 2});
  ASSERT_OK(ids);
  EXPECT_EQ(next(*ids), 501u);
  auto again = db_.sequence("ids", {.start = 9000});
  ASSERT_OK(again);
  EXPECT_EQ(next(*again), 502u) << "it goes on where it is";
  auto last = db_.sequence("last", {.start = Sequence::kNumberMax});
  ASSERT_OK(last);
  EXPECT_EQ(next(*last), Sequence::kNumberMax);
  EXPECT_REFUSED(Code::kInvalidArgument, "all its numbers are used", last->next().status());
  EXPECT_REFUSED(Code::kInvalidArgument, "SequenceOptions::start is 0", db_.sequence("none", {.start = 0}).status());
  EXPECT_REFUSED(Code::kInvalidArgument, "SequenceOptions::start is", db_.sequence("none", {.start = Sequence::kNumberMax + 1}).status());
}

TEST_P(SequenceTest, AtLeastRaisesItAndNeverLowersIt) {
  Sequence ids = sequence("ids", 10);
  EXPECT_EQ(next(ids), 1u);
  EXPECT_OK(ids.at_least(7));
  EXPECT_EQ(next(ids), 7u) << "within the chunk";
  EXPECT_OK(ids.at_least(1000));
  EXPECT_EQ(next(ids), 1000u) << "beyond it";
  EXPECT_OK(ids.at_least(5));
  EXPECT_OK(ids.at_least(1001));
  EXPECT_EQ(next(ids), 1001u);
  EXPECT_REFUSED(Code::kInvalidArgument, "at_least(9223372036854775808)", ids.at_least(Sequence::kNumberMax + 1));
  EXPECT_EQ(next(ids), 1002u);
  EXPECT_OK(ids.at_least(Sequence::kNumberMax));
  EXPECT_EQ(next(ids), Sequence::kNumberMax);
  EXPECT_REFUSED(Code::kInvalidArgument, "all its numbers are used", ids.next().status());
  Sequence none;
  EXPECT_REFUSED(Code::kInvalidArgument, "Database::sequence", none.at_least(1));
}

// It reaches the chunks of all threads.
TEST_P(SequenceTest, AtLeastIsOfAllThreads) {
  if (!GetParam().threads()) return;
  Sequence ids = sequence("ids", 100);
  for (uint64_t round = 1; round <= 3; ++round) {
    const uint64_t least = 10'000 * round;
    EXPECT_OK(ids.at_least(least));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 3; ++i) EXPECT_GE(next(ids), least);
      });
    for (std::thread& thread : threads) thread.join();
  }
}

// A thread has fetched a chunk, and not put it into its zone yet.
TEST_P(SequenceTest, AChunkThatIsOnItsWayIsRaisedToo) {
  if (!TestPoints::enabled() || !GetParam().threads()) GTEST_SKIP();
  Sequence ids = sequence("ids", 100);
  TestStop fetched("sequences.fetched");
  uint64_t during = 0, after = 0;
  std::thread other([&] {
    during = next(ids);
    after = next(ids);
  });
  fetched.wait_until_reached();
  EXPECT_OK(ids.at_least(1000));
  fetched.go();
  other.join();
  EXPECT_EQ(during, 1u) << "that call had begun";
  EXPECT_GE(after, 1000u);
}

TEST_P(SequenceTest, NamesOfTheDatabasesOwnTablesAreReserved) {
  const auto named = [&](const char* name) { return account_schema(GetParam().key_index, name); };
  for (const char* const name : {"elider_mine", "elider_", "elider_sequences"}) {
    EXPECT_REFUSED(Code::kInvalidArgument, std::string("'") + name + "'", db_.create_table(named(name)));
    Options options = options_of(GetParam());
    options.schemas = {named(name)};
    EXPECT_REFUSED(Code::kInvalidArgument, "are reserved", Database::open(options));
  }
  EXPECT_OK(db_.create_table(named("elider")));
  Sequence ids = sequence("ids");
  EXPECT_EQ(next(ids), 1u);
  // A program that copies all tables one by one copies this one as well.
  const auto own = db_.table("elider_sequences");
  ASSERT_OK(own);
  Database copy = open_database(GetParam());
  EXPECT_OK(copy.create_table(own->schema()));
  EXPECT_OK(copy.sequence("ids"));
}

TEST_P(SequenceTest, NoNumberIsGivenTwice) {
  if (!GetParam().threads()) return;
  constexpr int kThreads = 4, kEach = 3000;
  const Table<Account> accounts = create(account_schema(GetParam().key_index));
  std::vector<std::vector<uint64_t>> numbers(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      Sequence ids = sequence("ids", 7);
      for (int i = 0; i < kEach; ++i) {
        if (i % 10 != 0) {
          numbers[t].push_back(next(ids));
          continue;
        }
        uint64_t given = 0;
        EXPECT_OK(db_.run([&](Transaction& txn) -> Status {
          given = next(ids);
          return txn.insert(accounts, given, Account{given, t, 0, 0});
        }));
        numbers[t].push_back(given);
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::set<uint64_t> all;
  for (const std::vector<uint64_t>& of_thread : numbers) {
    all.insert(of_thread.begin(), of_thread.end());
  }
  EXPECT_EQ(all.size(), static_cast<size_t>(kThreads) * kEach);
  EXPECT_FALSE(all.contains(0));
}

}  // namespace
}  // namespace elider::test
