// The shape of the B+-tree: how full ascending insertions leave it, what removal frees, and what
// happens without memory.
#include <gtest/gtest.h>

#include <sstream>
#include <vector>

#include "tests/index/index_combinations.h"

namespace elider::index::test {
namespace {

template <class C>
struct BTreeStructureTest : testing::Test {
  using Key = typename C::Key;
  using Tree = BTree<typename C::Sync, Key>;
  Arena arena;
  Inside inside{arena};
  Tree tree;
  typename Tree::Hint hint;

  void insert(uint64_t n) { ASSERT_TRUE(tree.get_or_insert(*inside, nth_key<Key>(n), handle_of(n), hint).inserted) << n; }
  void remove(uint64_t n) { ASSERT_TRUE(tree.remove(*inside, nth_key<Key>(n), handle_of(n))) << n; }
  double fill() {
    const auto leaves = all_leaves(tree);
    return static_cast<double>(tree.size()) / static_cast<double>(leaves.size() * BTreeLeaf<Key>::kEntries);
  }
  void expect_sound() const {
    const Status status = tree.verify();
    EXPECT_TRUE(status.ok()) << status.message();
  }
};
TYPED_TEST_SUITE(BTreeStructureTest, TreeCombinations);

// The policy of regions depends on the height (htm/site.h), which increases and decreases.
TYPED_TEST(BTreeStructureTest, TheElisionPolicyKnowsTheHeight) {
  if constexpr (TypeParam::Sync::kRegions) {
    const auto known = [&] { return this->tree.latch().site(sync::Operation::kGet).height(); };
    for (uint64_t n = 0; n < 3000; ++n) this->insert(n);
    ASSERT_GE(this->tree.height(), 3u);
    EXPECT_EQ(known(), this->tree.height());
    for (uint64_t n = 0; n < 3000; ++n) this->remove(n);
    EXPECT_LT(this->tree.height(), 3u);
    EXPECT_EQ(known(), this->tree.height());
  }
}

TYPED_TEST(BTreeStructureTest, AscendingInsertionsFillTheLeaves) {
  for (uint64_t n = 0; n < 5000; ++n) this->insert(n);
  EXPECT_GT(this->fill(), 0.98);
  this->expect_sound();
}

// Order lines: the keys of each district ascend, and the districts take turns.
TYPED_TEST(BTreeStructureTest, SeveralAscendingRunsFillTheLeaves) {
  uint64_t next[10] = {};
  for (int order = 0; order < 3000; ++order) {
    const uint64_t district = static_cast<uint64_t>(order) * 7 % 10;
    for (int line = 0; line < 5 + order % 11; ++line) this->insert(district << 32 | next[district]++);
    this->hint = {};
  }
  EXPECT_GT(this->fill(), 0.9);
  this->expect_sound();
}

TYPED_TEST(BTreeStructureTest, RandomInsertionsHalveTheLeaves) {
  Random random(3);
  for (uint64_t n = 0; n < 5000; ++n) {
    const uint64_t key = random.next() >> 2;
    this->tree.get_or_insert(*this->inside, nth_key<typename TestFixture::Key>(key), handle_of(key), this->hint);
  }
  EXPECT_GT(this->fill(), 0.6);
  this->expect_sound();
}

TYPED_TEST(BTreeStructureTest, AQueueTakesBoundedMemory) {
  const uint64_t length = 500;
  for (uint64_t n = 0; n < length; ++n) this->insert(n);
  const size_t memory_at_first = this->tree.memory_bytes();
  for (uint64_t n = length; n < length + scaled(60000); ++n) {
    this->insert(n);
    this->remove(n - length);
    if (n % 16 == 0) this->inside.pass();
    if (n % 16 == 0) this->hint = {};
    ASSERT_LE(this->tree.memory_bytes(), memory_at_first + 16 * kLeafBytes);
  }
  EXPECT_LE(this->tree.height(), 5u);
  this->expect_sound();
}

TYPED_TEST(BTreeStructureTest, RemovingAllGivesAllBack) {
  const size_t memory_when_empty = this->tree.memory_bytes();
  Random random(5);
  for (int round = 0; round < 3; ++round) {
    std::vector<uint64_t> keys;
    for (uint64_t n = 0; n < 3000; ++n) keys.push_back(n);
    for (size_t i = keys.size() - 1; i > 0; --i) std::swap(keys[i], keys[random.below(i + 1)]);
    for (const uint64_t n : keys) this->insert(n);
    for (size_t i = keys.size() - 1; i > 0; --i) std::swap(keys[i], keys[random.below(i + 1)]);
    for (const uint64_t n : keys) this->remove(n);
    EXPECT_EQ(this->tree.size(), 0u);
    EXPECT_LE(this->tree.height(), 2u);
    EXPECT_LE(this->tree.memory_bytes(), memory_when_empty + kLeafBytes + kInnerBytes);
    this->expect_sound();
  }
}

TYPED_TEST(BTreeStructureTest, WithoutMemoryNothingIsChanged) {
  Arena small(uint64_t{4} << 20);
  Inside inside(small);
  uint64_t inserted = 0;
  InsertResult result;
  while (true) {
    result = this->tree.get_or_insert(*inside, nth_key<typename TestFixture::Key>(inserted), handle_of(inserted), this->hint);
    if (!result.inserted) break;
    ASSERT_LT(++inserted, 1'000'000u) << "the limit is never reached";
  }
  EXPECT_EQ(result.handle, kNoHandle);
  EXPECT_GT(inserted, 10'000u);
  EXPECT_EQ(this->tree.size(), inserted);
  this->expect_sound();
  Witness witness;
  for (uint64_t n = 0; n <= inserted; ++n)
    ASSERT_EQ(this->tree.get(nth_key<typename TestFixture::Key>(n), this->hint, witness), n < inserted ? handle_of(n) : kNoHandle);
  // An insertion finds the keys that are present, and removals make room again.
  EXPECT_EQ(this->tree.get_or_insert(*inside, nth_key<typename TestFixture::Key>(5), handle_of(5, 2), this->hint).handle, handle_of(5));
  for (uint64_t n = 0; n < inserted; ++n) ASSERT_TRUE(this->tree.remove(*inside, nth_key<typename TestFixture::Key>(n), handle_of(n)));
  inside.pass();
  this->hint = {};
  for (int i = 0; i < 8; ++i) inside.pass();
  EXPECT_TRUE(this->tree.get_or_insert(*inside, nth_key<typename TestFixture::Key>(9), handle_of(9), this->hint).inserted);
  this->expect_sound();
}

TYPED_TEST(BTreeStructureTest, ADumpNamesEveryEntry) {
  for (uint64_t n = 0; n < 40; ++n) this->insert(n);
  std::ostringstream out;
  this->tree.dump(out);
  std::ostringstream last;
  last << "->" << handle_of(39);
  EXPECT_NE(out.str().find("height 2, 40 entries"), std::string::npos) << out.str();
  EXPECT_NE(out.str().find(last.str()), std::string::npos) << out.str();
}

// All memory except for one leaf is taken. An insertion that splits a leaf, but not an inner node,
// succeeds.
TYPED_TEST(BTreeStructureTest, ALeafSplitsWithMemoryForALeafAlone) {
  Arena small(uint64_t{4} << 20);
  Inside inside(small);
  const auto insert = [&](uint64_t n) {
    return this->tree.get_or_insert(*inside, nth_key<typename TestFixture::Key>(n), handle_of(n), this->hint).inserted;
  };
  uint64_t n = 0;
  while (n < 100) ASSERT_TRUE(insert(n++));
  ASSERT_EQ(this->tree.height(), 2u);  // its root has room
  void* const kept = (*inside).allocate(kLeafBytes, MemoryPart::kIndexes);
  for (const size_t bytes : {kInnerBytes, kLeafBytes})
    while ((*inside).allocate(bytes, MemoryPart::kIndexes) != nullptr) {
    }
  const size_t bytes_before = this->tree.memory_bytes();
  while (insert(n)) ASSERT_LT(++n, 200u) << "a leaf splits without memory";
  EXPECT_EQ(this->tree.memory_bytes(), bytes_before);
  (*inside).free(kept, kLeafBytes, MemoryPart::kIndexes);
  const uint64_t full_at = n;
  while (insert(n)) ++n;
  EXPECT_GT(n, full_at);
  EXPECT_EQ(this->tree.memory_bytes(), bytes_before + kLeafBytes);
  EXPECT_EQ(this->tree.size(), n);
  this->expect_sound();
}

}  // namespace
}  // namespace elider::index::test
