// BTree: descents and point lookups. Included by the instantiations only.
//
// A descent couples guards: it acquires the child's guard, and then checks that the parent has not
// changed since it was read. From then on, the child covers at least the range that the parent
// assigned to it. The range shrinks only if the child is split, which increases the child's
// version. It grows when a neighbour is unlinked, which is harmless. A descent reads four cache
// lines in a leaf and seven in each inner node, and does not write.
#pragma once

#include <algorithm>
#include <type_traits>

#include "base/spin.h"
#include "index/btree/btree.h"

namespace elider::index {

template <sync::Policy Sync, class KeyType>
BTree<Sync, KeyType>::BTree(Rows rows) : root_(&first_leaf_), rows_(rows) {
  first_leaf_.start_leaf();
}

// Reads the root pointer again after acquiring the guard. Otherwise the left half of a root that
// has just been split could be mistaken for the root.
template <sync::Policy Sync, class KeyType>
inline bool BTree<Sync, KeyType>::start_at_root(Node*& node, ReadGuard& guard) const {
  node = root_node();
  ELIDER_TEST_POINT("btree.root_read");
  guard = ReadGuard(node->word);
  return !guard.obsolete() && root_node() == node;
}

// Returns the child that covers the target. Sets `position` to the child's position, and narrows
// `fences` to the child's range.
template <sync::Policy Sync, class KeyType>
template <class F>
inline auto BTree<Sync, KeyType>::step_down(const Inner* inner, const Target& target, unsigned& position, F& fences) -> Node* {
  const unsigned count = inner->count();
  position = fences.template child_of<kWide>(*inner, target, count);
  Node* const child = inner->child(position);
  if (inner->level() == 1) {
    F::prefetch(*as_leaf(child));
  } else {
    as_inner(child)->prefetch_rest();
  }
  fences.narrow(*inner, position, count);
  return child;
}

template <sync::Policy Sync, class KeyType>
template <class F>
[[gnu::always_inline]] inline bool BTree<Sync, KeyType>::descend(const Target& target, PlaceOf<F>& place) const {
  Node* node;
  ReadGuard guard;
  if (!start_at_root(node, guard)) return false;
  F fences;
  while (node->level() > 0) {
    unsigned position;
    Node* const child = step_down(as_inner(node), target, position, fences);
    ELIDER_TEST_POINT("btree.child_read");
    // The epoch keeps the child alive although the pointer has not been validated yet.
    const ReadGuard child_guard(child->word);
    if (!guard.valid() || child_guard.obsolete()) return false;
    node = child;
    guard = child_guard;
  }
  place = {as_leaf(node), guard, fences};
  return true;
}

template <sync::Policy Sync, class KeyType>
template <class F>
inline Handle BTree<Sync, KeyType>::get_with(const Key& key, Hint& hint, Witness& witness) {
  Spin spin;
  while (true) {
    bool assumed = false;
    const Hinted attempt = Sync::section(latch_, sync::Operation::kGet, [&]() -> Hinted {
      PlaceOf<F> place;
      if (!descend(key, place)) return {false, kNoHandle};
      const Handle handle = place.leaf->template find<kWide>(key, rows_);
      // The hint is set before validation. If the attempt fails, the next one overwrites it.
      hint.set(place.leaf, place.guard.version(), place.fences);
      assumed = handle == kNoHandle && place.fences.assumed;
      return {place.guard.valid(), handle};
    });
    if constexpr (!std::is_same_v<F, Fences>)
      if (assumed) return get_with<Fences>(key, hint, witness);
    if (attempt.hit) [[likely]] {
      witness = {hint.leaf->word.address(), hint.version};
      return attempt.handle;
    }
    spin.wait();
  }
}

template <sync::Policy Sync, class KeyType>
Handle BTree<Sync, KeyType>::get_by_descent(const Key& key, Hint& hint, Witness& witness) {
  return get_with<LookupFences>(key, hint, witness);
}

}  // namespace elider::index
