// Tests of the registry: the compiled combinations equal the registrations of engines, and the
// error for an engine that was not compiled names the option that adds it.
#include "engine/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "htm/rtm.h"

namespace elider::detail {
namespace {

TEST(RegistryTest, EachCompiledCombinationIsRegisteredUnderItsNames) {
  ASSERT_FALSE(registry().empty());
  std::set<std::tuple<SyncPolicy, HtmBackend, Protocol>> seen;
  for (const Combination& one : registry()) {
    EXPECT_TRUE(seen.insert({one.sync, one.htm, one.protocol}).second) << "compiled twice";
    EXPECT_EQ(1, std::count_if(known_combinations().begin(), known_combinations().end(), [&](const KnownCombination& known) {
                return known.sync == name_of(one.sync) && known.htm == name_of(one.htm) && known.protocol == name_of(one.protocol);
              }))
        << name_of(one.sync) << ", " << name_of(one.htm) << ", " << name_of(one.protocol);
  }
}

TEST(RegistryTest, TheSetAllHasEachCombinationThatIsRegistered) {
  EXPECT_LE(registry().size(), known_combinations().size());
  if (chosen_engines() == "all") {
    EXPECT_EQ(registry().size(), known_combinations().size());
  }
}

TEST(RegistryTest, TheDefaultIsTheFirstCombinationWhereItWasCompiled) {
  const auto is_default = [](const Combination& one) { return one.sync == SyncPolicy::kOptimistic && one.protocol == Protocol::kOcc; };
  const auto found = std::find_if(registry().begin(), registry().end(), is_default);
  EXPECT_TRUE(found == registry().end() || found == registry().begin());
}

TEST(RegistryTest, ARefusalNamesTheSetThatHasTheEngine) {
  const auto expect_set = [](const Status& status, const std::string& set) {
    EXPECT_EQ(status.code(), Code::kUnsupported);
    EXPECT_NE(status.message().find("; ELIDER_ENGINES=" + set + " includes that engine"), std::string::npos) << status.message();
  };
  expect_set(refuse_combination(SyncPolicy::kOptimistic, HtmBackend::kNone, Protocol::kTimestamp), "full");
  expect_set(refuse_combination(SyncPolicy::kOptimistic, HtmBackend::kNone, Protocol::kTwoPhaseLocking), "all");
  expect_set(refuse_combination(SyncPolicy::kElided, HtmBackend::kNone, Protocol::kOcc), "all");
#if ELIDER_HAVE_RTM
  expect_set(refuse_combination(SyncPolicy::kElided, HtmBackend::kRtm, Protocol::kOcc), "full");
#endif
}

TEST(RegistryTest, ACombinationThatNoEngineHasIsAnInvalidArgument) {
  const Status status = refuse_combination(SyncPolicy::kLatched, HtmBackend::kNone, Protocol::kTwoPhaseLocking);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("'latched', protocol 'two-phase-locking'"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace elider::detail
