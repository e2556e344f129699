// Shared by the index tests: workers, seeds that are printed and can be set, keys of both types
// that are made from numbers, and whole scans.
//
// This header is for tests only. Thread safety: an Inside belongs to one thread.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <vector>

#include "base/random.h"
#include "base/worker.h"
#include "index/btree/btree.h"
#include "index/hash/hash_table.h"

namespace elider::index::test {

// Returns `count`, scaled by ELIDER_TEST_SCALE.
inline uint64_t scaled(uint64_t count) {
  const char* const scale = std::getenv("ELIDER_TEST_SCALE");
  const double product = static_cast<double>(count) * (scale ? std::strtod(scale, nullptr) : 1.0);
  return product < 1 ? 1 : static_cast<uint64_t>(product);
}

// Returns a random seed, or ELIDER_SEED if set.
inline uint64_t seed_of_test() {
  const char* const given = std::getenv("ELIDER_SEED");
  const uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device{}() % 1'000'000'000;
  std::cerr << "[   SEED   ] ELIDER_SEED=" << seed << " replays this\n";
  return seed;
}

struct Arena {
  explicit Arena(uint64_t limit_bytes = 0) : memory(limit_bytes, false), workers(memory, 64, 1) {}
  Memory memory;
  Workers workers;
};

// A worker within a grace period.
class Inside {
 public:
  explicit Inside(Arena& arena) : arena_(arena), worker_(*arena.workers.acquire()) { worker_.enter(); }
  ~Inside() {
    worker_.leave();
    arena_.workers.release(&worker_);
  }
  Worker& operator*() { return worker_; }
  // Ends the grace period and begins another. Hints and witnesses become invalid.
  void pass() {
    worker_.leave();
    worker_.enter();
  }

 private:
  Arena& arena_;
  Worker& worker_;
};

// Returns the n-th key in order. Groups of secondary keys have equal values, so that both halves
// matter.
template <class Key>
Key nth_key(uint64_t n) {
  if constexpr (std::is_same_v<Key, SecondaryKey>) {
    return {n >> 3, (n & 7) << 61 | (n & 7)};
  } else {
    return n;
  }
}
inline uint64_t number_of(uint64_t key) { return key; }
inline uint64_t number_of(const SecondaryKey& key) { return key.value << 3 | (key.primary & 7); }

// Returns a handle that encodes its key and which insertion made it (0 to 255).
inline Handle handle_of(uint64_t n, uint64_t generation = 1) { return (n + 1) << 8 | (generation & 0xff); }
inline uint64_t number_of_handle(Handle handle) { return (handle >> 8) - 1; }

// Reads the leaf that covers the key.
template <class Tree>
typename Tree::Contents leaf_of(Tree& tree, const typename Tree::Key& key, typename Tree::Hint& hint) {
  typename Tree::Contents leaf;
  tree.read_leaf({key, false}, Direction::kForward, hint, leaf);
  return leaf;
}
template <class Tree>
typename Tree::Contents leaf_of(Tree& tree, const typename Tree::Key& key) {
  typename Tree::Hint hint;
  return leaf_of(tree, key, hint);
}

// Reads all leaves, from first to last. Checks that they join without gaps or overlaps.
template <class Tree>
std::vector<typename Tree::Contents> all_leaves(Tree& tree) {
  std::vector<typename Tree::Contents> leaves;
  typename Tree::Key at = KeyTraits<typename Tree::Key>::kMin;
  while (true) {
    const typename Tree::Contents leaf = leaf_of(tree, at);
    EXPECT_EQ(leaf.range.from, at);
    leaves.push_back(leaf);
    if (leaf.range.to.end) return leaves;
    at = leaf.range.to.key;
  }
}

}  // namespace elider::index::test
