#include "base/instruction_sets.h"

#include <gtest/gtest.h>

namespace elider {
namespace {

TEST(InstructionSets, WhatTheBuildUsesIsThereAndWhatIsNotIsNamed) {
  EXPECT_EQ(missing_instruction_sets(), "") << "this program runs";
  require_for_test("ABACUS");
  EXPECT_EQ(missing_instruction_sets(), "ABACUS");
  require_for_test(nullptr);
  EXPECT_EQ(missing_instruction_sets(), "");
}

}  // namespace
}  // namespace elider
