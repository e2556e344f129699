// BTree: insertion and splits. Included by the instantiations only.
//
// Most insertions change one leaf. If the leaf is full, the attempt ends, and the operation
// allocates a leaf outside its section and tries again. If the leaf's parent is also full, the
// attempt ends again, and the operation also allocates an inner node. The next attempt finds the
// chain of full inner nodes directly above the leaf, and splits the topmost node of the chain,
// because the parent of that node has room.
//
// An attempt splits one node or adds a root, so an insertion never allocates more nodes than it
// needs, and a split needs room only in the parent. An insertion writes four cache lines of the
// leaf. A split writes the cache lines of the node, its new sibling and the parent.
#pragma once

#include <cstring>
#include <new>

#include "base/check.h"
#include "base/spin.h"
#include "htm/prefault.h"
#include "index/btree/btree.h"

namespace elider::index {

// How a full leaf is divided for an insertion: how many entries stay in the left leaf, and which
// leaf receives the new entry.
struct Division {
  unsigned at;
  bool goes_left;
};
// A leaf that is filled in ascending order is divided at the insertion position, and the new entry
// is stored in the left leaf unless that leaf is full. Ascending runs, even several concurrent
// ones, thus leave full leaves. Other leaves are halved, or divided near the middle.
template <class Leaf>
inline Division divide(const Leaf& leaf, unsigned position, unsigned count) {
  if (leaf.ascends_at(position)) return {position, position < count};
  const unsigned at = leaf.division(count / 2);
  return position > at ? Division{at + Leaf::kMoreLeft, false} : Division{at, true};
}

template <sync::Policy Sync, class KeyType>
InsertResult BTree<Sync, KeyType>::get_or_insert(Worker& worker, const Key& key, Handle candidate, Hint& hint) {
  bool use_hint = hint.covers(key);
  InsertResult result;
  for (Spin spin;; use_hint = false) {
    const Progress progress = Sync::section(latch_, sync::Operation::kInsert, [&]() -> Progress {
      Place place;
      if (use_hint) {
        place = Place::of(hint);
        if (!place.guard.current()) return Progress::kRestart;
      } else if (!descend(key, place)) {
        return Progress::kRestart;
      }
      return insert_at(place, key, candidate, result, hint);
    });
    if (progress == Progress::kDone) [[likely]] {
      if (result.inserted) counts_.add(worker.id(), 1, 0);
      return result;
    }
    if (progress == Progress::kSplit) return insert_into_full(worker, key, candidate, hint);
    if (!use_hint) spin.wait();
  }
}

// Completes an insertion whose leaf was full. Allocates the nodes that a split needs.
template <sync::Policy Sync, class KeyType>
InsertResult BTree<Sync, KeyType>::insert_into_full(Worker& worker, const Key& key, Handle candidate, Hint& hint) {
  Spin spin;
  Spares spares;
  Progress wanted = Progress::kSplit;
  while (true) {
    if (!take_spare(worker, spares, wanted)) {
      give_back(worker, spares);
      return {};
    }
    const InsertAttempt attempt =
        Sync::section(latch_, sync::Operation::kInsert, [&]() -> InsertAttempt { return insert_splitting(key, candidate, spares); });
    if (attempt.used_leaf) spares.leaf = nullptr;
    if (attempt.used_inner) spares.inner = nullptr;
    if constexpr (Sync::kRegions)
      if (attempt.used_inner) latch_.set_height(height());
    if (attempt.used_leaf || attempt.used_inner || attempt.result.inserted)
      counts_.add(worker.id(), attempt.result.inserted ? 1 : 0,
                  (attempt.used_leaf ? int64_t{sizeof(Leaf)} : 0) + (attempt.used_inner ? int64_t{sizeof(Inner)} : 0));
    if constexpr (Traits::kOwnSeparators) {
      if (attempt.used_leaf) {
        counts_.add(worker.id(), 0, static_cast<int64_t>(bytes_of(spares.separator)));
        spares.separator = nullptr;
      } else if (attempt.separator_bytes != 0 && !take_separator(worker, spares, attempt.separator_bytes)) {
        give_back(worker, spares);
        return {};
      }
    }
    if (attempt.progress == Progress::kDone) [[likely]] {
      hint = attempt.hint;
      give_back(worker, spares);
      return attempt.result;
    }
    if (attempt.progress == Progress::kSplit || attempt.progress == Progress::kSplitInner) {
      wanted = attempt.progress;
    } else if (!attempt.used_inner) {
      spin.wait();
    }
  }
}

// Sets `result` and `hint` if the key was found or inserted. They are written in place, field by
// field, because copying them from frame to frame would be expensive.
template <sync::Policy Sync, class KeyType>
auto BTree<Sync, KeyType>::insert_at(const Place& place, const Key& key, Handle candidate, InsertResult& result, Hint& hint) -> Progress {
  Leaf* const leaf = place.leaf;
  const unsigned count = leaf->count();
  const Spot spot = leaf->template spot_of<kWide>(key, count, place.fences, rows_);
  uint64_t version = place.guard.version();
  if (spot.found) {
    const Handle found = leaf->handle(spot.position);
    if (!place.guard.valid()) return Progress::kRestart;
    result.handle = found;
    result.before = {leaf->word.address(), version};
  } else {
    if (count == Leaf::kEntries) return place.guard.valid() ? Progress::kSplit : Progress::kRestart;
    WriteGuard write(leaf->word, place.guard);
    if (!write.owns()) return Progress::kRestart;
    ELIDER_TEST_POINT("btree.locked_for_insert");
    leaf->insert(spot, key, candidate, rows_);
    write.raise();
    result.handle = candidate;
    result.inserted = true;
    result.before = {leaf->word.address(), version};
    version = write.after();
  }
  result.after = {leaf->word.address(), version};
  hint.set(leaf, version, place.fences);
  return Progress::kDone;
}

// Descends and inserts. If the leaf is full, splits the leaf, or the topmost of the full inner
// nodes directly above it.
template <sync::Policy Sync, class KeyType>
auto BTree<Sync, KeyType>::insert_splitting(const Key& key, Handle candidate, const Spares& spares) -> InsertAttempt {
  Node* node;
  Place place;
  ReadGuard guard, parent_guard;
  Inner* parent = nullptr;
  unsigned child = 0;
  // The topmost of the full inner nodes that the descent has passed since the last node with room.
  struct {
    Inner* node = nullptr;
    Inner* parent = nullptr;
    ReadGuard guard, parent_guard;
    unsigned child = 0;
  } full;
  if (!start_at_root(node, guard)) return {};
  while (node->level() > 0) {
    Inner* const inner = as_inner(node);
    if (!inner->full()) full.node = nullptr;
    else if (full.node == nullptr) full = {inner, parent, guard, parent_guard, child};
    Node* const below = step_down(inner, key, child, place.fences);
    const ReadGuard below_guard(below->word);
    if (!guard.valid() || below_guard.obsolete()) return {};
    parent = inner;
    parent_guard = guard;
    node = below;
    guard = below_guard;
  }
  place.leaf = as_leaf(node);
  place.guard = guard;
  InsertAttempt attempt;
  attempt.progress = insert_at(place, key, candidate, attempt.result, attempt.hint);
  if (attempt.progress != Progress::kSplit || spares.leaf == nullptr) return attempt;
  const bool room_above = parent != nullptr && full.node == nullptr;
  if (room_above) return split_leaf(parent, parent_guard, child, place, key, candidate, spares);
  if (spares.inner == nullptr) {
    attempt.progress = Progress::kSplitInner;
    return attempt;
  }
  if (parent == nullptr) return grow_root(node, guard, spares);
  return full.parent ? split_inner(full.parent, full.parent_guard, full.child, full.node, full.guard, spares)
                     : grow_root(full.node, full.guard, spares);
}

// Divides a full leaf and inserts the key. The parent had room when it was read, and the guard
// detects later changes.
template <sync::Policy Sync, class KeyType>
auto BTree<Sync, KeyType>::split_leaf(Inner* parent, const ReadGuard& parent_guard, unsigned child, const Place& place, const Key& key,
                                      Handle candidate, const Spares& spares) -> InsertAttempt {
  ELIDER_TEST_POINT("btree.before_split");
  WriteGuard write_parent(parent->word, parent_guard);
  if (!write_parent.owns()) return {};
  Leaf* const leaf = place.leaf;
  WriteGuard write(leaf->word, place.guard);
  if (!write.owns()) return {};
  const Spot spot = leaf->template spot_of<kWide>(key, Leaf::kEntries, place.fences, rows_);
  const auto [at, goes_left] = divide(*leaf, spot.position, Leaf::kEntries);
  InsertAttempt attempt;
  Key separator{};
  if constexpr (Traits::kOwnSeparators) {
    const ShortKey shortest = leaf->separator_at(at, goes_left, spot, key, rows_);
    if (spares.separator == nullptr || spares.separator->size != shortest.size) {
      attempt.progress = Progress::kSplit;
      attempt.separator_bytes = shortest.size;
      return attempt;
    }
    std::memcpy(spares.separator->data(), shortest.of.bytes->data(), shortest.size);
    separator = {spares.separator};
  }
  Leaf* const right = new (spares.leaf) Leaf;
  right->start_leaf();
  leaf->split_to(*right, at, goes_left, spot, key, candidate, rows_);
  if constexpr (!Traits::kOwnSeparators) separator = right->key(0);
  parent->insert(child, separator, right);
  write.raise();
  write_parent.raise();
  ELIDER_TEST_POINT("btree.split_locked");

  attempt.progress = Progress::kDone;
  attempt.used_leaf = true;
  const uint64_t right_version = right->word.read();
  attempt.result = {.handle = candidate,
                    .inserted = true,
                    .before = {leaf->word.address(), place.guard.version()},
                    .after = {leaf->word.address(), write.after()},
                    .split_off = {right->word.address(), right_version}};
  if (goes_left) attempt.hint.set(leaf, write.after(), place.fences.before(separator));
  else attempt.hint.set(right, right_version, place.fences.from(separator));
  return attempt;
}

// Divides a full inner node. One of its separators moves to the parent, which had room when it was
// read. The operation continues with another attempt.
template <sync::Policy Sync, class KeyType>
auto BTree<Sync, KeyType>::split_inner(Inner* parent, const ReadGuard& parent_guard, unsigned child, Inner* node, const ReadGuard& guard,
                                       const Spares& spares) -> InsertAttempt {
  WriteGuard write_parent(parent->word, parent_guard);
  if (!write_parent.owns()) return {};
  WriteGuard write(node->word, guard);
  if (!write.owns()) return {};
  Inner* const right = new (spares.inner) Inner;
  right->start_inner(node->level());
  // After an ascending run, the left node stays full except for the separator that moves up.
  const unsigned at = node->ascends_at(Inner::kKeys) ? Inner::kKeys - 1 : node->division(Inner::kKeys / 2);
  const Key separator = node->split_to(*right, at);
  parent->insert(child, separator, right);
  write.raise();
  write_parent.raise();
  InsertAttempt attempt;
  attempt.used_inner = true;
  return attempt;
}

// Adds a root with one child above a full root. The version of the old root need not increase,
// because a descent that started there reads the same range that the node has always covered.
template <sync::Policy Sync, class KeyType>
auto BTree<Sync, KeyType>::grow_root(Node* root, const ReadGuard& guard, const Spares& spares) -> InsertAttempt {
  WriteGuard write(root->word, guard);
  if (!write.owns() || root_node() != root) return {};
  ELIDER_CHECK(root->level() + 1 < kLevelsMax, "a B+-tree has fewer than kLevelsMax levels");
  Inner* const above = new (spares.inner) Inner;
  above->start_inner(root->level() + 1);
  above->set_only_child(root);
  set_root(above);
  InsertAttempt attempt;
  attempt.used_inner = true;
  return attempt;
}

template <sync::Policy Sync, class KeyType>
bool BTree<Sync, KeyType>::take_spare(Worker& worker, Spares& spares, Progress wanted) {
  if (wanted == Progress::kSplit) {
    if (!spares.leaf) spares.leaf = worker.allocate(sizeof(Leaf), MemoryPart::kIndexes);
    if constexpr (Sync::kRegions)
      if (spares.leaf) htm::prefault(spares.leaf, sizeof(Leaf));
    return spares.leaf != nullptr;
  }
  if (!spares.inner) spares.inner = worker.allocate(sizeof(Inner), MemoryPart::kIndexes);
  if constexpr (Sync::kRegions)
    if (spares.inner) htm::prefault(spares.inner, sizeof(Inner));
  return spares.inner != nullptr;
}

// Allocates a separator of this size, after freeing the one that the spares already have.
template <sync::Policy Sync, class KeyType>
bool BTree<Sync, KeyType>::take_separator(Worker& worker, Spares& spares, uint32_t bytes) {
  if (spares.separator) worker.free(spares.separator, bytes_of(spares.separator), MemoryPart::kIndexes);
  spares.separator = nullptr;
  void* const memory = worker.allocate(sizeof(KeyBytes) + bytes, MemoryPart::kIndexes);
  if (memory == nullptr) return false;
  if constexpr (Sync::kRegions) htm::prefault(memory, sizeof(KeyBytes) + bytes);
  spares.separator = new (memory) KeyBytes{bytes};
  return true;
}

template <sync::Policy Sync, class KeyType>
void BTree<Sync, KeyType>::give_back(Worker& worker, Spares& spares) {
  if (spares.leaf) worker.free(spares.leaf, sizeof(Leaf), MemoryPart::kIndexes);
  if (spares.inner) worker.free(spares.inner, sizeof(Inner), MemoryPart::kIndexes);
  if constexpr (Traits::kOwnSeparators)
    if (spares.separator) worker.free(spares.separator, bytes_of(spares.separator), MemoryPart::kIndexes);
  spares = {};
}

}  // namespace elider::index
