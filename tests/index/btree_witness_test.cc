// What a change does to witnesses. Given a witness of every leaf, a change of a key invalidates
// exactly that of the leaf that covers the key, and InsertResult makes the set complete again.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "tests/index/index_combinations.h"

namespace elider::index::test {
namespace {

template <class C>
struct BTreeWitnessTest : testing::Test {
  using Key = typename C::Key;
  using Tree = BTree<typename C::Sync, Key>;
  using Contents = typename Tree::Contents;
  Arena arena;
  Inside inside{arena};
  Tree tree;
  Random random{seed_of_test()};

  // Returns the leaf that covers the key.
  static size_t covering(const std::vector<Contents>& leaves, const Key& key) {
    const auto found = std::find_if(leaves.begin(), leaves.end(), [&](const Contents& leaf) { return leaf.range.to.above(key); });
    return static_cast<size_t>(found - leaves.begin());
  }
  static void expect_only_ended(const std::vector<Contents>& leaves, size_t ended) {
    for (size_t i = 0; i < leaves.size(); ++i)
      ASSERT_EQ(leaves[i].witnesses[0].holds(), i != ended) << "leaf " << i << " of " << leaves.size();
  }
  static std::set<std::pair<const void*, uint64_t>> set_of(const std::vector<Witness>& witnesses) {
    std::set<std::pair<const void*, uint64_t>> set;
    for (const Witness& witness : witnesses) set.emplace(witness.version, witness.value);
    return set;
  }
};
TYPED_TEST_SUITE(BTreeWitnessTest, TreeCombinations);

TYPED_TEST(BTreeWitnessTest, AChangeEndsExactlyTheWitnessThatCoversIt) {
  using Key = typename TestFixture::Key;
  typename TestFixture::Tree::Hint hint;
  std::set<uint64_t> present;
  for (uint64_t round = 0; round < scaled(4000); ++round) {
    const auto leaves = all_leaves(this->tree);
    // Inserts ascending runs occasionally, to cover all kinds of splits.
    const uint64_t n = round % 3 == 0 ? 2000 + round : this->random.below(800);
    const Key key = nth_key<Key>(n);
    const size_t covering = this->covering(leaves, key);
    if (present.count(n) && this->random.one_in(2)) {
      ASSERT_TRUE(this->tree.remove(*this->inside, key, handle_of(n)));
      present.erase(n);
      ASSERT_NO_FATAL_FAILURE(this->expect_only_ended(leaves, covering));
      continue;
    }
    const InsertResult result = this->tree.get_or_insert(*this->inside, key, handle_of(n), hint);
    ASSERT_EQ(result.inserted, present.insert(n).second);
    ASSERT_NO_FATAL_FAILURE(this->expect_only_ended(leaves, result.inserted ? covering : leaves.size()));
    ASSERT_EQ(result.before.version, leaves[covering].witnesses[0].version);
    ASSERT_EQ(result.before.value, leaves[covering].witnesses[0].value);
    if (!result.inserted) continue;
    // A transaction that has read everything and takes its own insertion into account has again
    // read everything.
    std::vector<Witness> mended, now;
    for (size_t i = 0; i < leaves.size(); ++i) mended.push_back(i == covering ? result.after : leaves[i].witnesses[0]);
    if (result.split_off.version) mended.push_back(result.split_off);
    for (const auto& leaf : all_leaves(this->tree)) now.push_back(leaf.witnesses[0]);
    ASSERT_EQ(this->set_of(mended), this->set_of(now));
  }
}

TYPED_TEST(BTreeWitnessTest, ReadsEndNothing) {
  using Key = typename TestFixture::Key;
  typename TestFixture::Tree::Hint hint;
  for (uint64_t n = 0; n < 300; ++n) this->tree.get_or_insert(*this->inside, nth_key<Key>(2 * n), handle_of(2 * n), hint);
  const auto leaves = all_leaves(this->tree);
  Witness witness;
  for (uint64_t n = 0; n < 600; ++n) {
    this->tree.get(nth_key<Key>(n), hint, witness);
    EXPECT_FALSE(this->tree.remove(*this->inside, nth_key<Key>(n), handle_of(9999)));
  }
  ASSERT_NO_FATAL_FAILURE(this->expect_only_ended(leaves, leaves.size()));
}

// An empty leaf is unlinked, and a neighbour takes over its range. An older witness of the range
// must not survive an insertion there.
TYPED_TEST(BTreeWitnessTest, AWitnessOfAnUnlinkedLeafNeverHoldsAgain) {
  using Key = typename TestFixture::Key;
  typename TestFixture::Tree::Hint hint;
  for (uint64_t n = 0; n < 400; ++n) this->tree.get_or_insert(*this->inside, nth_key<Key>(n), handle_of(n), hint);
  auto leaves = all_leaves(this->tree);
  ASSERT_GT(leaves.size(), 10u);
  const auto victim = leaves[5];
  for (size_t i = 0; i < victim.count; ++i) {
    const uint64_t n = number_of(victim.keys[i]);
    ASSERT_TRUE(this->tree.remove(*this->inside, victim.keys[i], handle_of(n)));
  }
  EXPECT_EQ(all_leaves(this->tree).size(), leaves.size() - 1);
  EXPECT_FALSE(victim.witnesses[0].holds());
  this->expect_only_ended(leaves, 5);
  const uint64_t n = number_of(victim.keys[0]);
  const InsertResult result = this->tree.get_or_insert(*this->inside, victim.keys[0], handle_of(n), hint);
  EXPECT_TRUE(result.inserted);
  EXPECT_FALSE(victim.witnesses[0].holds());
  const Status status = this->tree.verify();
  EXPECT_TRUE(status.ok()) << status.message();
}

}  // namespace
}  // namespace elider::index::test
