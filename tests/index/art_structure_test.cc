// The shape of the radix tree: growing and shrinking every kind of node, splitting and merging
// paths, what removal frees, and what happens without memory.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/index/art_test_support.h"

namespace elider::index::test {
namespace {

template <class C>
struct ArtStructureTest : RadixTest<C> {
  using typename RadixTest<C>::Held;
  using typename RadixTest<C>::Key;
  // Seven bytes that lead to one node, and the byte that the node distinguishes.
  static std::string under(unsigned byte, std::string path = "abcdefg") { return path + static_cast<char>(byte); }
  using Kinds = std::array<size_t, 4>;
  // The keys of 0 .. 255, in a fixed irregular order.
  static unsigned mixed(unsigned i) { return i * 167 % 256; }
};
TYPED_TEST_SUITE(ArtStructureTest, RadixCombinations);

TYPED_TEST(ArtStructureTest, EveryKindOfNodeGrowsAndShrinks) {
  using Kinds = typename TestFixture::Kinds;
  const auto kinds_of = [](unsigned count) -> Kinds {
    if (count < 2) return {};
    return {count <= 4, count > 4 && count <= 16, count > 16 && count <= 48, count > 48};
  };
  for (unsigned i = 0; i < 256; ++i) {
    ASSERT_TRUE(this->insert(this->under(this->mixed(i)), 1000 + i).inserted);
    ASSERT_EQ(this->tree.nodes_by_kind(), kinds_of(i + 1)) << i;
    for (unsigned j = 0; j < 256; ++j) ASSERT_EQ(this->get(this->under(this->mixed(j))), j <= i ? 1000 + j : kNoHandle);
    this->expect_sound();
  }
  // On the way down, a node is replaced by a smaller one that has some room.
  const auto shrunk_kinds_of = [](unsigned count) -> Kinds {
    if (count < 2) return {};
    return {count <= 3, count > 3 && count <= 12, count > 12 && count <= 36, count > 36};
  };
  for (unsigned i = 255; i > 0; --i) {
    ASSERT_TRUE(this->remove(this->under(this->mixed(i)), 1000 + i));
    ASSERT_EQ(this->tree.nodes_by_kind(), shrunk_kinds_of(i)) << i;
    for (unsigned j = 0; j < 256; ++j) ASSERT_EQ(this->get(this->under(this->mixed(j))), j < i ? 1000 + j : kNoHandle);
    this->expect_sound();
  }
}

TYPED_TEST(ArtStructureTest, APathSplitsWhereAKeyLeavesItAndMergesAgain) {
  using Kinds = typename TestFixture::Kinds;
  ASSERT_TRUE(this->insert("abcdefgh", 1).inserted);
  EXPECT_EQ(this->tree.nodes_by_kind(), Kinds{}) << "one key takes no node";
  ASSERT_TRUE(this->insert("abcdefgi", 2).inserted);
  EXPECT_EQ(this->tree.nodes_by_kind(), (Kinds{1, 0, 0, 0}));
  // Branches off the path of that node, closer and closer to the root.
  const std::vector<std::string> leaving{"abcdeXgh", "abcXefgh", "aXcdefgh"};
  for (size_t i = 0; i < leaving.size(); ++i) {
    const InsertResult result = this->insert(leaving[i], 3 + i);
    ASSERT_TRUE(result.inserted && result.split_off.version != nullptr);
    EXPECT_EQ(this->tree.nodes_by_kind(), (Kinds{2 + i, 0, 0, 0}));
    this->expect_sound();
  }
  ASSERT_TRUE(this->insert("Xbcdefgh", 9).inserted);
  EXPECT_EQ(this->tree.nodes_by_kind(), (Kinds{4, 0, 0, 0})) << "the root tells these apart";
  // Removes the middle one first, so that the nodes above and below it are joined.
  for (const size_t i : {1u, 0u, 2u}) {
    ASSERT_TRUE(this->remove(leaving[i], 3 + i));
    this->expect_sound();
    EXPECT_EQ(this->get("abcdefgh"), 1u);
    EXPECT_EQ(this->get("abcdefgi"), 2u);
    EXPECT_EQ(this->get(leaving[i]), kNoHandle);
  }
  EXPECT_EQ(this->tree.nodes_by_kind(), (Kinds{1, 0, 0, 0}));
  ASSERT_TRUE(this->remove("abcdefgi", 2));
  EXPECT_EQ(this->tree.nodes_by_kind(), Kinds{});
  EXPECT_EQ(this->get("abcdefgh"), 1u);
}

TYPED_TEST(ArtStructureTest, AKeyThatEndsAtANodeKeepsIt) {
  if constexpr (TestFixture::kBytes) {
    using Kinds = typename TestFixture::Kinds;
    ASSERT_TRUE(this->insert("ab", 1).inserted);
    ASSERT_TRUE(this->insert("abc", 2).inserted);
    EXPECT_EQ(this->tree.nodes_by_kind(), (Kinds{1, 0, 0, 0}));
    ASSERT_TRUE(this->insert("", 3).inserted);
    EXPECT_EQ(this->tree.nodes_by_kind(), (Kinds{1, 0, 0, 0})) << "it ends at the root";
    for (unsigned byte = 0; byte < 40; ++byte) ASSERT_TRUE(this->insert(this->under(byte, "ab"), 10 + byte).inserted);
    this->expect_sound();
    EXPECT_EQ(this->get("ab"), 1u);
    for (unsigned byte = 0; byte < 40; ++byte) ASSERT_TRUE(this->remove(this->under(byte, "ab"), 10 + byte));
    ASSERT_TRUE(this->remove("abc", 2));
    this->expect_sound();
    EXPECT_EQ(this->tree.nodes_by_kind(), Kinds{}) << "the key that ended there is alone";
    EXPECT_EQ(this->get("ab"), 1u);
    EXPECT_EQ(this->get("abc"), kNoHandle);
    EXPECT_EQ(this->get(""), 3u);
  }
}

// A node near the limit between two kinds is not replaced at every change.
TYPED_TEST(ArtStructureTest, ANodeThatFillsAndEmptiesALittleStays) {
  for (const unsigned border : {4u, 16u, 48u}) {
    const std::string path = "border" + std::string(1, static_cast<char>(border));
    for (unsigned i = 0; i < border; ++i) ASSERT_TRUE(this->insert(this->under(i, path), 1).inserted);
    ASSERT_TRUE(this->insert(this->under(border, path), 1).inserted);
    const auto kinds = this->tree.nodes_by_kind();
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(this->remove(this->under(border, path), 1));
      EXPECT_EQ(this->tree.nodes_by_kind(), kinds);
      ASSERT_TRUE(this->insert(this->under(border, path), 1).inserted);
      EXPECT_EQ(this->tree.nodes_by_kind(), kinds);
    }
  }
}

TYPED_TEST(ArtStructureTest, AQueueTakesBoundedMemory) {
  const uint64_t length = 500;
  for (uint64_t n = 0; n < length; ++n) ASSERT_TRUE(this->insert(text_of(n), handle_of(n)).inserted);
  const size_t memory_at_first = this->tree.memory_bytes();
  for (uint64_t n = length; n < length + scaled(60000); ++n) {
    ASSERT_TRUE(this->insert(text_of(n), handle_of(n)).inserted);
    ASSERT_TRUE(this->remove(text_of(n - length), handle_of(n - length)));
    if (n % 16 == 0) this->inside.pass();
    ASSERT_LE(this->tree.memory_bytes(), memory_at_first + 16384);
  }
  EXPECT_LE((*this->inside).workers().retired_objects(), 20000u);
  this->expect_sound();
}

TYPED_TEST(ArtStructureTest, RemovingAllGivesAllBack) {
  Random random(5);
  for (int round = 0; round < 3; ++round) {
    std::vector<uint64_t> keys;
    for (uint64_t n = 0; n < 3000; ++n) keys.push_back(round == 0 ? n : random.next());
    for (const uint64_t n : keys) ASSERT_TRUE(this->insert(text_of(n), 7).inserted);
    this->expect_sound();
    for (size_t i = keys.size() - 1; i > 0; --i) std::swap(keys[i], keys[random.below(i + 1)]);
    for (const uint64_t n : keys) ASSERT_TRUE(this->remove(text_of(n), 7));
    EXPECT_EQ(this->tree.size(), 0u);
    EXPECT_EQ(this->tree.memory_bytes(), sizeof(this->tree));
    this->expect_sound();
  }
  // The nodes are also returned to the arena.
  for (int i = 0; i < 20000; ++i) this->inside.pass();
  EXPECT_EQ(this->arena.memory.used_bytes(MemoryPart::kIndexes), 0u);
}

TYPED_TEST(ArtStructureTest, WithoutMemoryNothingIsChanged) {
  Arena small(uint64_t{4} << 20);
  Inside inside(small);
  const auto text = [](uint64_t n) { return text_of(n * 0x9e3779b97f4a7c15u); };
  using Held = typename TestFixture::Held;
  const auto insert = [&](uint64_t n) { return this->tree.get_or_insert(*inside, Held(text(n)).key(), handle_of(n)); };
  uint64_t inserted = 0;
  while (insert(inserted).inserted) ASSERT_LT(++inserted, 1'000'000u) << "the limit is never reached";
  EXPECT_GT(inserted, 5'000u);
  // Tries every kind of insertion.
  uint64_t refused = 0;
  for (uint64_t n = inserted; n < inserted + 2000; ++n) {
    const InsertResult result = insert(n);
    if (result.inserted) {
      ASSERT_TRUE(this->tree.remove(*inside, Held(text(n)).key(), handle_of(n)));
    } else {
      ASSERT_EQ(result.handle, kNoHandle);
      ++refused;
    }
  }
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(this->tree.size(), inserted);
  this->expect_sound();
  for (uint64_t n = 0; n <= inserted; ++n) ASSERT_EQ(this->get(text(n)), n < inserted ? handle_of(n) : kNoHandle);
  EXPECT_EQ(insert(5).handle, handle_of(5));
  // Removal does not need memory.
  for (uint64_t n = 0; n < inserted; ++n)
    ASSERT_TRUE(this->tree.remove(*inside, Held(text(n)).key(), handle_of(n)));
  this->expect_sound();
  for (int i = 0; i < 8; ++i) inside.pass();
  EXPECT_TRUE(insert(9).inserted);
}

TYPED_TEST(ArtStructureTest, ADumpNamesEveryEntry) {
  for (uint64_t n = 0; n < 40; ++n) ASSERT_TRUE(this->insert(text_of(n + 'A'), 100 + n).inserted);
  std::ostringstream out;
  this->tree.dump(out);
  EXPECT_NE(out.str().find(", 40 entries"), std::string::npos) << out.str();
  for (uint64_t n = 0; n < 40; ++n) EXPECT_NE(out.str().find("->" + std::to_string(100 + n)), std::string::npos) << out.str();
  EXPECT_NE(out.str().find("node 48 depth 7"), std::string::npos) << out.str();
}

}  // namespace
}  // namespace elider::index::test
