// BTree: batched lookups. Included by the instantiations only.
//
// A group of lookups descends together, level by level. Each level takes two rounds, and each round
// prefetches what the next one reads: first the slots of the children, and then the children's
// keys. The cache misses of a level thus overlap, and a group waits for about two misses per level
// instead of two per level and key. Only cache lines that will be read are prefetched, because the
// processor limits the number of outstanding misses.
#pragma once

#include <algorithm>

#include "index/btree/btree.h"

namespace elider::index {

namespace detail {
// Returns true if `next` is probably in the leaf of `key`, or in the leaf after it.
inline bool is_near(uint64_t key, uint64_t next) { return next - key <= BTreeLeaf<uint64_t>::kEntries; }
inline bool is_near(const SecondaryKey&, const SecondaryKey&) { return false; }
inline bool is_near(const ByteKey&, const ByteKey&) { return false; }
}  // namespace detail

// Consecutive keys that are close to each other form a run. The first key of a run, its head,
// descends together with the heads of other runs. The lookups of the run's other keys start at the
// head's leaf.
template <sync::Policy Sync, class KeyType>
void BTree<Sync, KeyType>::multi_get(const BatchKey* keys, size_t count, Handle* handles, Witness* witnesses, Ahead ahead) {
  Key heads[kGroup];
  Handle found[kGroup];
  Hint hints[kGroup];
  size_t ends[kGroup];  // the ends of the runs
  for (size_t begin = 0; begin < count;) {
    size_t runs = 0;
    size_t at = begin;
    if constexpr (Traits::kOwnSeparators) {
      for (size_t i = begin; i < std::min(begin + kGroup, count); ++i) __builtin_prefetch(Traits::in_batch(keys[i]).bytes, 0, 3);
    }
    for (; at < count && runs < kGroup; ++runs) {
      heads[runs] = Traits::in_batch(keys[at]);
      do ++at;
      while (at < count && detail::is_near(Traits::in_batch(keys[at - 1]), Traits::in_batch(keys[at])));
      ends[runs] = at;
    }
    const uint32_t failed =
        Sync::section(latch_, sync::Operation::kBatch, [&]() -> uint32_t { return get_group(heads, runs, found, hints, ahead); });
    for (size_t run = 0; run < runs; begin = ends[run++]) {
      Hint& hint = hints[run];
      Witness witness;
      // The few lookups that failed descend again one by one.
      if (failed >> run & 1) [[unlikely]] {
        if constexpr (Traits::kOwnSeparators) found[run] = get_with<Fences>(heads[run], hint, witness);
        else found[run] = get_by_descent(heads[run], hint, witness);
      }
      handles[begin] = found[run];
      if (witnesses) witnesses[begin] = {hint.leaf->word.address(), hint.version};
      for (size_t i = begin + 1; i < ends[run]; ++i) {
        handles[i] = get(Traits::in_batch(keys[i]), hint, witness);
        prefetch_ahead(handles[i], ahead);
        if (witnesses) witnesses[i] = witness;
      }
    }
  }
}

// Returns one bit per key, set if its lookup must be repeated, because a concurrent writer
// invalidated it, or because the leaf does not contain the key and may not cover it. The hint of a
// lookup covers the keys from its key to the last key of the leaf, or only its key if that is
// absent. With byte keys, a level has a further round, which prefetches the line of heads to
// search, and a lookup has a further round, which prefetches the row of the first entry that has
// the key's tag.
template <sync::Policy Sync, class KeyType>
uint32_t BTree<Sync, KeyType>::get_group(const Key* keys, size_t count, Handle* handles, Hint* hints, Ahead ahead) const {
  const uint32_t all = static_cast<uint32_t>((uint64_t{1} << count) - 1);
  Node* root;
  ReadGuard root_guard;
  if (!start_at_root(root, root_guard)) return all;
  Node* nodes[kGroup];
  ReadGuard guards[kGroup];
  unsigned positions[kGroup];
  BatchFences fences[kGroup];
  for (size_t i = 0; i < count; ++i) {
    nodes[i] = root;
    guards[i] = root_guard;
  }
  uint32_t failed = 0;
  for (unsigned level = root->level(); level > 0; --level) {
    if constexpr (Traits::kOwnSeparators) {
      for (size_t i = 0; i < count; ++i) as_inner(nodes[i])->template prefetch_heads<kWide>(keys[i]);
    }
    for (size_t i = 0; i < count; ++i) {
      const Inner* const inner = as_inner(nodes[i]);
      const unsigned separators = inner->count();
      positions[i] = fences[i].template child_of<kWide>(*inner, keys[i], separators);
      inner->prefetch_child(positions[i]);
      fences[i].narrow(*inner, positions[i], separators);
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
      // A failed lookup continues, to keep the levels in step. Its result is discarded.
      if (!guards[i].valid() || child_guard.obsolete()) [[unlikely]] failed |= uint32_t{1} << i;
      nodes[i] = children[i];
      guards[i] = child_guard;
    }
  }
  uint32_t assumed = 0;
  if constexpr (Traits::kOwnSeparators) {
    for (size_t i = 0; i < count; ++i) assumed |= uint32_t{fences[i].assumed} << i;
  }
  return failed | find_group(keys, count, nodes, guards, assumed, handles, hints, ahead);
}

// Finds the keys in their leaves, as the last step of get_group().
template <sync::Policy Sync, class KeyType>
[[gnu::always_inline]] inline uint32_t BTree<Sync, KeyType>::find_group(const Key* keys, size_t count, Node* const* nodes,
                                                                        const ReadGuard* guards, [[maybe_unused]] uint32_t assumed,
                                                                        Handle* handles, Hint* hints, Ahead ahead) const {
  uint32_t failed = 0;
  unsigned positions[kGroup], counts[kGroup];
  for (size_t i = 0; i < count; ++i) {
    const Leaf* const leaf = as_leaf(nodes[i]);
    counts[i] = leaf->count();
    positions[i] = leaf->template position_of<kWide>(keys[i], counts[i]);
    leaf->prefetch_handle(positions[i]);
  }
  if constexpr (Traits::kOwnSeparators) {
    for (size_t i = 0; i < count; ++i) as_leaf(nodes[i])->prefetch_row(positions[i], counts[i], keys[i], rows_, ahead);
  }
  for (size_t i = 0; i < count; ++i) {
    Leaf* const leaf = as_leaf(nodes[i]);
    if constexpr (Traits::kOwnSeparators) {
      handles[i] = leaf->template find_from<kWide>(positions[i], keys[i], counts[i], rows_);
      if (handles[i] == kNoHandle) failed |= assumed & uint32_t{1} << i;
      hints[i] = {leaf, guards[i].version()};
    } else {
      handles[i] = positions[i] < counts[i] ? leaf->handle(positions[i]) : kNoHandle;
      prefetch_ahead(handles[i], ahead);
      const Key last = positions[i] < counts[i] ? leaf->key(counts[i] - 1) : keys[i];
      hints[i] = {leaf, guards[i].version(), keys[i], last};
    }
    if (!guards[i].valid()) [[unlikely]] failed |= uint32_t{1} << i;
  }
  return failed;
}

}  // namespace elider::index
