// Variable-size rows that grow, shrink, go and come back, so that they move into their row block
// and out of it. Two rows always have the same bytes, which are all equal. Every reader finds this.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "tests/support/database_test.h"
#include "tests/support/random.h"

namespace elider::test {
namespace {

class SmallRowsStressTest : public DatabaseTest {
 protected:
  static constexpr Key kPairs = 8;

  void SetUp() override {
    DatabaseTest::SetUp();
    Schema schema;
    schema.name = "values";
    schema.key_index = GetParam().key_index;
    schema.row_bytes = 2000;
    schema.sized_rows = true;
    auto table = db_.create_table(schema);
    ASSERT_OK(table);
    values_ = *table;
  }

  // Most sizes are near the limit of what a row block holds.
  static size_t draw_size(Random& random) { return random.below(8) == 0 ? random.below(2000) : random.below(300); }

  Status change(Transaction& txn, Random& random) {
    const Key pair = random.below(kPairs);
    const uint64_t kind = random.below(10);
    if (kind == 0) {
      for (const Key key : {2 * pair, 2 * pair + 1})
        if (Status status = txn.remove(values_, key); !status.ok() && !status.not_found()) return status;
      return {};
    }
    const auto fill = static_cast<std::byte>(random.below(256));
    if (kind < 4) {  // changes the bytes, but not the size
      for (const Key key : {2 * pair, 2 * pair + 1}) {
        RawView view;
        if (Status status = txn.get(values_, key, {}, &view); !status.ok()) return status.not_found() ? Status() : status;
        void* image;
        if (Status status = txn.edit(values_, view, {}, &image); !status.ok()) return status;
        std::fill_n(static_cast<std::byte*>(image), view.size(), fill);
        if (Status status = txn.edited(values_, image); !status.ok()) return status;
      }
      return {};
    }
    const std::vector<std::byte> bytes(draw_size(random), fill);
    for (const Key key : {2 * pair, 2 * pair + 1})
      if (Status status = txn.put(values_, key, bytes); !status.ok()) return status;
    return {};
  }

  // Reads a pair, and sets *damage if it is not one.
  Status look(Transaction& txn, Key pair, std::string* damage) {
    RawView first, second;
    const Status one = txn.get(values_, 2 * pair, {}, &first), two = txn.get(values_, 2 * pair + 1, {}, &second);
    for (const Status& status : {one, two})
      if (!status.ok() && !status.not_found()) return status;
    *damage = "";
    if (one.ok() != two.ok()) *damage = "one row without the other";
    else if (one.ok() && first.size() != second.size())
      *damage = "sizes " + std::to_string(first.size()) + ", " + std::to_string(second.size());
    for (size_t i = 0; one.ok() && damage->empty() && i < first.size(); ++i)
      if (first.bytes()[i] != first.bytes()[0] || second.bytes()[i] != first.bytes()[0]) *damage = "byte " + std::to_string(i);
    return {};
  }

  void run(uint64_t seed, uint64_t rounds) {
    Random random(seed);
    for (uint64_t round = 0; round < rounds; ++round) {
      EXPECT_OK(db_.run([&](Transaction& txn) { return change(txn, random); }));
      const Key pair = random.below(kPairs);
      std::string damage;
      const auto body = [&](Transaction& txn) { return look(txn, pair, &damage); };
      EXPECT_OK(round % 2 == 0 ? db_.run(body) : db_.run_read_only(body));
      EXPECT_EQ(damage, "") << "pair " << pair << ", seed " << seed << ", round " << round;
    }
  }

  TableRef values_;
};
ELIDER_ON_CONCURRENT(SmallRowsStressTest);

TEST_P(SmallRowsStressTest, EveryReaderFindsWholePairs) {
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 4; ++i) threads.emplace_back([&, i] { run(51 + i, scaled(2000)); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_OK(db_.verify());
}

}  // namespace
}  // namespace elider::test
