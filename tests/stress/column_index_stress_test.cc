// Indexes by columns while threads move rows to and fro, remove them and insert them again. Each
// row is in each index once, and a transfer keeps the sum, in every transaction that sees them.
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

class ColumnIndexStressTest : public DatabaseTest {
 protected:
  static constexpr Key kPurses = 40;
  static constexpr int64_t kSum = 100 * static_cast<int64_t>(kPurses);

  void SetUp() override {
    DatabaseTest::SetUp();
    auto table = db_.create_table(RowSchema("purses")
                                      .column("owner", RowType::kText)
                                      .column("region", RowType::kInt16, {.nullable = true})
                                      .column("amount", RowType::kInt64)
                                      .unique_index("by_owner", {"owner"})
                                      .index("by_region", {"region", descending("amount")})
                                      .key_index(GetParam().key_index));
    ASSERT_OK(table);
    purses_ = *table;
    by_owner_ = *db_.index(purses_, "by_owner");
    by_region_ = *db_.index(purses_, "by_region");
    RowBuilder row(purses_);
    transact(db_, [&](Transaction& txn) {
      for (Key key = 0; key < kPurses; ++key)
        ASSERT_OK(txn.insert(purses_, key, row.begin().set("owner", owner(key)).set("amount", 100)));
    });
  }
  static std::string owner(Key key) { return std::string(key * 8, 'o') + std::to_string(key); }

  // Returns why the index is wrong, or ok.
  Status look(Transaction& txn, const DescribedIndex<Key>& index) const {
    std::vector<bool> seen(kPurses);
    int64_t sum = 0;
    size_t rows = 0;
    Status wrong;
    Status status = txn.scan(index, prefix(), {}, [&](Key key, const RowReader& row) -> Status {
      if (key >= kPurses || seen[key]) return Status(Code::kCorrupt, "a row came twice");
      seen[key] = true;
      ++rows;
      sum += *row.get<int64_t>("amount");
      return {};
    });
    if (status.ok() && (rows != kPurses || sum != kSum))
      return Status(Code::kCorrupt, std::to_string(rows) + " rows, sum " + std::to_string(sum));
    return status;
  }
  // Moves an amount between two purses. One of them gets another region, or is removed and inserted
  // again; both may swap owners.
  Status transfer(Transaction& txn, RowBuilder& row, TestRandom& random) const {
    const Key from = random.below(kPurses), to = random.below(kPurses);
    if (from == to) return {};
    const auto amount = static_cast<int64_t>(random.below(20));
    if (Status status = txn.update(purses_, from, row, [&](RowBuilder& change, const RowReader& old) {
          change.set("amount", *old.get<int64_t>("amount") - amount);
          if (random.percent(50)) change.set("region", static_cast<int16_t>(random.below(6)) - 3);
          else if (random.percent(30)) change.set_null("region");
        });
        !status.ok())
      return status;
    const auto old = txn.get(purses_, to);
    if (!old.ok()) return old.status();
    const std::string name = *old->get<std::string>("owner");
    const int64_t had = *old->get<int64_t>("amount");
    if (random.percent(30)) {
      if (Status status = txn.remove(purses_, to); !status.ok()) return status;
      return txn.insert(purses_, to, row.begin().set("owner", name).set("amount", had + amount));
    }
    return txn.update(purses_, to, row, [&](RowBuilder& change) { change.set("amount", had + amount); });
  }

  DescribedTable<> purses_;
  DescribedIndex<Key> by_owner_, by_region_;
};
ELIDER_ON_EVERY(ColumnIndexStressTest);

TEST_P(ColumnIndexStressTest, EveryRowIsInEveryIndexOnce) {
  const TestRandom random;
  const unsigned writers = GetParam().threads() ? 3 : 1;
  std::vector<std::thread> threads;
  std::atomic<unsigned> running{writers};
  for (unsigned t = 0; t < writers; ++t)
    threads.emplace_back([&, mine = random.split(t)]() mutable {
      RowBuilder row(purses_);
      for (uint64_t i = 0; i < scaled(400); ++i) {
        EXPECT_OK(db_.run([&](Transaction& txn) { return transfer(txn, row, mine); }));
        if (i % 16 != 0) continue;
        EXPECT_OK(db_.run([&](Transaction& txn) { return look(txn, by_region_); }));
      }
      --running;
    });
  for (unsigned i = 0; GetParam().threads() && running != 0; ++i) {
    const DescribedIndex<Key>& index = i % 2 == 0 ? by_region_ : by_owner_;
    EXPECT_OK(db_.run_read_only([&](Transaction& txn) { return look(txn, index); }));
  }
  for (std::thread& thread : threads) thread.join();
  read(db_, [&](Transaction& txn) {
    EXPECT_OK(look(txn, by_region_));
    EXPECT_OK(look(txn, by_owner_));
  });
  db_.collect_garbage();
}

// Indexes that are created and dropped while threads write are complete as soon as they can be
// used.
TEST_P(ColumnIndexStressTest, IndexesComeAndGo) {
  const TestRandom random;
  const unsigned writers = GetParam().threads() ? 2 : 0;
  std::vector<std::thread> threads;
  std::atomic<bool> stop{false};
  for (unsigned t = 0; t < writers; ++t)
    threads.emplace_back([&, mine = random.split(t)]() mutable {
      RowBuilder row(purses_);
      while (!stop) EXPECT_OK(db_.run([&](Transaction& txn) { return transfer(txn, row, mine); }));
    });
  for (uint64_t round = 0; round < scaled(20); ++round) {
    const std::string name = "new" + std::to_string(round % 5);
    const std::vector<IndexColumn> columns{descending("amount"), "region"};
    const SecondaryIndex definition = round % 3 == 0   ? SecondaryIndex::of_columns(name, {"owner", "amount"}, true)
                                      : round % 3 == 1 ? SecondaryIndex::ranked_of_columns(name, columns)
                                                       : SecondaryIndex::of_columns(name, columns);
    ASSERT_OK(db_.create_index("purses", definition));
    const auto index = db_.index(purses_, name);
    ASSERT_OK(index);
    EXPECT_OK(db_.run_read_only([&](Transaction& txn) { return look(txn, *index); }));
    EXPECT_OK(db_.run_read_only([&](Transaction& txn) {
      const auto rows = txn.count(*index, ColumnRange());
      return !rows.ok() ? rows.status() : *rows == kPurses ? Status() : Status(Code::kCorrupt, std::to_string(*rows) + " rows are counted");
    }));
    // The writers never pause, so a transaction that reads all rows may have to give up.
    const Status looked = db_.run([&](Transaction& txn) { return look(txn, *index); }, {.attempts_max = 20});
    EXPECT_TRUE(looked.ok() || looked.code() == Code::kDeadline) << looked.message();
    ASSERT_OK(db_.drop_index("purses", name));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  db_.collect_garbage();
}

}  // namespace
}  // namespace elider::test
