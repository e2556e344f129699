// Meaningless options of `elider-lab` are refused by an error that names them, before
// anything runs.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/commands.h"

namespace elider::bench {
namespace {

// The parser's message for `elider-lab <arguments>`; empty if it ran them.
std::string refusal(const std::vector<std::string>& arguments) {
  Program program("elider-lab", "test");
  add_htm(program.root());
  return program.refusal(arguments);
}

TEST(LabOptions, htm_names_the_option_that_it_refuses) {
  EXPECT_THAT(refusal({"htm", "--data", "/tmp", "--resume"}), testing::HasSubstr("--resume"));
  EXPECT_THAT(refusal({"htm", "--data", "/proc"}), testing::HasSubstr("--data: '/proc' is not empty"));
  EXPECT_THAT(refusal({"htm", "--durability", "group"}), testing::HasSubstr("--data"));
}

}  // namespace
}  // namespace elider::bench
