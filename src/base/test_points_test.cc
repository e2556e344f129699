#include "base/test_points.h"

#include <gtest/gtest.h>

#include <thread>

namespace elider {
namespace {

struct TestPointsTest : testing::Test {
  void SetUp() override {
    if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  }
  void TearDown() override {
    TestPoints::clear();
    set_mutant(Mutant::kNone);
  }
};

TEST_F(TestPointsTest, ActionRunsAtItsPointOnly) {
  int calls = 0;
  TestPoints::on("test.here", [&] { ++calls; });
  ELIDER_TEST_POINT("test.there");
  EXPECT_EQ(calls, 0);
  ELIDER_TEST_POINT("test.here");
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(TestPoints::reached("test.here"), 1u);
  TestPoints::off("test.here");
  ELIDER_TEST_POINT("test.here");
  EXPECT_EQ(calls, 1);
}

TEST_F(TestPointsTest, StopHoldsTheFirstThreadUntilGo) {
  std::atomic<int> passed{0};
  TestStop stop("test.stop");
  std::thread held([&] {
    ELIDER_TEST_POINT("test.stop");
    ++passed;
  });
  stop.wait_until_reached();
  EXPECT_EQ(passed.load(), 0);
  ELIDER_TEST_POINT("test.stop");  // the second one passes
  stop.go();
  held.join();
  EXPECT_EQ(passed.load(), 1);
}

TEST_F(TestPointsTest, StopPassesAsManyAsAskedFirst) {
  TestStop stop("test.stop", 2);
  ELIDER_TEST_POINT("test.stop");
  ELIDER_TEST_POINT("test.stop");
  EXPECT_FALSE(stop.reached());
  std::thread held([] { ELIDER_TEST_POINT("test.stop"); });
  stop.wait_until_reached();
  stop.go();
  held.join();
}

using TestPointsDeathTest = TestPointsTest;

TEST_F(TestPointsDeathTest, APointThatIsNeverReachedFailsLoudly) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(
      {
        TestStop stop("test.nowhere", 0, std::chrono::milliseconds(50));
        stop.wait_until_reached();
      },
      "no thread reached test point 'test.nowhere'");
}

TEST_F(TestPointsTest, MutantsAreNamedAndSwitched) {
  EXPECT_FALSE(ELIDER_MUTANT(kSkipReadValidation));
  Mutant mutant = Mutant::kNone;
  ASSERT_TRUE(parse("skip_read_validation", &mutant));
  set_mutant(mutant);
  EXPECT_TRUE(ELIDER_MUTANT(kSkipReadValidation));
  EXPECT_FALSE(ELIDER_MUTANT(kIgnoreLockBit));
  EXPECT_EQ(name_of(active_mutant()), "skip_read_validation");
  EXPECT_FALSE(parse("skip_read_validations", &mutant));
}

}  // namespace
}  // namespace elider
