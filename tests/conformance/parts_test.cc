// A part that Options::parts leaves out changes how long something takes or how much memory it
// needs, but not any result.
#include <gtest/gtest.h>

#include <map>

#include "elider/elider.h"
#include "elider/laboratory.h"
#include "tests/support/database_test.h"
#include "tests/support/random.h"

namespace elider::test {
namespace {

class PartsTest : public DatabaseTest {
 protected:
  void reopen_with(EngineParts parts) {
    Options options = options_of(GetParam());
    change_laboratory(options).parts = parts;
    auto database = Database::open(options);
    ASSERT_OK(database);
    db_ = std::move(database).value();
    accounts_ = create(account_schema(GetParam().key_index));
  }
  // Runs random transactions of a few steps, and compares the rows with a map.
  void expect_steps_to_hold(int transactions) {
    TestRandom random;
    std::map<Key, int64_t> expected;
    for (int t = 0; t < transactions; ++t) {
      std::map<Key, int64_t> now;
      const uint64_t first = random.below(1000);
      ASSERT_OK(db_.run([&](Transaction& txn) -> Status {
        now = expected;
        TestRandom steps(first);
        for (int step = 0; step < 8; ++step) {
          const Key key = 1 + steps.below(40);
          const auto balance = static_cast<int64_t>(steps.below(1000));
          const bool is_there = now.contains(key);
          auto view = txn.get(accounts_, key);
          if (is_there != view.ok()) return Status::invalid_argument("a row is there, or is not");
          if (is_there && (*view)->balance != now[key]) return Status::invalid_argument("a row is another");
          Status status;
          if (!is_there) {
            status = txn.insert(accounts_, key, Account{key, balance, 0, 0});
          } else if (steps.below(3) == 0) {
            status = txn.remove(accounts_, key);
          } else {
            status = txn.update(accounts_, key, {}, [&](Account& account) { account.balance = balance; });
          }
          if (!status.ok()) return status;
          if (is_there && txn.get(accounts_, key).status().not_found())
            now.erase(key);
          else
            now[key] = balance;
        }
        return {};
      }));
      expected = std::move(now);
    }
    for (const auto& [key, balance] : expected) EXPECT_EQ(row(accounts_, key).balance, balance);
  }

  Table<Account> accounts_;
};
ELIDER_ON_EVERY(PartsTest);

TEST_P(PartsTest, WithoutHintsEverythingIsFound) {
  reopen_with({.hints = false});
  expect_steps_to_hold(200);
}

TEST_P(PartsTest, UnderOneAllocatorEverythingIsFound) {
  reopen_with({.own_allocators = false});
  expect_steps_to_hold(200);
  for (int i = 0; i < 5; ++i) db_.collect_garbage();
  EXPECT_GT(db_.statistics().memory.rows, 0u);
  EXPECT_OK(db_.verify());
}

// The two keys are neighbours in a B+-tree, so the second lookup does not descend. Nothing is
// counted for a hash table.
TEST_P(PartsTest, LookupsAreCounted) {
  reopen_with({.counted_lookups = true});
  for (const Key key : {1, 2}) insert(accounts_, key, Account{key, 0, 0, 0});
  const Statistics::Lookups before = db_.statistics().lookups;
  ASSERT_OK(db_.run([&](Transaction& txn) -> Status {
    if (auto view = txn.get(accounts_, 1); !view.ok()) return view.status();
    return txn.get(accounts_, 2).status();
  }));
  const Statistics::Lookups after = db_.statistics().lookups;
  const bool tree = GetParam().key_index == KeyIndex::kOrdered;
  EXPECT_EQ(after.of_trees - before.of_trees, tree ? 2u : 0u);
  EXPECT_EQ(after.leaves_kept - before.leaves_kept, tree ? 1u : 0u);
}

// A row that is read often does not need a lookup in its index. The engine looks for such rows only
// from time to time, so the test needs several transactions.
TEST_P(PartsTest, RowsThatAreKeptAreCounted) {
  reopen_with({.counted_lookups = true});
  insert(accounts_, 1, Account{1, 7, 0, 0});
  Statistics::Lookups lookups;
  for (int t = 0; t < 400'000 && lookups.rows_kept == 0; ++t) {
    EXPECT_EQ(row(accounts_, 1).balance, 7);
    if (t % 256 == 0) lookups = db_.statistics().lookups;
  }
  EXPECT_GT(lookups.rows_kept, 0u);
  EXPECT_LE(lookups.rows_kept, lookups.of_rows);
  reopen_with({.hints = false, .counted_lookups = true});
  insert(accounts_, 1, Account{1, 7, 0, 0});
  for (int t = 0; t < 1000; ++t) EXPECT_EQ(row(accounts_, 1).balance, 7);
  EXPECT_EQ(db_.statistics().lookups.of_rows, 0u);
}

TEST_P(PartsTest, WithoutReclamationMemoryWaitsForTheEnd) {
  reopen_with({.reclamation = false});
  expect_steps_to_hold(200);
  for (int i = 0; i < 5; ++i) db_.collect_garbage();
  EXPECT_GT(db_.statistics().retired_objects, 0u);
}

}  // namespace
}  // namespace elider::test
