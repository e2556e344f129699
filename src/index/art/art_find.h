// RadixTree: descents and point lookups. Included by the instantiations only.
//
// A descent reads a slot, validates the guard of its node, and continues with the child if the
// child is not obsolete. A node's path never changes, and a node that is not obsolete is linked.
// The child therefore covers the keys that start with its path, even if the nodes above it change.
// So the parent need not be validated again. A descent reads at most three cache lines per node,
// and the cache lines of the entry.
#pragma once

#include "base/spin.h"
#include "index/art/art.h"

namespace elider::index {

// Does not compare paths during the descent, because an entry contains its whole key. If the key is
// not found, compares the whole path of the last node.
template <sync::Policy Sync, class KeyType>
inline auto RadixTree<Sync, KeyType>::find(const Key& key) const -> Found {
  constexpr Found kAgain{false, kNoHandle, {}};
  RadixRef ref = root();
  ReadGuard guard(root_.word);
  while (true) {
    if constexpr (Traits::kBytes)
      if (Traits::size(key) < ref.depth()) return kAgain;
    const int position = Traits::position(key, ref.depth());
    const Entry entry = radix_entry<Traits>(ref, position);
    const Handle handle = entry.empty() ? kNoHandle : Traits::handle_of(entry, key);
    if (handle != kNoHandle || entry.empty() || Traits::is_leaf(entry, ref.depth(), position)) {
      // If the key was not found, another node may cover it.
      if (handle == kNoHandle && !leads_to(key, ref) && !ELIDER_MUTANT(kRadixSkipPath)) return kAgain;
      return {guard.valid(), handle, witness_of(ref, guard.version())};
    }
    const RadixRef child = entry.child();
    if (!guard.valid()) return kAgain;
    ELIDER_TEST_POINT("art.child_read");
    // The epoch keeps the child alive.
    const ReadGuard child_guard(as_node(child)->word);
    if (child_guard.obsolete() && !ELIDER_MUTANT(kRadixTrustObsolete)) return kAgain;
    ref = child;
    guard = child_guard;
  }
}

template <sync::Policy Sync, class KeyType>
Handle RadixTree<Sync, KeyType>::get(const Key& key, Witness& witness, Ahead ahead) {
  const Found found = Sync::section(latch_, sync::Operation::kGet, [&] { return find(key); });
  if (!found.valid) [[unlikely]] return get_again(key, witness, ahead);
  prefetch_ahead(found.handle, ahead);
  witness = found.witness;
  return found.handle;
}

// Descends to the node that covers the key, comparing all paths. Starts at the root, or at the
// nodes of `from`, an earlier descent for this key, if they are unchanged. Returns false if the
// caller must start over. `place` is meaningless until its guard has been validated.
template <sync::Policy Sync, class KeyType>
bool RadixTree<Sync, KeyType>::descend(const Key& key, const Place* from, Place& place) const {
  if (from != nullptr) {
    if (!from->guard.current()) return false;
    if (from->parent.bits() != 0 && !from->parent_guard.current()) return false;
    place.parent = from->parent;
    place.parent_guard = from->parent_guard;
    place.node = from->node;
    place.guard = from->guard;
  } else {
    place.parent = RadixRef();
    place.node = root();
    place.guard = ReadGuard(root_.word);
  }
  while (true) {
    const RadixRef node = place.node;
    place.position = Traits::position(key, node.depth());
    place.entry = radix_entry<Traits>(node, place.position);
    place.there = There::kNothing;
    if (place.entry.empty()) return true;
    if (Traits::is_leaf(place.entry, node.depth(), place.position)) {
      place.there = Traits::handle_of(place.entry, key) != kNoHandle ? There::kKey : There::kOther;
      return true;
    }
    const RadixRef child = place.entry.child();
    if (!place.guard.valid()) return false;
    place.branches_at = Traits::template mismatch<Node>(child, key, node.depth() + 1);
    if (place.branches_at < child.depth()) {
      place.there = There::kBranch;
      return true;
    }
    const ReadGuard child_guard(as_node(child)->word);
    if (child_guard.obsolete()) return false;
    place.parent = node;
    place.parent_guard = place.guard;
    place.node = child;
    place.guard = child_guard;
  }
}

template <sync::Policy Sync, class KeyType>
Handle RadixTree<Sync, KeyType>::get_again(const Key& key, Witness& witness, Ahead ahead) {
  Spin spin;
  while (true) {
    const Found found = Sync::section(latch_, sync::Operation::kGet, [&]() -> Found {
      Place place;
      if (!descend(key, nullptr, place)) return {false, kNoHandle, {}};
      const Handle handle = place.there == There::kKey ? Traits::handle(place.entry) : kNoHandle;
      return {place.guard.valid(), handle, witness_of(place.node, place.guard.version())};
    });
    if (found.valid) [[likely]] {
      prefetch_ahead(found.handle, ahead);
      witness = found.witness;
      return found.handle;
    }
    spin.wait();
  }
}

}  // namespace elider::index
