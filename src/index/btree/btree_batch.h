// BTree: batched lookups. Included by the instantiations only.
//
// A group of lookups goes down level by level, each level in rounds, and each round asks for the lines
// that the next one touches: the slot of the child, then the keys of the child. So the misses of a level
// overlap, a group costs about two misses a level instead of two a level and key, and no line is asked
// for that is not used, which counts as the lines in flight are few.
#pragma once

#include <algorithm>

#include "index/btree/btree.h"

namespace elider::index {

template <sync::Policy Sync, class KeyType>
void BTree<Sync, KeyType>::multi_get(const Key* keys, size_t count, Handle* handles, Witness* witnesses) {
  while (count > 0) {
    const size_t group = std::min(count, kGroup);
    const uint32_t failed =
        Sync::section(latch_, sync::Operation::kBatch, [&]() -> uint32_t { return get_group(keys, group, handles, witnesses); });
    // A writer came between; these few go down again by themselves.
    for (size_t i = 0; failed >> i != 0; ++i) {
      if ((failed >> i & 1) == 0) continue;
      Hint hint;
      Witness witness;
      handles[i] = get_by_descent(keys[i], hint, witness);
      if (witnesses) witnesses[i] = witness;
    }
    keys += group;
    handles += group;
    if (witnesses) witnesses += group;
    count -= group;
  }
}

// Returns a bit for each key whose lookup met a writer.
template <sync::Policy Sync, class KeyType>
uint32_t BTree<Sync, KeyType>::get_group(const Key* keys, size_t count, Handle* handles, Witness* witnesses) const {
  const uint32_t all = static_cast<uint32_t>((uint64_t{1} << count) - 1);
  Node* root;
  ReadGuard root_guard;
  if (!start_at_root(root, root_guard)) return all;
  Node* nodes[kGroup];
  ReadGuard guards[kGroup];
  unsigned positions[kGroup], counts[kGroup];
  for (size_t i = 0; i < count; ++i) {
    nodes[i] = root;
    guards[i] = root_guard;
  }
  uint32_t failed = 0;
  for (unsigned level = root->level(); level > 0; --level) {
    for (size_t i = 0; i < count; ++i) {
      const Inner* const inner = as_inner(nodes[i]);
      positions[i] = inner->child_of(keys[i], inner->count());
      inner->prefetch_child(positions[i]);
    }
    Node* children[kGroup];
    for (size_t i = 0; i < count; ++i) {
      children[i] = as_inner(nodes[i])->child(positions[i]);
      if (level == 1) {
        as_leaf(children[i])->prefetch_keys();
      } else {
        as_inner(children[i])->prefetch_keys();
      }
    }
    ELIDER_TEST_POINT("btree.children_read");
    for (size_t i = 0; i < count; ++i) {
      const ReadGuard child_guard(children[i]->word);
      // What failed goes on all the same: its result is thrown away, but the levels stay even.
      if (!guards[i].valid() || child_guard.obsolete()) [[unlikely]] failed |= uint32_t{1} << i;
      nodes[i] = children[i];
      guards[i] = child_guard;
    }
  }
  for (size_t i = 0; i < count; ++i) {
    const Leaf* const leaf = as_leaf(nodes[i]);
    counts[i] = leaf->count();
    positions[i] = leaf->position_of(keys[i], counts[i]);
    leaf->prefetch_handle(positions[i]);
  }
  for (size_t i = 0; i < count; ++i) {
    const Leaf* const leaf = as_leaf(nodes[i]);
    handles[i] = positions[i] < counts[i] ? leaf->handle(positions[i]) : kNoHandle;
    if (witnesses) witnesses[i] = {leaf->word.address(), guards[i].version()};
    if (!guards[i].valid()) [[unlikely]] failed |= uint32_t{1} << i;
  }
  return failed;
}

}  // namespace elider::index
