// Compares the B+-tree with std::map under random operations, for every policy and key type.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/index/index_combinations.h"

namespace elider::index::test {
namespace {

template <class C>
struct BTreeModelTest : testing::Test {
  using Key = typename C::Key;
  using Tree = BTree<typename C::Sync, Key>;
  using Hint = typename Tree::Hint;
  using Contents = typename Tree::Contents;

  void insert(uint64_t n) {
    const auto [entry, fresh] = model.try_emplace(n, handle_of(n, ++generation));
    const InsertResult result = tree.get_or_insert(*inside, nth_key<Key>(n), fresh ? entry->second : handle_of(n, ++generation), hint);
    ASSERT_EQ(result.inserted, fresh) << n;
    ASSERT_EQ(result.handle, entry->second) << n;
    ASSERT_TRUE(result.after.holds());
    ASSERT_EQ(result.before.holds(), !fresh);
  }
  void remove(uint64_t n) {
    const auto entry = model.find(n);
    ASSERT_FALSE(tree.remove(*inside, nth_key<Key>(n), handle_of(n + 1))) << "another handle, key " << n;
    const bool removed = tree.remove(*inside, nth_key<Key>(n), entry == model.end() ? handle_of(n) : entry->second);
    ASSERT_EQ(removed, entry != model.end()) << n;
    if (removed) model.erase(entry);
  }
  Handle expected(uint64_t n) const {
    const auto entry = model.find(n);
    return entry == model.end() ? kNoHandle : entry->second;
  }
  void get(uint64_t n) {
    Witness witness;
    ASSERT_EQ(tree.get(nth_key<Key>(n), hint, witness), expected(n)) << n;
    ASSERT_TRUE(witness.holds());
    ASSERT_TRUE(hint.covers(nth_key<Key>(n)));
  }
  void multi_get(uint64_t space, size_t count) {
    std::vector<Key> keys;
    for (size_t i = 0; i < count; ++i) keys.push_back(nth_key<Key>(random.below(space)));
    std::vector<Handle> handles(count);
    std::vector<Witness> witnesses(count);
    tree.multi_get(keys.data(), count, handles.data(), random.one_in(4) ? nullptr : witnesses.data());
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(handles[i], expected(number_of(keys[i])));
      if (witnesses[i].version) {
        ASSERT_TRUE(witnesses[i].holds());
      }
    }
  }
  // Returns all entries of [first, last], leaf by leaf, forward or backward.
  void scan(uint64_t first, uint64_t last, bool reverse) {
    std::vector<std::pair<uint64_t, Handle>> found, wanted(model.lower_bound(first), model.upper_bound(last));
    if (reverse) std::reverse(wanted.begin(), wanted.end());
    const Key low = nth_key<Key>(first), high = nth_key<Key>(last);
    Range<Key> rest{low, bound_behind(high)};
    Hint scan_hint = hint;
    while (!rest.empty()) {
      Contents leaf;
      if (reverse) tree.read_leaf(rest.to, Direction::kBackward, scan_hint, leaf);
      else tree.read_leaf({rest.from, false}, Direction::kForward, scan_hint, leaf);
      ASSERT_TRUE(leaf.witnesses[0].holds());
      if (reverse) {
        ASSERT_TRUE(leaf.range.to.end || (!rest.to.end && leaf.range.to.key >= rest.to.key));
      } else {
        ASSERT_TRUE(leaf.range.covers(rest.from));
      }
      for (size_t i = 0; i < leaf.count; ++i) {
        const size_t entry = reverse ? leaf.count - 1 - i : i;
        // A hint may describe less than the leaf covers by now. Then the same leaf is read again:
        // skip it.
        if (rest.covers(leaf.keys[entry])) found.emplace_back(number_of(leaf.keys[entry]), leaf.handles[entry]);
      }
      if (reverse) rest.to = {leaf.range.from, false};
      else if (leaf.range.to.end) break;
      else rest.from = leaf.range.to.key;
    }
    ASSERT_EQ(found, wanted) << (reverse ? "reverse" : "forward") << " from " << first << " to " << last;
  }
  void check_all() {
    const Status status = tree.verify();
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(tree.size(), model.size());
    ASSERT_NO_FATAL_FAILURE(scan(0, kSpaceMax, false));
    ASSERT_NO_FATAL_FAILURE(scan(0, kSpaceMax, true));
  }
  // Performs a random operation. Of 100 changes, `grow` are insertions.
  void step(uint64_t space, uint64_t grow) {
    const uint64_t n = random.below(space);
    switch (random.below(8)) {
      case 0:
      case 1:
      case 2:
      case 3: return random.below(100) < grow ? insert(n) : remove(n);
      case 4: return get(n);
      case 5: return multi_get(space, 1 + random.below(40));
      case 6: return scan(n, std::min(n + random.below(100), space), random.one_in(2));
      default:
        if (random.one_in(8)) {
          inside.pass();
          hint = {};
        }
        return get(n);
    }
  }

  static constexpr uint64_t kSpaceMax = uint64_t{1} << 62;
  Arena arena;
  Inside inside{arena};
  Tree tree;
  Hint hint;
  std::map<uint64_t, Handle> model;
  uint64_t generation = 0;
  Random random{seed_of_test()};
};
TYPED_TEST_SUITE(BTreeModelTest, TreeCombinations);

TYPED_TEST(BTreeModelTest, RandomOperationsGrowShrinkAndEmpty) {
  for (const uint64_t space : {40u, 700u, 20000u}) {
    for (const uint64_t grow : {80u, 50u, 15u, 90u, 3u}) {
      for (uint64_t i = 0; i < scaled(std::min<uint64_t>(space * 4, 12000)); ++i) ASSERT_NO_FATAL_FAILURE(this->step(space, grow));
      ASSERT_NO_FATAL_FAILURE(this->check_all());
    }
    while (!this->model.empty()) ASSERT_NO_FATAL_FAILURE(this->remove(this->model.begin()->first));
    ASSERT_NO_FATAL_FAILURE(this->check_all());
  }
  EXPECT_LE(this->tree.height(), 2u) << "an empty tree is low again";
}

TYPED_TEST(BTreeModelTest, OrderedFillsAndDrains) {
  const uint64_t n = scaled(3000);
  // Fills upwards and drains from the front, fills downwards and drains from the back, and fills
  // from both ends to the middle.
  for (int pattern = 0; pattern < 4; ++pattern) {
    for (uint64_t i = 0; i < n; ++i) {
      const uint64_t up = i * 3, down = (n - 1 - i) * 3;
      ASSERT_NO_FATAL_FAILURE(this->insert(pattern == 0 ? up : pattern == 1 ? down : i % 2 ? up : down));
      ASSERT_NO_FATAL_FAILURE(this->get(this->random.below(3 * n)));
    }
    ASSERT_NO_FATAL_FAILURE(this->check_all());
    while (!this->model.empty()) {
      const bool front = pattern == 0 || (pattern == 2 && this->random.one_in(2));
      ASSERT_NO_FATAL_FAILURE(this->remove(front ? this->model.begin()->first : this->model.rbegin()->first));
      ASSERT_NO_FATAL_FAILURE(this->get(this->random.below(3 * n)));
    }
    ASSERT_NO_FATAL_FAILURE(this->check_all());
    this->inside.pass();
    this->hint = {};
  }
}

TYPED_TEST(BTreeModelTest, LargestAndSmallestKeysAreKeys) {
  using Traits = KeyTraits<typename TestFixture::Key>;
  typename TestFixture::Hint hint;
  Witness witness;
  for (const auto key : {Traits::kMin, Traits::kMax}) {
    EXPECT_EQ(this->tree.get(key, hint, witness), kNoHandle);
    EXPECT_TRUE(this->tree.get_or_insert(*this->inside, key, 7, hint).inserted);
    EXPECT_EQ(this->tree.get(key, hint, witness), 7u);
  }
  for (uint64_t i = 1; i < 500; ++i) this->insert(i);
  hint = {};
  EXPECT_EQ(this->tree.get(Traits::kMin, hint, witness), 7u);
  EXPECT_EQ(this->tree.get(Traits::kMax, hint, witness), 7u);
  const auto leaf = leaf_of(this->tree, Traits::kMax);
  EXPECT_TRUE(leaf.range.to.end);
  EXPECT_EQ(leaf.keys[leaf.count - 1], Traits::kMax);
  EXPECT_TRUE(this->tree.remove(*this->inside, Traits::kMax, 7));
  EXPECT_TRUE(this->tree.remove(*this->inside, Traits::kMin, 7));
  const Status status = this->tree.verify();
  EXPECT_TRUE(status.ok()) << status.message();
}

}  // namespace
}  // namespace elider::index::test
