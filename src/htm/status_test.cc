// Tests of the status word: single bits, combinations of bits, and codes.
#include "htm/status.h"

#include <gtest/gtest.h>

#include <set>

namespace elider::htm {
namespace {

TEST(HtmStatusTest, EachBitAloneIsItsCause) {
  EXPECT_EQ(decode(0), Cause::kSystem);
  EXPECT_EQ(decode(kExplicit), Cause::kExplicit);
  EXPECT_EQ(decode(kRetry), Cause::kRetry);
  EXPECT_EQ(decode(kConflict), Cause::kConflict);
  EXPECT_EQ(decode(kCapacity), Cause::kCapacity);
  EXPECT_EQ(decode(kDebug), Cause::kDebug);
  EXPECT_EQ(decode(kNested), Cause::kNested);
}

TEST(HtmStatusTest, TheBitsAreThoseOfTheProcessor) {
  EXPECT_EQ(kExplicit, 0x01u);
  EXPECT_EQ(kRetry, 0x02u);
  EXPECT_EQ(kConflict, 0x04u);
  EXPECT_EQ(kCapacity, 0x08u);
  EXPECT_EQ(kDebug, 0x10u);
  EXPECT_EQ(kNested, 0x20u);
  EXPECT_EQ(explicit_abort(0xAB), 0xAB000001u);
  EXPECT_EQ(code_of(0xAB000001u), 0xABu);
}

TEST(HtmStatusTest, ALockHeldAbortIsAnExplicitOneWithItsCode) {
  EXPECT_EQ(decode(explicit_abort(kLockHeldCode)), Cause::kLockHeld);
  EXPECT_EQ(decode(explicit_abort(kLockHeldCode) | kRetry | kNested), Cause::kLockHeld);
  EXPECT_EQ(decode(explicit_abort(7)), Cause::kExplicit);
  // A code without the explicit bit does not have a meaning.
  EXPECT_EQ(decode(static_cast<unsigned>(kLockHeldCode) << kCodeShift), Cause::kSystem);
}

TEST(HtmStatusTest, CapacityAndConflictOutweighTheHints) {
  EXPECT_EQ(decode(kConflict | kRetry), Cause::kConflict);
  EXPECT_EQ(decode(kCapacity | kRetry), Cause::kCapacity);
  EXPECT_EQ(decode(kCapacity | kConflict), Cause::kCapacity);
  EXPECT_EQ(decode(kConflict | kNested), Cause::kConflict);
}

TEST(HtmStatusTest, EveryCauseHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < kCauses; ++i) names.insert(name_of(static_cast<Cause>(i)));
  EXPECT_EQ(names.size(), kCauses);
  EXPECT_EQ(names.count(""), 0u);
}

}  // namespace
}  // namespace elider::htm
