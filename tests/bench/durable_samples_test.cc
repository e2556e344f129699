// Which transactions are samples of durability. Reading the samples waits until all of them are
// durable.
#include "bench/common/durable_samples.h"

#include <gtest/gtest.h>

#include "elider/database.h"
#include "elider/schema.h"
#include "tests/support/temporary_folder.h"

namespace elider::bench {
namespace {

struct Row {
  int64_t value;
};

class DurableSamplesTest : public testing::Test {
 protected:
  void open(bool logged) {
    Options options;
    if (logged) options.data_folders = {(temporary_.path() / "data").string()};
    options.durability = Durability::kAsync;
    db_ = Database::open(options).value();
    table_ = db_.create_table(SchemaOf<Row>("rows").column("value", &Row::value)).value();
  }
  // Returns how many of the transactions were samples.
  int commit(DurableSamples& samples, int count) {
    int chosen = 0;
    for (int i = 0; i < count; ++i) {
      RunPolicy policy;
      policy.commit_number = samples.begin();
      EXPECT_TRUE(db_.run([&](Transaction& txn) { return txn.put(table_, Key(i), Row{i}); }, policy).ok());
      if (policy.commit_number == nullptr) continue;
      samples.committed();
      ++chosen;
    }
    return chosen;
  }

  const test::TemporaryFolder temporary_{"elider_durable_samples"};
  Database db_;
  Table<Row> table_;
};

TEST_F(DurableSamplesTest, EveryThirdIsOneAndHasBeenToldWhenItIsRead) {
  open(true);
  DurableSamples samples(db_, 3);
  samples.begin_measuring();
  EXPECT_EQ(commit(samples, 30), 10);
  EXPECT_EQ(samples.latency_ns().count(), 10u);
  EXPECT_GT(samples.latency_ns().quantile(0), 0);
}

TEST_F(DurableSamplesTest, BeforeTheMeasuringThereAreNone) {
  open(true);
  DurableSamples samples(db_, 1);
  EXPECT_EQ(commit(samples, 5), 0);
  samples.begin_measuring();
  EXPECT_EQ(commit(samples, 5), 5);
  EXPECT_EQ(samples.latency_ns().count(), 5u);
}

TEST_F(DurableSamplesTest, OneThatDidNotCommitIsLeftOut) {
  open(true);
  DurableSamples samples(db_, 1);
  samples.begin_measuring();
  EXPECT_NE(samples.begin(), nullptr);  // rolled back, so its commit is not reported
  EXPECT_EQ(commit(samples, 2), 2);
  EXPECT_EQ(samples.latency_ns().count(), 2u);
}

TEST_F(DurableSamplesTest, NoneAreAskedForAndNoneWithoutALog) {
  open(false);
  DurableSamples none(db_, 0), unlogged(db_, 1);
  none.begin_measuring();
  unlogged.begin_measuring();
  EXPECT_EQ(commit(none, 5), 0);
  EXPECT_EQ(commit(unlogged, 5), 5);
  EXPECT_EQ(unlogged.latency_ns().count(), 0u);
}

TEST_F(DurableSamplesTest, GoesWhileCommitsAreOnTheirWay) {
  open(true);
  for (int i = 0; i < 50; ++i) {
    DurableSamples samples(db_, 1);
    samples.begin_measuring();
    EXPECT_EQ(commit(samples, 3), 3);
  }
}

}  // namespace
}  // namespace elider::bench
