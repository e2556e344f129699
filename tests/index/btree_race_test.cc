// Races of the optimistic B+-tree, forced by test points: one thread is stopped in a change while
// another makes a conflicting change.
#include <gtest/gtest.h>

#include <thread>

#include "base/test_points.h"
#include "tests/index/index_combinations.h"

#if ELIDER_TEST_POINTS

namespace elider::index::test {
namespace {

struct BTreeRaceTest : testing::Test {
  using Tree = BTree<sync::Optimistic, uint64_t>;
  static constexpr uint64_t kFull = BTreeLeaf<uint64_t>::kEntries;
  Arena arena;
  Inside inside{arena};
  Tree tree;
  Tree::Hint hint;

  void TearDown() override {
    const Status status = tree.verify();
    EXPECT_TRUE(status.ok()) << status.message();
  }
  void insert(uint64_t n) { ASSERT_TRUE(tree.get_or_insert(*inside, n, handle_of(n), hint).inserted); }
  Handle get(uint64_t n) {
    Witness witness;
    Tree::Hint none;
    return tree.get(n, none, witness);
  }
  // Runs the operation in a thread that has its own worker.
  template <class Operation>
  std::thread start(Operation operation) {
    return std::thread([this, operation] {
      Inside own(arena);
      operation(*own);
    });
  }
};

// Two leaves under a root, with the same number of keys: 0, 10, ... from the left leaf on.
struct BTreeTwoLeaves : BTreeRaceTest {
  void SetUp() override {
    // Descending, so that the insertions do not form a run and the first leaf is halved.
    for (uint64_t i = kFull + 1; i-- > 0;) insert(i * 10);
    const auto leaves = all_leaves(tree);
    ASSERT_EQ(leaves.size(), 2u);
    left = leaves[0];
    right = leaves[1];
  }
  Tree::Contents left, right;
};

TEST_F(BTreeTwoLeaves, ALockedLeafsWitnessDoesNotHold) {
  TestStop stop("btree.locked_for_insert");
  std::thread writer = start([this](Worker& worker) {
    Tree::Hint none;
    EXPECT_TRUE(tree.get_or_insert(worker, 5, handle_of(5), none).inserted);
  });
  stop.wait_until_reached();
  EXPECT_FALSE(left.witnesses[0].holds());
  EXPECT_TRUE(right.witnesses[0].holds());
  stop.go();
  writer.join();
  EXPECT_FALSE(left.witnesses[0].holds());
  EXPECT_TRUE(right.witnesses[0].holds());
}

TEST_F(BTreeTwoLeaves, ASplitThatWasOvertakenStartsOver) {
  for (uint64_t n = 1; all_leaves(tree)[0].count < kFull; n += 2) insert(n);
  ASSERT_EQ(all_leaves(tree).size(), 2u);
  static constexpr uint64_t kFresh = 32, kSecond = 34;
  TestStop stop("btree.before_split");
  std::thread writer = start([this](Worker& worker) {
    Tree::Hint none;
    EXPECT_TRUE(tree.get_or_insert(worker, kFresh, handle_of(kFresh), none).inserted);
  });
  stop.wait_until_reached();
  // The other thread splits the same leaf first.
  insert(kSecond);
  EXPECT_EQ(all_leaves(tree).size(), 3u);
  EXPECT_EQ(get(kFresh), kNoHandle);
  stop.go();
  writer.join();
  EXPECT_EQ(get(kFresh), handle_of(kFresh));
  EXPECT_EQ(get(kSecond), handle_of(kSecond));
}

// A lookup has chosen the next node, which is split before the lookup gets there.
struct BTreeOvertakenLookup : BTreeRaceTest {
  // Reads the key in another thread, which waits at the point while `change` runs.
  template <class Change>
  void look_up(const char* point, uint64_t key, bool batch, Change change) {
    TestStop stop(point);
    std::thread reader = start([this, key, batch](Worker&) {
      Handle handle = kNoHandle;
      Witness witness;
      Tree::Hint none;
      if (batch) {
        tree.multi_get(&key, 1, &handle, &witness);
      } else {
        handle = tree.get(key, none, witness);
      }
      EXPECT_EQ(handle, handle_of(key));
      EXPECT_TRUE(witness.holds());
    });
    stop.wait_until_reached();
    change();
    stop.go();
    reader.join();
  }
  // 0, 10, 20, ..., in descending order, so that leaves are halved.
  void fill(uint64_t count) {
    for (uint64_t i = count; i-- > 0;) insert(i * 10);
  }
};

TEST_F(BTreeOvertakenLookup, TheRootIsSplit) {
  fill(kFull);
  look_up("btree.root_read", 140, false, [this] { insert(5); });
  EXPECT_EQ(tree.height(), 2u);
}

TEST_F(BTreeOvertakenLookup, TheChildIsSplit) {
  fill(kFull + 1);
  const auto leaves = all_leaves(tree);
  ASSERT_EQ(leaves.size(), 2u);
  // The last key of the left leaf moves to a new one.
  const uint64_t last = leaves[0].keys[leaves[0].count - 1];
  look_up("btree.child_read", last, false, [&] {
    for (uint64_t n = 1; all_leaves(tree).size() == 2; n += 2) insert(n);
  });
}

TEST_F(BTreeOvertakenLookup, TheChildOfABatchIsSplit) {
  fill(kFull + 1);
  const auto leaves = all_leaves(tree);
  const uint64_t last = leaves[0].keys[leaves[0].count - 1];
  look_up("btree.children_read", last, true, [&] {
    for (uint64_t n = 1; all_leaves(tree).size() == 2; n += 2) insert(n);
  });
}

TEST_F(BTreeOvertakenLookup, TheChildIsUnlinkedAndItsKeyIsBackElsewhere) {
  fill(kFull + 1);
  const auto leaf = all_leaves(tree)[0];
  look_up("btree.child_read", leaf.keys[0], false, [&] {
    for (size_t i = 0; i < leaf.count; ++i) ASSERT_TRUE(tree.remove(*inside, leaf.keys[i], leaf.handles[i]));
    ASSERT_EQ(tree.height(), 2u);
    hint = {};
    insert(leaf.keys[0]);
  });
}

TEST_F(BTreeTwoLeaves, AnInsertIntoTheLeafThatIsUnlinkedIsKept) {
  for (size_t i = 1; i < left.count; ++i) ASSERT_TRUE(tree.remove(*inside, left.keys[i], left.handles[i]));
  TestStop stop("btree.before_unlink");
  const uint64_t last = left.keys[0];
  std::thread remover = start([this, last](Worker& worker) { EXPECT_TRUE(tree.remove(worker, last, handle_of(last))); });
  stop.wait_until_reached();
  insert(3);
  stop.go();
  remover.join();
  EXPECT_EQ(get(3), handle_of(3));
  EXPECT_EQ(get(last), kNoHandle);
  EXPECT_EQ(all_leaves(tree).size(), 2u);
}

TEST_F(BTreeTwoLeaves, AHintOfALeafThatWasUnlinkedIsNotTrusted) {
  Witness witness;
  Tree::Hint old;
  EXPECT_EQ(tree.get(left.keys[0], old, witness), left.handles[0]);
  Tree::Hint elsewhere = old;
  for (size_t i = 0; i < left.count; ++i) ASSERT_TRUE(tree.remove(*inside, left.keys[i], left.handles[i]));
  ASSERT_EQ(all_leaves(tree).size(), 1u);
  EXPECT_FALSE(witness.holds());
  EXPECT_EQ(tree.get(left.keys[0], old, witness), kNoHandle);
  EXPECT_TRUE(tree.get_or_insert(*inside, left.keys[0], 77, elsewhere).inserted);
  EXPECT_FALSE(witness.holds());
  EXPECT_EQ(get(left.keys[0]), 77u);
}

TEST_F(BTreeTwoLeaves, AScanThatASplitOvertakesSeesEveryKey) {
  // The scan has read the left leaf. The right leaf splits. The scan continues at the end of the
  // left one.
  Tree::Hint scan_hint;
  Tree::Contents leaf = leaf_of(tree, 0, scan_hint);
  uint64_t seen = leaf.count;
  for (uint64_t n = right.keys[0] + 1; tree.size() < 4 * kFull; n += 2) insert(n);
  while (!leaf.range.to.end) {
    leaf = leaf_of(tree, leaf.range.to.key, scan_hint);
    seen += leaf.count;
  }
  EXPECT_EQ(seen, tree.size());
}

}  // namespace
}  // namespace elider::index::test

#endif
