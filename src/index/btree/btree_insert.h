// BTree: insertion and splits. Included by the instantiations only.
//
// The common insertion changes one leaf. A full leaf ends the attempt; the operation takes memory for
// new nodes outside its section and comes back, splitting on its way down every full inner node it
// meets, so that a split never needs more than its parent. One attempt splits one node, or adds a root.
// Cache lines written: a leaf's four; in a split, those of the node, its new sibling and the parent.
#pragma once

#include <new>

#include "base/check.h"
#include "base/spin.h"
#include "htm/prefault.h"
#include "index/btree/btree.h"

namespace elider::index {

// How a full leaf is divided for an insertion: how many entries stay left, and where the new one goes.
struct Division {
  unsigned at;
  bool goes_left;
};
// A leaf that is filled in ascending order is divided at the insertion, which goes left unless the left
// one is full: so ascending runs, several beside each other too, leave full leaves behind them. Others
// are halved.
inline Division divide(const BTreeNode& leaf, unsigned position, unsigned count) {
  if (leaf.ascends_at(position)) return {position, position < count};
  const unsigned half = count / 2;
  return position > half ? Division{half + 1, false} : Division{half, true};
}

template <sync::Policy Sync, class KeyType>
InsertResult BTree<Sync, KeyType>::get_or_insert(Worker& worker, const Key& key, Handle candidate, Hint& hint) {
  Spin spin;
  Spares spares;
  bool use_hint = hint.covers(key);
  bool splitting = false;
  while (true) {
    const InsertAttempt attempt = Sync::section(latch_, sync::Operation::kInsert, [&]() -> InsertAttempt {
      if (splitting) return insert_splitting(key, candidate, spares);
      Place place;
      if (use_hint) {
        place = {hint.leaf, ReadGuard::resume(hint.leaf->word, hint.version), hint.first, hint.last};
        if (!place.guard.current()) return {};
      } else if (!descend(key, place)) {
        return {};
      }
      return insert_at(place, key, candidate);
    });
    if (attempt.used_leaf) spares.leaf = nullptr;
    if (attempt.used_inner) spares.inner = nullptr;
    if constexpr (Sync::kRegions)
      if (attempt.used_inner) latch_.set_height(height());  // a taller tree's regions are tried less often
    if (attempt.used_leaf || attempt.used_inner || attempt.result.inserted)
      counts_.add(worker.id(), attempt.result.inserted ? 1 : 0,
                  (attempt.used_leaf ? int64_t{sizeof(Leaf)} : 0) + (attempt.used_inner ? int64_t{sizeof(Inner)} : 0));
    if (attempt.progress == Progress::kDone) [[likely]] {
      hint = attempt.hint;
      give_back(worker, spares);
      return attempt.result;
    }
    if (attempt.progress == Progress::kSplit) splitting = true;
    if (splitting && !take_spares(worker, spares)) {
      give_back(worker, spares);
      return {};
    }
    if (attempt.progress == Progress::kRestart && !use_hint && !attempt.used_inner) spin.wait();
    use_hint = false;
  }
}

template <sync::Policy Sync, class KeyType>
auto BTree<Sync, KeyType>::insert_at(const Place& place, const Key& key, Handle candidate) -> InsertAttempt {
  Leaf* const leaf = place.leaf;
  const unsigned count = leaf->count();
  const unsigned position = leaf->lower_bound(key, count);
  InsertAttempt attempt;
  if (position < count && leaf->key(position) == key) {
    attempt.result.handle = leaf->handle(position);
    if (!place.guard.valid()) return {};
    const uint64_t version = place.guard.version();
    attempt.result.before = attempt.result.after = {leaf->word.address(), version};
    attempt.hint = place.hint(version);
    attempt.progress = Progress::kDone;
    return attempt;
  }
  if (count == Leaf::kEntries) {
    attempt.progress = place.guard.valid() ? Progress::kSplit : Progress::kRestart;
    return attempt;
  }
  WriteGuard write(leaf->word, place.guard);
  if (!write.owns()) return {};
  ELIDER_TEST_POINT("btree.locked_for_insert");
  leaf->insert(position, key, candidate);
  if (!ELIDER_MUTANT(kKeepLeafVersion)) write.raise();
  attempt.result = {.handle = candidate,
                    .inserted = true,
                    .before = {leaf->word.address(), place.guard.version()},
                    .after = {leaf->word.address(), write.after()},
                    .split_off = {}};
  attempt.hint = place.hint(write.after());
  attempt.progress = Progress::kDone;
  return attempt;
}

// A descent that splits: at the first full inner node, else at the leaf.
template <sync::Policy Sync, class KeyType>
auto BTree<Sync, KeyType>::insert_splitting(const Key& key, Handle candidate, const Spares& spares) -> InsertAttempt {
  Node* node;
  Place place;
  ReadGuard guard, parent_guard;
  Inner* parent = nullptr;
  unsigned child = 0;
  if (!start_at_root(node, guard)) return {};
  while (node->level() > 0) {
    Inner* const inner = as_inner(node);
    if (inner->full()) return parent ? split_inner(parent, parent_guard, child, inner, guard, spares) : grow_root(node, guard, spares);
    Node* const below = step_down(inner, key, child, place.first, place.last);
    const ReadGuard below_guard(below->word);
    if (!guard.valid() || below_guard.obsolete()) return {};
    parent = inner;
    parent_guard = guard;
    node = below;
    guard = below_guard;
  }
  place.leaf = as_leaf(node);
  place.guard = guard;
  InsertAttempt attempt = insert_at(place, key, candidate);
  if (attempt.progress != Progress::kSplit) return attempt;
  return parent ? split_leaf(parent, parent_guard, child, place, key, candidate, spares) : grow_root(node, guard, spares);
}

// Divides a full leaf and inserts the key. The parent has room, as its guard saw it.
template <sync::Policy Sync, class KeyType>
auto BTree<Sync, KeyType>::split_leaf(Inner* parent, const ReadGuard& parent_guard, unsigned child, const Place& place, const Key& key,
                                      Handle candidate, const Spares& spares) -> InsertAttempt {
  ELIDER_TEST_POINT("btree.before_split");
  WriteGuard write_parent(parent->word, parent_guard);
  if (!write_parent.owns()) return {};
  Leaf* const leaf = place.leaf;
  WriteGuard write(leaf->word, place.guard);
  if (!write.owns()) return {};
  Leaf* const right = new (spares.leaf) Leaf;
  right->start_leaf();

  const unsigned position = leaf->lower_bound(key, Leaf::kEntries);
  const auto [at, goes_left] = divide(*leaf, position, Leaf::kEntries);
  leaf->split_to(*right, at);
  if (goes_left) {
    leaf->insert(position, key, candidate);
  } else {
    right->insert(position - at, key, candidate);
  }
  const Key separator = right->key(0);
  parent->insert(child, separator, right);
  write.raise();
  write_parent.raise();
  ELIDER_TEST_POINT("btree.split_locked");

  InsertAttempt attempt;
  attempt.progress = Progress::kDone;
  attempt.used_leaf = true;
  const uint64_t right_version = right->word.read();
  attempt.result = {.handle = candidate,
                    .inserted = true,
                    .before = {leaf->word.address(), place.guard.version()},
                    .after = {leaf->word.address(), write.after()},
                    .split_off = {right->word.address(), right_version}};
  attempt.hint = goes_left ? Hint{leaf, write.after(), place.first, key_before(separator)}
                           : Hint{right, right_version, separator, place.last};
  return attempt;
}

// Divides a full inner node; its middle separator goes to the parent, which has room, as its guard saw
// it. The operation goes on with another attempt.
template <sync::Policy Sync, class KeyType>
auto BTree<Sync, KeyType>::split_inner(Inner* parent, const ReadGuard& parent_guard, unsigned child, Inner* node, const ReadGuard& guard,
                                       const Spares& spares) -> InsertAttempt {
  WriteGuard write_parent(parent->word, parent_guard);
  if (!write_parent.owns()) return {};
  WriteGuard write(node->word, guard);
  if (!write.owns()) return {};
  Inner* const right = new (spares.inner) Inner;
  right->start_inner(node->level());
  // A run at the end leaves the left node full but for the separator that goes up.
  const unsigned at = node->ascends_at(Inner::kKeys) ? Inner::kKeys - 1 : Inner::kKeys / 2;
  const Key separator = node->split_to(*right, at);
  parent->insert(child, separator, right);
  write.raise();
  write_parent.raise();
  InsertAttempt attempt;
  attempt.used_inner = true;
  return attempt;
}

// Puts a root with one child above a full root. The old one's version need not rise: a descent that
// took it for the root reads in it what it always covered.
template <sync::Policy Sync, class KeyType>
auto BTree<Sync, KeyType>::grow_root(Node* root, const ReadGuard& guard, const Spares& spares) -> InsertAttempt {
  WriteGuard write(root->word, guard);
  if (!write.owns() || root_node() != root) return {};
  ELIDER_CHECK(root->level() + 1 < kLevelsMax, "a B+-tree is never this high");
  Inner* const above = new (spares.inner) Inner;
  above->start_inner(root->level() + 1);
  above->set_only_child(root);
  set_root(above);
  InsertAttempt attempt;
  attempt.used_inner = true;
  return attempt;
}

template <sync::Policy Sync, class KeyType>
bool BTree<Sync, KeyType>::take_spares(Worker& worker, Spares& spares) {
  if (!spares.leaf) spares.leaf = worker.allocate(sizeof(Leaf), MemoryPart::kIndexes);
  if (!spares.inner) spares.inner = worker.allocate(sizeof(Inner), MemoryPart::kIndexes);
  if constexpr (Sync::kRegions) {
    htm::prefault(spares.leaf, sizeof(Leaf));
    htm::prefault(spares.inner, sizeof(Inner));
  }
  return spares.leaf && spares.inner;
}

template <sync::Policy Sync, class KeyType>
void BTree<Sync, KeyType>::give_back(Worker& worker, Spares& spares) {
  if (spares.leaf) worker.free(spares.leaf, sizeof(Leaf), MemoryPart::kIndexes);
  if (spares.inner) worker.free(spares.inner, sizeof(Inner), MemoryPart::kIndexes);
  spares = {};
}

}  // namespace elider::index
