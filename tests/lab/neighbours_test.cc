// elider-lab neighbours: its figures, and that a secondary index holds transactions up no
// more than the key index does.
#include "lab/neighbours/neighbours.h"

#include <gtest/gtest.h>

namespace elider::bench {
namespace {

TEST(NeighboursTest, ThereIsAFigureForEachIndexAndNumberOfThreads) {
  NeighboursOptions options;
  options.threads = {1, 4};
  options.seconds = 0.2;
  auto figures = run_neighbours(options);
  ASSERT_TRUE(figures.ok()) << figures.status().message();
  ASSERT_EQ(figures->size(), 6u);
  EXPECT_EQ(name_of((*figures)[0].meeting), "key");
  EXPECT_EQ(name_of((*figures)[4].meeting), "unique");
  EXPECT_EQ(name_of((*figures)[5].meeting), "scanned");
  for (const NeighboursFigure& figure : *figures) {
    EXPECT_GT(figure.commits, 0u);
    // A count, not a time, so that a busy machine does not matter: four threads used to have a
    // hundred conflicts a commit.
    EXPECT_LE(figure.conflicts, figure.commits) << name_of(figure.meeting) << ", threads " << figure.threads;
  }
}

}  // namespace
}  // namespace elider::bench
