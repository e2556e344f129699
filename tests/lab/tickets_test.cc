// The benchmark "tickets": each number is taken once and every addition is there, as one
// transaction and in pieces.
#include <gtest/gtest.h>

#include "lab/tickets/tickets.h"
#include "tests/support/status_matchers.h"

namespace elider::bench::tickets {
namespace {

class TicketsTest : public testing::TestWithParam<Protocol> {};
INSTANTIATE_TEST_SUITE_P(On, TicketsTest,
                         testing::Values(Protocol::kOcc, Protocol::kTimestamp, Protocol::kTwoPhaseLocking, Protocol::kChopped),
                         [](const auto& info) { return "P" + std::to_string(static_cast<int>(info.param)); });

TEST_P(TicketsTest, EachNumberIsTakenOnce) {
  TicketsOptions options;
  options.common.protocol = GetParam();
  options.common.threads = 3;
  options.common.seconds = 0.2;
  options.common.transactions_min = 1;
  options.common.quiet = true;
  options.common.huge_pages = false;
  options.tail = 20;
  options.totals = 50;
  auto outcome = run_tickets(options);
  ASSERT_OK(outcome);
  EXPECT_TRUE(outcome->ok) << to_json(options.common, outcome->report).dump(2);
  EXPECT_GT(outcome->report.result.committed, 0u);
}

}  // namespace
}  // namespace elider::bench::tickets
