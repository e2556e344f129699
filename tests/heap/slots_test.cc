// What a slot's state says of the numbers that are in the log.
#include "heap/slots.h"

#include <gtest/gtest.h>

namespace elider::heap {
namespace {

TEST(HeapSlots, ANumberIsNotSettledWhileItsStateMaySayLess) {
  Slots slots(2);
  const uint32_t slot = slots.claim();
  EXPECT_EQ(slots.take_number(), 1u);
  slots.say(slot, Phase::kWritten, 0);  // as a region does that saw no number before it looked for readers
  EXPECT_EQ(slots.settled(), 0u);
  slots.say(slot, Phase::kWritten, 1);
  EXPECT_EQ(slots.settled(), 0u);
  slots.say(slot, Phase::kDeciding, 0);
  EXPECT_EQ(slots.settled(), 0u);
  slots.say(slot, Phase::kIdle, 0);
  EXPECT_EQ(slots.settled(), 1u);
}

}  // namespace
}  // namespace elider::heap
