// RadixTree: insertion. Included by the instantiations only.
//
// Most insertions fill one slot of one node. If the slot holds another key, or a child whose path
// is not a prefix of the key, a new Node4 with both takes that slot. If the node is full, a larger
// node replaces it. An attempt that needs memory ends. The operation then allocates the memory
// outside its section, and continues at the same node if the node is unchanged.
//
// An insertion writes the cache lines of the node that contain the version word, a byte and a slot:
// at most four cache lines in a Node48. A small node has at most five cache lines, and an insertion
// may write all of them. If the insertion creates a node, it also writes the cache lines that it
// fills in that node: 2 in a Node4, 6 in a Node16, 18 in a Node48, and 50 in a Node256 (which is
// cleared before the section).
#pragma once

#include "base/spin.h"
#include "htm/prefault.h"
#include "index/art/art.h"

namespace elider::index {

template <sync::Policy Sync, class KeyType>
InsertResult RadixTree<Sync, KeyType>::get_or_insert(Worker& worker, const Key& key, Handle candidate) {
  Spin spin;
  Spares spares;
  Place from;
  bool again = false;
  while (true) {
    Place place;
    InsertOutcome outcome;
    const Progress progress = Sync::section(latch_, sync::Operation::kInsert, [&]() -> Progress {
      if (!descend(key, again ? &from : nullptr, place)) return Progress::kRestart;
      return insert_at(place, key, candidate, spares, outcome);
    });
    if (progress == Progress::kDone) [[likely]] {
      int64_t bytes = 0;
      if (outcome.used_node) bytes += static_cast<int64_t>(bytes_of(spares.node)), spares.node = RadixRef();
      if constexpr (Traits::kBytes)
        if (outcome.result.inserted) bytes += static_cast<int64_t>(RadixLeaf::bytes_for(spares.leaf->key.size)), spares.leaf = nullptr;
      if (outcome.result.inserted) counts_.add(worker.id(), 1, bytes);
      if (outcome.unlinked.bits() != 0) retire(worker, outcome.unlinked);
      give_back(worker, spares.node, spares.leaf);
      return outcome.result;
    }
    again = progress == Progress::kMemory;
    if (again) {
      if (!take_spares(worker, key, candidate, outcome, spares)) {
        give_back(worker, spares.node, spares.leaf);
        return {};
      }
      from = place;
    } else {
      spin.wait();
    }
  }
}

template <sync::Policy Sync, class KeyType>
auto RadixTree<Sync, KeyType>::insert_at(const Place& place, const Key& key, Handle candidate, const Spares& spares,
                                         InsertOutcome& outcome) -> Progress {
  outcome = {};
  const Witness before = witness_of(place.node, place.guard.version());
  if (place.there == There::kKey) {
    const Handle found = Traits::handle(place.entry);
    if (!place.guard.valid()) return Progress::kRestart;
    outcome.result = {.handle = found, .inserted = false, .before = before, .after = before, .split_off = {}};
    return Progress::kDone;
  }
  if (place.there != There::kNothing) return insert_branching(place, key, candidate, spares, outcome);
  const bool full = place.position != kEnd && as_node(place.node)->count() == Node::capacity(place.node.kind());
  if (full) return insert_growing(place, key, candidate, spares, outcome);
  if (Traits::kBytes && spares.leaf == nullptr) return place.guard.valid() ? Progress::kMemory : Progress::kRestart;
  WriteGuard write(as_node(place.node)->word, place.guard);
  if (!write.owns()) return Progress::kRestart;
  ELIDER_TEST_POINT("art.locked_for_insert");
  radix_add<Traits>(place.node, place.position, Traits::leaf_entry(key, candidate, spares.leaf));
  if (!ELIDER_MUTANT(kRadixKeepVersion)) write.raise();
  const Witness after = witness_of(place.node, write.after());
  outcome.result = {.handle = candidate, .inserted = true, .before = before, .after = after, .split_off = {}};
  return Progress::kDone;
}

// Replaces the entry or child at the key's position with a new Node4, which holds the key and the
// replaced entry or child.
template <sync::Policy Sync, class KeyType>
auto RadixTree<Sync, KeyType>::insert_branching(const Place& place, const Key& key, Handle candidate, const Spares& spares,
                                                InsertOutcome& outcome) -> Progress {
  if (!place.guard.valid()) return Progress::kRestart;  // otherwise the other key may be invalid
  const bool other = place.there == There::kOther;
  const unsigned depth = other ? Traits::common(key, Traits::key_of(place.entry)) : place.branches_at;
  outcome.needs = RadixKind::kNode4;
  outcome.depth = depth;
  const bool has_node = spares.node.kind() == RadixKind::kNode4 && (!Traits::kBytes || spares.node.depth() == depth);
  if (!has_node || (Traits::kBytes && spares.leaf == nullptr)) return Progress::kMemory;
  ELIDER_TEST_POINT("art.before_branch");
  WriteGuard write(as_node(place.node)->word, place.guard);
  if (!write.owns()) return Progress::kRestart;
  Slot& slot = radix_slot_of_writer<Traits>(place.node, place.position);
  // The guard does not detect this: replacing a child with another node does not increase the
  // version of its parent.
  if (!other && slot.load().child() != place.entry.child()) return Progress::kRestart;
  const RadixRef made(as_node(spares.node), RadixKind::kNode4, depth);
  Traits::template set_path<Node>(as_node(made), made, key);
  const int old_position = other ? Traits::position(Traits::key_of(place.entry), depth)
                                 : static_cast<int>(Traits::template path_byte<Node>(place.entry.child(), depth));
  radix_add<Traits>(made, old_position, other ? place.entry : Traits::template child_entry<Node>(place.entry.child()));
  radix_add<Traits>(made, Traits::position(key, depth), Traits::leaf_entry(key, candidate, spares.leaf));
  slot.store(Traits::template child_entry<Node>(made));
  write.raise();
  outcome.used_node = true;
  outcome.result = {.handle = candidate,
                    .inserted = true,
                    .before = witness_of(place.node, place.guard.version()),
                    .after = witness_of(place.node, write.after()),
                    .split_off = witness_of(made, as_node(made)->word.read())};
  return Progress::kDone;
}

// Replaces the full node with a larger one, which also contains the key.
template <sync::Policy Sync, class KeyType>
auto RadixTree<Sync, KeyType>::insert_growing(const Place& place, const Key& key, Handle candidate, const Spares& spares,
                                              InsertOutcome& outcome) -> Progress {
  if (!place.guard.valid()) return Progress::kRestart;
  outcome.needs = Node::larger(place.node.kind());
  outcome.depth = place.node.depth();
  const bool has_node = spares.node.kind() == outcome.needs && (!Traits::kBytes || spares.node.depth() == outcome.depth);
  if (!has_node || (Traits::kBytes && spares.leaf == nullptr)) return Progress::kMemory;
  ELIDER_TEST_POINT("art.before_grow");
  WriteGuard write_parent(as_node(place.parent)->word, place.parent_guard);
  if (!write_parent.owns()) return Progress::kRestart;
  WriteGuard write(as_node(place.node)->word, place.guard);
  if (!write.owns()) return Progress::kRestart;
  const RadixRef made(as_node(spares.node), outcome.needs, outcome.depth);
  Traits::template copy_path<Node>(as_node(made), made, place.node);
  radix_copy<Traits>(made, place.node, 256);
  radix_add<Traits>(made, place.position, Traits::leaf_entry(key, candidate, spares.leaf));
  radix_slot_of_writer<Traits>(place.parent, Traits::position(key, place.parent.depth())).replace_child(made);
  ELIDER_TEST_POINT("art.grown");
  write.retire();
  outcome.used_node = true;
  outcome.unlinked = place.node;
  outcome.result = {.handle = candidate,
                    .inserted = true,
                    .before = witness_of(place.node, place.guard.version()),
                    .after = witness_of(made, as_node(made)->word.read()),
                    .split_off = {}};
  return Progress::kDone;
}

// Allocates the memory that an attempt needs. Returns false if memory is exhausted.
template <sync::Policy Sync, class KeyType>
bool RadixTree<Sync, KeyType>::take_spares(Worker& worker, const Key& key, Handle candidate, const InsertOutcome& needs, Spares& spares) {
  if constexpr (Traits::kBytes) {
    if (spares.leaf == nullptr) {
      void* const memory = worker.allocate(RadixLeaf::bytes_for(key.size()), MemoryPart::kIndexes);
      if (memory == nullptr) return false;
      spares.leaf = static_cast<RadixLeaf*>(memory);
      spares.leaf->handle = candidate;
      auto* const own = new (&spares.leaf->key) KeyBytes{key.size()};
      if (key.size() != 0) std::memcpy(own->data(), key.bytes->data(), key.size());
    }
  }
  return needs.needs == RadixKind::kNone || take_node(worker, needs.needs, needs.depth, spares.node);
}

// Allocates `node`, after freeing the memory that `node` already holds.
template <sync::Policy Sync, class KeyType>
bool RadixTree<Sync, KeyType>::take_node(Worker& worker, RadixKind kind, unsigned depth, RadixRef& node) {
  if (node.bits() != 0) worker.free(node.as<void>(), bytes_of(node), MemoryPart::kIndexes);
  node = RadixRef();
  const size_t bytes = Node::fixed_bytes(kind) + Traits::path_bytes(depth);
  void* const memory = worker.allocate(bytes, MemoryPart::kIndexes);
  if (memory == nullptr) return false;
  if constexpr (Sync::kRegions) htm::prefault(memory, bytes);
  radix_start<Traits>(memory, kind);
  node = RadixRef(memory, kind, depth);
  return true;
}

template <sync::Policy Sync, class KeyType>
void RadixTree<Sync, KeyType>::give_back(Worker& worker, RadixRef node, RadixLeaf* leaf) {
  if (node.bits() != 0) worker.free(node.as<void>(), bytes_of(node), MemoryPart::kIndexes);
  if (leaf != nullptr) worker.free(leaf, RadixLeaf::bytes_for(leaf->key.size), MemoryPart::kIndexes);
}

template <sync::Policy Sync, class KeyType>
void RadixTree<Sync, KeyType>::retire(Worker& worker, RadixRef node) {
  const size_t bytes = bytes_of(node);
  counts_.add(worker.id(), 0, -static_cast<int64_t>(bytes));
  worker.retire_memory(node.as<void>(), bytes, MemoryPart::kIndexes);
}

}  // namespace elider::index
