// RadixTree: removal. Included by the instantiations only.
//
// Most removals clear one slot of one node. If a node is left with one entry, that entry replaces
// the node in its parent. If a node is left with few entries, a smaller node replaces it, provided
// that the memory can be allocated. A removal writes the same cache lines of the node as an
// insertion. If the node is replaced, it also writes the cache lines of the parent's version word
// and slot.
#pragma once

#include "base/spin.h"
#include "index/art/art.h"

namespace elider::index {

template <sync::Policy Sync, class KeyType>
bool RadixTree<Sync, KeyType>::remove(Worker& worker, const Key& key, Handle expected) {
  Spin spin;
  RadixRef spare;
  bool may_shrink = true;
  while (true) {
    const RemoveAttempt attempt = Sync::section(latch_, sync::Operation::kRemove, [&]() -> RemoveAttempt {
      Place place;
      return descend(key, nullptr, place) ? remove_at(place, key, expected, spare, may_shrink) : RemoveAttempt{};
    });
    if (attempt.progress == Progress::kDone) [[likely]] {
      int64_t bytes = 0;
      if (attempt.used_node) bytes += static_cast<int64_t>(bytes_of(spare)), spare = RadixRef();
      if (attempt.leaf.bits() != 0) {
        RadixLeaf* const leaf = attempt.leaf.template as<RadixLeaf>();
        const size_t leaf_bytes = RadixLeaf::bytes_for(leaf->key.size);
        bytes -= static_cast<int64_t>(leaf_bytes);
        worker.retire_memory(leaf, leaf_bytes, MemoryPart::kIndexes);
      }
      if (attempt.removed) counts_.add(worker.id(), -1, bytes);
      if (attempt.unlinked.bits() != 0) retire(worker, attempt.unlinked);
      give_back(worker, spare, nullptr);
      return attempt.removed;
    }
    if (attempt.progress == Progress::kMemory) may_shrink = take_node(worker, attempt.needs, attempt.depth, spare);
    else spin.wait();
  }
}

template <sync::Policy Sync, class KeyType>
auto RadixTree<Sync, KeyType>::remove_at(const Place& place, const Key& key, Handle expected, RadixRef spare, bool may_shrink)
    -> RemoveAttempt {
  RemoveAttempt attempt;
  if (place.there != There::kKey || Traits::handle(place.entry) != expected) {
    if (place.guard.valid()) attempt.progress = Progress::kDone;
    return attempt;
  }
  if constexpr (Traits::kBytes) attempt.leaf = place.entry.child();
  const bool is_root = place.parent.bits() == 0;
  const RadixKind kind = place.node.kind();
  if (!is_root && as_node(place.node)->entries() == 2) return merge(place, key, attempt);
  const bool shrinks = !is_root && may_shrink && as_node(place.node)->count() <= Node::few(kind) + 1 && kind != RadixKind::kNode4;
  if (shrinks) {
    attempt.needs = Node::smaller(kind);
    attempt.depth = place.node.depth();
    if (spare.kind() != attempt.needs || (Traits::kBytes && spare.depth() != attempt.depth)) {
      attempt.progress = place.guard.valid() ? Progress::kMemory : Progress::kRestart;
      return attempt;
    }
    ELIDER_TEST_POINT("art.before_shrink");
    WriteGuard write_parent(as_node(place.parent)->word, place.parent_guard);
    if (!write_parent.owns()) return {};
    WriteGuard write(as_node(place.node)->word, place.guard);
    if (!write.owns()) return {};
    const RadixRef made(as_node(spare), attempt.needs, attempt.depth);
    Traits::template copy_path<Node>(as_node(made), made, place.node);
    radix_copy<Traits>(made, place.node, place.position);
    radix_slot_of_writer<Traits>(place.parent, Traits::position(key, place.parent.depth())).replace_child(made);
    write.retire();
    attempt.used_node = true;
    attempt.unlinked = place.node;
  } else {
    WriteGuard write(as_node(place.node)->word, place.guard);
    if (!write.owns()) return {};
    ELIDER_TEST_POINT("art.locked_for_remove");
    radix_erase<Traits>(place.node, place.position);
    write.raise();
  }
  attempt.progress = Progress::kDone;
  attempt.removed = true;
  return attempt;
}

// Replaces the node with its remaining entry, so that the parent covers the node's range. A
// transaction that has read the node detects this, because it holds a witness of the node, whose
// version changes.
template <sync::Policy Sync, class KeyType>
auto RadixTree<Sync, KeyType>::merge(const Place& place, const Key& key, RemoveAttempt attempt) -> RemoveAttempt {
  ELIDER_TEST_POINT("art.before_merge");
  WriteGuard write_parent(as_node(place.parent)->word, place.parent_guard);
  if (!write_parent.owns()) return {};
  WriteGuard write(as_node(place.node)->word, place.guard);
  if (!write.owns()) return {};
  int at = radix_next<Traits>(place.node, kEnd);
  if (at == place.position) at = radix_next<Traits>(place.node, at + 1);
  const Entry left = radix_entry<Traits>(place.node, at);
  Slot& slot = radix_slot_of_writer<Traits>(place.parent, Traits::position(key, place.parent.depth()));
  if (Traits::is_leaf(left, place.node.depth(), at)) {
    slot.store(left);
    // A number slot has two words. The higher version prevents readers from combining an old word
    // with a new one.
    if (!ELIDER_MUTANT(kRadixKeepParent)) write_parent.raise();
  } else {
    slot.replace_child(left.child());
  }
  write.retire();
  attempt.unlinked = place.node;
  attempt.progress = Progress::kDone;
  attempt.removed = true;
  return attempt;
}

}  // namespace elider::index
