// Composite keys: packing keeps the order of the fields, and refuses what does not fit.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "elider/elider.h"
#include "tests/support/rows.h"
#include "tests/support/random.h"
#include "tests/support/status_matchers.h"

namespace elider::test {
namespace {

using Layout = KeyLayout<16, 4, 28>;

TEST(KeyTest, PackedFieldsUnpackToThemselves) {
  TestRandom random;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t a = random.below(1u << 16), b = random.below(1u << 4), c = random.below(1u << 28);
    auto key = Layout::pack(a, b, c);
    ASSERT_OK(key);
    EXPECT_EQ(Layout::unpack(*key), (std::array<uint64_t, 3>{a, b, c}));
    EXPECT_EQ(Layout::pack_unchecked(a, b, c), *key);
  }
}

TEST(KeyTest, KeysSortAsTheirFieldsDo) {
  TestRandom random;
  for (int i = 0; i < 1000; ++i) {
    const std::array<uint64_t, 3> x{random.below(3), random.below(3), random.below(3)};
    const std::array<uint64_t, 3> y{random.below(3), random.below(3), random.below(3)};
    EXPECT_EQ(x < y, *Layout::pack(x[0], x[1], x[2]) < *Layout::pack(y[0], y[1], y[2]));
  }
}

TEST(KeyTest, AFieldThatDoesNotFitIsRefusedByPlaceValueAndWidth) {
  EXPECT_OK(Layout::pack(65535, 15, (1u << 28) - 1));
  const auto refused = Layout::pack(1, 16, 1);
  EXPECT_REFUSED(Code::kInvalidArgument, "field 1", refused);
  EXPECT_REFUSED(Code::kInvalidArgument, "16", refused);
  EXPECT_REFUSED(Code::kInvalidArgument, "4 bits", refused);
  EXPECT_REFUSED(Code::kInvalidArgument, "field 0", Layout::pack(65536, 0, 0));
  EXPECT_REFUSED(Code::kInvalidArgument, "field 2", Layout::pack(0, 0, 1u << 28));
  EXPECT_CODE(Code::kInvalidArgument, Layout::pack(-1, 0, 0));  // a negative number is a huge one
}

TEST(KeyTest, APrefixCoversExactlyItsKeys) {
  const KeyRange range = Layout::prefix(7, 3);
  EXPECT_EQ(range.first, *Layout::pack(7, 3, 0));
  EXPECT_EQ(range.last, *Layout::pack(7, 3, (1u << 28) - 1));
  EXPECT_EQ(range.last + 1, *Layout::pack(7, 4, 0));
  const KeyRange wide = Layout::prefix(7);
  EXPECT_EQ(wide.first, *Layout::pack(7, 0, 0));
  EXPECT_EQ(wide.last, *Layout::pack(7, 15, (1u << 28) - 1));
}

TEST(KeyTest, APrefixThatDoesNotFitHasNoKeys) {
  for (const KeyRange& range : {Layout::prefix(65536), Layout::prefix(7, 16), Layout::prefix(-1)}) EXPECT_GT(range.first, range.last);
  Database db = *Database::open();
  auto table = db.create_table(account_schema(KeyIndex::kOrdered));
  ASSERT_OK(table);
  EXPECT_OK(db.run([&](Transaction& txn) -> Status {
    if (Status status = txn.insert(*table, *Layout::pack(8, 0, 0), Account{}); !status.ok()) return status;
    return txn.scan(*table, Layout::prefix(7, 16), {}, [](Key, const View<Account>&) {
      ADD_FAILURE() << "a row";
      return true;
    });
  }));
}

TEST(KeyTest, AFieldMayBeTheWholeKey) {
  using Whole = KeyLayout<64>;
  EXPECT_EQ(*Whole::pack(kKeyMax), kKeyMax);
  EXPECT_EQ(Whole::unpack(kKeyMax)[0], kKeyMax);
  using Halves = KeyLayout<32, 32>;
  EXPECT_EQ(*Halves::pack(0xffffffffu, 0xffffffffu), kKeyMax);
  EXPECT_CODE(Code::kInvalidArgument, Halves::pack(uint64_t{1} << 32, 0));
}

}  // namespace
}  // namespace elider::test
