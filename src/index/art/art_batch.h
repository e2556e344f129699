// RadixTree: batched lookups. Included by the instantiations only.
//
// A group of lookups descends together. Each round reads one node per lookup, and prefetches the
// cache lines that the next round reads, so that the cache misses of a level overlap.
#pragma once

#include <algorithm>

#include "base/bits.h"
#include "index/art/art.h"

namespace elider::index {

template <sync::Policy Sync, class KeyType>
void RadixTree<Sync, KeyType>::multi_get(const BatchKey* keys, size_t count, Handle* handles, Witness* witnesses, Ahead ahead) {
  Key group[kGroup];
  Witness seen[kGroup];
  for (size_t begin = 0; begin < count; begin += kGroup) {
    const size_t size = std::min(kGroup, count - begin);
    for (size_t i = 0; i < size; ++i) {
      if constexpr (Traits::kBytes) group[i] = {keys[begin + i].bytes()};
      else group[i] = keys[begin + i];
    }
    const uint32_t failed = Sync::section(latch_, sync::Operation::kBatch, [&]() -> uint32_t {
      return get_group(group, size, handles + begin, seen, ahead);
    });
    // The failed lookups descend again, one by one. A lookup fails if a writer has interfered, or
    // if another node covers the key.
    for (const uint32_t i : Bits(failed)) {
      handles[begin + i] = get_again(group[i], seen[i], ahead);
    }
    if (witnesses != nullptr) std::copy_n(seen, size, witnesses + begin);
  }
}

template <sync::Policy Sync, class KeyType>
inline void RadixTree<Sync, KeyType>::prefetch(RadixRef node, const Key& key) {
  __builtin_prefetch(node.as<const char>(), 0, 3);
  if (node.depth() < Traits::size(key))
    with_node<Traits>(node, [&](const auto& it) { it.prefetch(Traits::byte(key, node.depth())); });
}

// Returns one bit per key, set if the result of its lookup must be discarded.
template <sync::Policy Sync, class KeyType>
uint32_t RadixTree<Sync, KeyType>::get_group(const Key* keys, size_t count, Handle* handles, Witness* witnesses, Ahead ahead) const {
  RadixRef nodes[kGroup];
  Entry leaves[kGroup];  // entries that are being prefetched
  Witness seen[kGroup];  // the witnesses of these entries
  for (size_t i = 0; i < count; ++i) {
    nodes[i] = root();
    leaves[i] = {};
    prefetch(nodes[i], keys[i]);
  }
  uint32_t failed = 0, left = static_cast<uint32_t>((uint64_t{1} << count) - 1);
  while (left != 0) {
    for (const uint32_t i : Bits(left)) {  // a copy: the lookups that were unfinished when the round began
      const uint32_t bit = uint32_t{1} << i;
      const Key& key = keys[i];
      const RadixRef node = nodes[i];
      if (Traits::kBytes && !leaves[i].empty()) {
        handles[i] = Traits::handle_of(leaves[i], key);
        if (handles[i] == kNoHandle && !leads_to(key, node)) failed |= bit;
        witnesses[i] = seen[i];
        prefetch_ahead(handles[i], ahead);
        left &= ~bit;
        continue;
      }
      if (Traits::size(key) < node.depth()) {
        failed |= bit, left &= ~bit;
        continue;
      }
      const ReadGuard guard(as_node(node)->word);
      const int position = Traits::position(key, node.depth());
      const Entry entry = guard.obsolete() ? Entry{} : radix_entry<Traits>(node, position);
      const bool ends = entry.empty() || Traits::is_leaf(entry, node.depth(), position);
      if (!guard.valid() || guard.obsolete()) [[unlikely]] {
        failed |= bit, left &= ~bit;
      } else if (!ends) {
        nodes[i] = entry.child();
        prefetch(nodes[i], key);
      } else if (Traits::kBytes && !entry.empty()) {
        leaves[i] = entry;
        seen[i] = witness_of(node, guard.version());
        for (size_t line = 0; line < 2; ++line) __builtin_prefetch(entry.child().template as<const char>() + 64 * line, 0, 3);
      } else {
        handles[i] = entry.empty() ? kNoHandle : Traits::handle_of(entry, key);
        if (handles[i] == kNoHandle && !leads_to(key, node)) failed |= bit;
        witnesses[i] = witness_of(node, guard.version());
        prefetch_ahead(handles[i], ahead);
        left &= ~bit;
      }
    }
    ELIDER_TEST_POINT("art.children_read");
  }
  return failed;
}

}  // namespace elider::index
