// BTree: removal and the unlinking of empty nodes. Included by the instantiations only.
//
// Most removals change one leaf. The removal of a leaf's last entry also unlinks the leaf, and
// every ancestor without another child. The lowest ancestor with at least two children, the anchor,
// loses one of them, and a neighbour of that child covers the range from then on. The neighbour's
// version need not increase, because a transaction that saw the range empty holds a witness of the
// unlinked leaf, whose version has changed. A removal writes four cache lines of the leaf. If the
// leaf becomes empty, the removal also writes the cache lines of the anchor, and the cache line of
// the version word in each node between them.
#pragma once

#include <array>
#include <optional>

#include "base/check.h"
#include "base/spin.h"
#include "index/btree/btree.h"

namespace elider::index {

// The path from the anchor to the leaf, excluding the leaf. If every ancestor has only one child,
// `anchor` is null and `single` starts at the root.
template <sync::Policy Sync, class KeyType>
struct BTree<Sync, KeyType>::Path {
  Inner* anchor = nullptr;
  ReadGuard anchor_guard;
  unsigned anchor_child = 0;
  unsigned single_count = 0;  // nodes with one child, from the top down
  std::array<Inner*, kLevelsMax> single;
  std::array<ReadGuard, kLevelsMax> single_guards;

  void pass(Inner* inner, const ReadGuard& guard, unsigned child) {
    if (inner->count() > 0) {
      anchor = inner;
      anchor_guard = guard;
      anchor_child = child;
      single_count = 0;
    } else {
      single[single_count] = inner;
      single_guards[single_count++] = guard;
    }
  }
};

template <sync::Policy Sync, class KeyType>
bool BTree<Sync, KeyType>::remove(Worker& worker, const Key& key, Handle expected) {
  Spin spin;
  bool structure = false;
  while (true) {
    Unlinked unlinked;
    const RemoveAttempt attempt = Sync::section(latch_, sync::Operation::kRemove, [&]() -> RemoveAttempt {
      if constexpr (Sync::kRegions) unlinked.count = 0, unlinked.separator = nullptr;  // discards what an aborted run of this body left
      if (structure) return remove_last(key, expected, unlinked);
      Place place;
      return descend(key, place) ? remove_at(place, key, expected) : RemoveAttempt{};
    });
    if constexpr (Sync::kRegions)
      if (unlinked.count != 0) latch_.set_height(height());
    retire(worker, unlinked);
    if (attempt.progress == Progress::kDone) {
      if (attempt.removed) counts_.add(worker.id(), -1, 0);
      return attempt.removed;
    }
    // If the leaf has received more entries meanwhile, remove_last() leaves the removal to
    // remove_at().
    if (attempt.progress == Progress::kStructure) {
      structure = !structure;
    } else {
      spin.wait();
    }
  }
}

template <sync::Policy Sync, class KeyType>
auto BTree<Sync, KeyType>::remove_at(const Place& place, const Key& key, Handle expected) -> RemoveAttempt {
  Leaf* const leaf = place.leaf;
  const unsigned count = leaf->count();
  const Spot spot = leaf->template spot_of_entry<kWide>(key, expected, count);
  if (!spot.found) return {place.guard.valid() ? Progress::kDone : Progress::kRestart, false};
  if (count == 1 && root_node() != leaf) return {place.guard.valid() ? Progress::kStructure : Progress::kRestart, false};
  WriteGuard write(leaf->word, place.guard);
  if (!write.owns()) return {};
  leaf->erase(spot.position);
  write.raise();
  return {Progress::kDone, true};
}

// Removes the only entry of a leaf that is not the root.
template <sync::Policy Sync, class KeyType>
auto BTree<Sync, KeyType>::remove_last(const Key& key, Handle expected, Unlinked& unlinked) -> RemoveAttempt {
  if (lower_root(unlinked)) return {};
  Node* node;
  ReadGuard guard;
  if (!start_at_root(node, guard)) return {};
  Path path;
  Place place;
  while (node->level() > 0) {
    unsigned child;
    Node* const below = step_down(as_inner(node), key, child, place.fences);
    path.pass(as_inner(node), guard, child);
    const ReadGuard below_guard(below->word);
    if (!guard.valid() || below_guard.obsolete()) return {};
    node = below;
    guard = below_guard;
  }
  place.leaf = as_leaf(node);
  place.guard = guard;
  if (!place.leaf->template spot_of_entry<kWide>(key, expected, place.leaf->count()).found)
    return {guard.valid() ? Progress::kDone : Progress::kRestart, false};
  // The leaf stays if it has received another entry or has become the root.
  if (place.leaf->count() > 1 || root_node() == node) return {guard.valid() ? Progress::kStructure : Progress::kRestart, false};
  return unlink(path, place, unlinked);
}

template <sync::Policy Sync, class KeyType>
auto BTree<Sync, KeyType>::unlink(const Path& path, const Place& place, Unlinked& unlinked) -> RemoveAttempt {
  ELIDER_TEST_POINT("btree.before_unlink");
  std::optional<WriteGuard> write_anchor;
  if (path.anchor) {
    write_anchor.emplace(path.anchor->word, path.anchor_guard);
    if (!write_anchor->owns()) return {};
  }
  std::array<std::optional<WriteGuard>, kLevelsMax> write_single;
  for (unsigned i = 0; i < path.single_count; ++i) {
    write_single[i].emplace(path.single[i]->word, path.single_guards[i]);
    if (!write_single[i]->owns()) return {};
  }
  WriteGuard write(place.leaf->word, place.guard);
  if (!write.owns()) return {};

  if (path.anchor) {
    if constexpr (Traits::kOwnSeparators) unlinked.separator = path.anchor->erase_child(path.anchor_child);
    else path.anchor->erase_child(path.anchor_child);
    write_anchor->raise();
    place.leaf->set_count(0);
    write.retire();
    unlinked.nodes[unlinked.count++] = place.leaf;
  } else {
    // This is the only leaf of the tree, so it becomes the root, and remains linked although it is
    // empty.
    if (root_node() != path.single[0]) return {};
    place.leaf->erase(0);
    write.raise();
    set_root(place.leaf);
  }
  for (unsigned i = 0; i < path.single_count; ++i) {
    write_single[i]->retire();
    unlinked.nodes[unlinked.count++] = path.single[i];
  }
  return {Progress::kDone, true};
}

// Unlinks an inner root that has one child. Returns true if it has unlinked one. The child is not
// changed, because as the root it covers the same range. One call lowers the tree by one level; the
// caller repeats the call until the function returns false.
template <sync::Policy Sync, class KeyType>
bool BTree<Sync, KeyType>::lower_root(Unlinked& unlinked) {
  Node* node;
  ReadGuard guard;
  if (!start_at_root(node, guard) || node->level() == 0 || node->count() > 0) return false;
  WriteGuard write(node->word, guard);
  if (!write.owns() || root_node() != node) return false;
  set_root(as_inner(node)->child(0));
  write.retire();
  unlinked.nodes[unlinked.count++] = node;
  return true;
}

template <sync::Policy Sync, class KeyType>
void BTree<Sync, KeyType>::retire(Worker& worker, const Unlinked& unlinked) {
  for (unsigned i = 0; i < unlinked.count; ++i) {
    Node* const node = unlinked.nodes[i];
    if (node == &first_leaf_) continue;  // a member of the tree; not reused
    const size_t bytes = bytes_of(node);
    counts_.add(worker.id(), 0, -static_cast<int64_t>(bytes));
    worker.retire_memory(node, bytes, MemoryPart::kIndexes);
  }
  if constexpr (Traits::kOwnSeparators) {
    if (unlinked.separator == nullptr) return;
    const size_t bytes = bytes_of(unlinked.separator);
    counts_.add(worker.id(), 0, -static_cast<int64_t>(bytes));
    worker.retire_memory(const_cast<KeyBytes*>(unlinked.separator), bytes, MemoryPart::kIndexes);
  }
}

}  // namespace elider::index
