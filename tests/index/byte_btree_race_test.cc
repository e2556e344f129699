// Races of the optimistic B+-tree of byte keys, forced by test points. A node takes over the range
// of a neighbour that is unlinked, and its version does not change, while another thread is on its
// way through the node.
#include <gtest/gtest.h>

#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/test_points.h"
#include "index/scan.h"
#include "tests/index/byte_btree_test_support.h"

#if ELIDER_TEST_POINTS

namespace elider::index::test {
namespace {

struct ByteBTreeRaceTest : ByteBTreeTest<sync::Optimistic> {
  static constexpr size_t kFull = Contents::kCapacity;

  void TearDown() override { expect_sound(); }
  // A key of 20 bytes. Keys of one group agree in their first ten bytes.
  static std::string text(char group, uint64_t n) {
    const std::string digits = std::to_string(n);
    return std::string(10, group) + std::string(10 - digits.size(), '0') + digits;
  }
  void insert_all(char group, uint64_t from, uint64_t to) {
    for (uint64_t n = from; n < to; ++n) ASSERT_TRUE(insert(text(group, n)).inserted);
  }
  void remove_leaf(const Contents& leaf) {
    for (size_t i = 0; i < leaf.count; ++i) ASSERT_TRUE(tree.remove(*inside, leaf.keys[i], leaf.handles[i]));
  }
  std::vector<std::string> root_separators() const {
    std::ostringstream dumped;
    tree.dump(dumped);
    std::istringstream lines(dumped.str());
    std::string line;
    std::getline(lines, line);
    std::getline(lines, line);
    std::vector<std::string> separators;
    for (size_t at = line.find('"'); at != std::string::npos; at = line.find('"', at + 1)) {
      const size_t end = line.find('"', at + 1);
      separators.push_back(line.substr(at + 1, end - at - 1));
      at = end;
    }
    return separators;
  }
  // Runs the operation in a thread with its own worker. The thread stops the given number of
  // arrivals after the first one at the point, and `change` runs meanwhile.
  void overtake(const char* point, uint64_t pass_first, const std::function<void(Worker&)>& operation,
                const std::function<void()>& change) {
    TestStop stop(point, pass_first);
    std::thread thread([&] {
      Inside own(arena);
      operation(*own);
    });
    stop.wait_until_reached();
    change();
    stop.go();
    thread.join();
  }
  // Returns the keys from `from` on, as a scan finds them.
  std::vector<std::string> scan(const std::string& from) {
    std::vector<std::string> found;
    const Held key(from);
    scan_leaves(
        tree, Range<ByteKey>{key.key(), {{}, true}}, Direction::kForward, ~uint64_t{0}, [](const auto&, const auto&) {}, [](Handle) {},
        [&](const ByteKey&, Handle handle) { return found.push_back(text_of_row(handle)), true; });
    return found;
  }
};

// A root and two leaves: a full one with the keys of group a, and one with keys 20 and 21 of group
// c.
struct ByteBTreeTwoLeaves : ByteBTreeRaceTest {
  void SetUp() override {
    insert_all('a', 0, kFull);
    insert_all('c', 20, 22);
    const auto leaves = all_leaves(tree);
    ASSERT_EQ(leaves.size(), 2u);
    ASSERT_EQ(leaves[0].count, kFull);
    right = leaves[1];
  }
  // Lets the left leaf take over the range of the right one, and inserts keys 0 and 1 of group c.
  void merge() {
    remove_leaf(right);
    ASSERT_TRUE(remove(text('a', 5)) && remove(text('a', 6)));
    insert_all('c', 0, 2);
    ASSERT_EQ(all_leaves(tree).size(), 1u);
  }
  Contents right;
};

TEST_F(ByteBTreeTwoLeaves, ALookupFollowsAKeyToTheLeafThatTookOverItsRange) {
  overtake(
      "btree.child_read", 0,
      [this](Worker&) {
        Witness witness;
        Hint none;
        const Handle found = tree.get(Held(text('c', 1)).key(), none, witness);
        EXPECT_EQ(found, rows.back().handle());
        EXPECT_TRUE(witness.holds());
      },
      [this] { merge(); });
}

TEST_F(ByteBTreeTwoLeaves, ABatchFollowsItsKeysToTheLeafThatTookOverTheRange) {
  overtake(
      "btree.children_read", 0,
      [this](Worker&) {
        const Held one(text('c', 1)), removed(text('c', 20));
        const KeyRef keys[] = {one.batch_key(), removed.batch_key()};
        Handle found[2];
        Witness witnesses[2];
        tree.multi_get(keys, 2, found, witnesses);
        EXPECT_EQ(found[0], rows.back().handle());
        EXPECT_EQ(found[1], kNoHandle);
        EXPECT_TRUE(witnesses[0].holds() && witnesses[1].holds());
      },
      [this] { merge(); });
}

TEST_F(ByteBTreeTwoLeaves, AScanBetweenTwoLeavesSeesTheKeysOfTheRangeOnce) {
  std::vector<std::string> expected, found;
  for (uint64_t n = 0; n < kFull; ++n) expected.push_back(text('a', n));
  for (uint64_t n = 0; n < 2; ++n) expected.push_back(text('c', n));
  // The scan has read the left leaf, and has chosen the right one.
  overtake("btree.child_read", 1, [&](Worker&) { found = scan(expected.front()); }, [this] { merge(); });
  EXPECT_EQ(found, expected);
}

// The thread has read the full leaf. Before it locks the leaf, the leaf gets room, and keys that
// lack its prefix.
TEST_F(ByteBTreeTwoLeaves, ASplitOfALeafThatTookOverARangeStartsOver) {
  const std::string fresh = text('a', 6);
  ASSERT_TRUE(remove(fresh) && insert(text('a', 500)).inserted);
  const Handle row = row_of(fresh);
  overtake(
      "btree.before_split", 0,
      [&](Worker& worker) {
        Hint none;
        EXPECT_TRUE(tree.get_or_insert(worker, Held(fresh).key(), row, none).inserted);
      },
      [&] {
        remove_leaf(right);
        ASSERT_TRUE(remove(text('a', 5)) && remove(text('a', 7)) && insert(text('c', 0)).inserted);
      });
  EXPECT_EQ(get(fresh), row);
  EXPECT_EQ(all_leaves(tree).size(), 1u);
}

// The root of four levels has three children, and the last one covers few leaves. If these leaves
// are unlinked, the root's middle child takes over their range, and so does its last child, but
// only the root's version changes. The separators on both sides of the middle child agree in
// several bytes. A thread that has passed the middle child must not conclude that the keys of the
// leaf that it finds have these bytes.
TEST_F(ByteBTreeRaceTest, AnInsertionDoesNotTrustTheRangeOfANodeThatTookOverAnother) {
  // Ascending insertions fill the nodes, so a child of the root is small when the root gets it. A
  // full inner node that splits keeps all its children except the last one.
  constexpr uint64_t kInSubtree = uint64_t{kFull} * BTreeInner<ByteKey>::kKeys * BTreeInner<ByteKey>::kKeys;
  insert_all('a', 0, 2 * kInSubtree);
  while (root_separators().size() < 2) insert_all('a', tree.size(), tree.size() + 4 * kFull);
  ASSERT_EQ(tree.height(), 4u);
  std::vector<Contents> leaves = all_leaves(tree), third;
  while (text_of(leaves.back().range.from) >= root_separators()[1]) {
    third.push_back(leaves.back());
    leaves.pop_back();
  }
  ASSERT_LT(third.size(), 100u);
  const Contents last = leaves.back();
  // Makes room in the parent of the last leaf.
  for (size_t i = 2; i < 12; ++i) remove_leaf(leaves[leaves.size() - i]);
  const std::string fresh = text_of(last.keys[last.count - 1]) + "x";
  const Handle row = row_of(fresh);
  overtake(
      "btree.child_read", 1,
      [&](Worker& worker) {
        Hint none;
        EXPECT_TRUE(tree.get_or_insert(worker, Held(fresh).key(), row, none).inserted);
      },
      [&] {
        for (const Contents& leaf : third) remove_leaf(leaf);
        // Replaces all keys of the last leaf. When it splits, its prefix becomes one of the new
        // keys'. Then it becomes the last leaf again.
        ASSERT_TRUE(tree.remove(*inside, last.keys[0], last.handles[0]));
        insert_all('c', 0, 1);
        for (size_t i = 1; i < last.count; ++i) ASSERT_TRUE(tree.remove(*inside, last.keys[i], last.handles[i]));
        insert_all('c', 1, kFull + 2);
        const std::vector<Contents> now = all_leaves(tree);
        ASSERT_EQ(now[now.size() - 2].range.from, last.range.from);
        remove_leaf(now.back());
      });
  EXPECT_EQ(get(fresh), row);
  EXPECT_EQ(text_of_row(get(text('c', 1))), text('c', 1));
}

}  // namespace
}  // namespace elider::index::test

#endif
