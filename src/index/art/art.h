// RadixTree: the adaptive radix tree (Leis, Kemper, Neumann, "The adaptive radix tree: ARTful
// indexing for main-memory databases", ICDE 2013), an ordered index from numbers or bytes to
// handles. Its nodes are guarded as in Leis, Scheibner, Kemper, Neumann, "The ART of practical
// synchronization" (DaMoN 2016, section 3.1, optimistic lock coupling) under the optimistic policy,
// and by sections under the others (HyPer-HTM, section 5.2).
//
// A node stands where two keys differ, and nowhere else (path compression, lazy expansion). Where
// we deviate from the paper: a number's entry lies in the slot of the node itself (art_key.h); a
// node keeps all of the bytes that lead to it, which never change; a lookup compares them only
// where it finds nothing; the root is part of the tree and always a Node256.
//
// What a node answers for, and its Witness is of: the keys that its path leads to, but for those
// that a child's path leads to. So a key that is not there is the business of the last node whose
// whole path it has. A node that is replaced by a larger or a smaller one is obsolete, and its
// parent's version stays: the parent answers for nothing that has changed.
//
// It is not a store of rows: handles mean nothing to it. Not persistent.
//
// Thread safety: as the sync policy's: all operations by all threads under Optimistic,
// Latched and Elided. Callers are within a grace period of their Worker from an operation to the
// last use of its witness. Memory belongs to the workers' Memory; a tree gives nothing back when it
// is destroyed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <type_traits>

#include "base/sharded_counts.h"
#include "base/test_points.h"
#include "base/worker.h"
#include "elider/status.h"
#include "index/art/art_key.h"
#include "index/art/art_node.h"
#include "index/index.h"
#include "sync/elided.h"
#include "sync/exclusive.h"
#include "sync/optimistic.h"
#include "sync/policy.h"

namespace elider::index {

// A few of something, in place.
template <class T, size_t kMax>
class RadixFew {
 public:
  size_t size() const { return size_; }
  bool full() const { return size_ == kMax; }
  void clear() { size_ = 0; }
  void push(const T& value) { values_[size_++] = value; }
  void pop() { --size_; }
  // The oldest goes where there is no room.
  void push_over(const T& value) {
    if (full()) std::copy(values_.begin() + 1, values_.end(), values_.begin()), --size_;
    push(value);
  }
  T& back() { return values_[size_ - 1]; }
  T* begin() { return values_.data(); }
  T* end() { return values_.data() + size_; }
  const T& operator[](size_t i) const { return values_[i]; }
  const T* begin() const { return values_.data(); }
  const T* end() const { return values_.data() + size_; }

 private:
  size_t size_ = 0;
  std::array<T, kMax> values_;
};

// A part of the tree, as it was at one moment, and the range that it covers: some entries that
// follow each other, of a few nodes. Where keys are bytes, an end of the range may be looked at
// until the next but one reading into it.
template <class Key>
struct RadixContents {
  static constexpr size_t kCapacity = 32;
  static constexpr size_t kNodesMax = 8;
  Range<Key> range;
  size_t count = 0;
  RadixFew<Witness, kNodesMax> witnesses;
  std::array<Key, kCapacity> keys;  // ascending; `count` of them, as of the handles
  std::array<Handle, kCapacity> handles;
  // The ends of this range and of the last one.
  std::array<typename RadixTraits<Key>::Buffer, 2> buffers;
  unsigned buffer = 0;
};

template <sync::Policy Sync, class KeyType>
class RadixTree {
 public:
  using Key = KeyType;
  using Hint = NoHint;
  using Contents = RadixContents<Key>;
  using BatchKey = std::conditional_t<std::is_same_v<Key, ByteKey>, KeyRef, Key>;
  static constexpr bool kOrdered = true;

  RadixTree() = default;
  RadixTree(const RadixTree&) = delete;
  RadixTree& operator=(const RadixTree&) = delete;

  // The key's handle or kNoHandle; `witness` is of the node that answers for the key, in either
  // case. `ahead`: asked for as soon as the handle is found.
  Handle get(const Key& key, Witness& witness, Ahead ahead = {});
  Handle get(const Key& key, Hint&, Witness& witness) { return get(key, witness); }

  // Finds the key, or inserts it with `candidate`, which is not kNoHandle. The result's handle is
  // kNoHandle if there is no memory; the tree then maps what it mapped before.
  InsertResult get_or_insert(Worker& worker, const Key& key, Handle candidate);
  InsertResult get_or_insert(Worker& worker, const Key& key, Handle candidate, Hint&) { return get_or_insert(worker, key, candidate); }

  // Removes the key if it maps to `expected`, which is not kNoHandle; false if not, and nothing is
  // changed. A node that this leaves one entry in is unlinked and retired.
  bool remove(Worker& worker, const Key& key, Handle expected);

  // get() of keys[0 .. count), in groups whose cache misses overlap. Witnesses may be null.
  void multi_get(const BatchKey* keys, size_t count, Handle* handles, Witness* witnesses, Ahead ahead = {});

  // Some entries that follow each other, and the range that they are all of: forward, from `at` on;
  // backward, up to what is next below it. Where keys are bytes there may be none at the end of a
  // long path, with more beyond the range.
  void read_leaf(const Bound<Key>& at, Direction direction, Hint& hint, Contents& contents);

  // Entries; approximate while others write.
  size_t size() const { return static_cast<size_t>(std::max(counts_.entries(), int64_t{0})); }
  size_t memory_bytes() const { return sizeof(*this) + static_cast<size_t>(counts_.bytes()); }
  // For the policy's own settings and statistics.
  typename Sync::Latch& latch() { return latch_; }

  // Every invariant; only while nobody writes. The message names the node
  // and what is wrong with it.
  Status verify() const;
  // The nodes for people, a line each, indented by depth; only while nobody writes.
  void dump(std::ostream& out) const;
  // How many nodes there are of each kind, the root apart; only while nobody writes.
  std::array<size_t, 4> nodes_by_kind() const;

 private:
  using Traits = RadixTraits<Key>;
  using Node = RadixNode<Traits>;
  using Slot = typename Traits::Slot;
  using Entry = typename Traits::Entry;
  using ReadGuard = typename Sync::ReadGuard;
  using WriteGuard = typename Sync::WriteGuard;

  static constexpr size_t kGroup = Sync::kRegions ? 16 : 32;  // of a batch: misses that overlap, and lines that a region reads
  static_assert(kGroup <= 32, "a word has a bit for each");

  // How an attempt at an operation ended. All but kDone try again.
  enum class Progress : uint8_t {
    kDone,
    kRestart,  // another operation came between
    kMemory,   // come back with memory for what is needed
  };
  struct Found {
    bool valid;
    Handle handle;
    Witness witness;
  };
  // What stands where a key would.
  enum class There : uint8_t {
    kNothing,
    kKey,     // its entry
    kOther,   // another key's
    kBranch,  // a child whose path the key leaves
  };
  // Where a descent ends: the node that answers for the key, under its guard, and its parent.
  struct Place {
    RadixRef parent;
    RadixRef node;
    ReadGuard parent_guard;
    ReadGuard guard;
    int position = 0;  // of the key in the node
    There there = There::kNothing;
    unsigned branches_at = 0;  // of kBranch: the first byte that is not the child's
    Entry entry;
  };
  // Memory for an insertion, taken before its section: a node, started, and an entry.
  struct Spares {
    RadixRef node;
    RadixLeaf* leaf = nullptr;
  };
  // What an attempt at an insertion came to: what it needs, or what it used and unlinked.
  struct InsertOutcome {
    RadixKind needs = RadixKind::kNone;
    unsigned depth = 0;  // of the node it needs
    bool used_node = false;
    RadixRef unlinked;
    InsertResult result;
  };
  struct RemoveAttempt {
    Progress progress = Progress::kRestart;
    bool removed = false;
    bool used_node = false;
    RadixKind needs = RadixKind::kNone;
    unsigned depth = 0;
    RadixRef unlinked;
    RadixRef leaf;  // to be retired
  };

  static Node* as_node(RadixRef ref) { return ref.as<Node>(); }
  RadixRef root() const { return RadixRef(&root_, RadixKind::kNode256, 0); }
  static size_t bytes_of(RadixRef node) { return Node::fixed_bytes(node.kind()) + Traits::path_bytes(node.depth()); }
  static Witness witness_of(RadixRef node, uint64_t version) { return {as_node(node)->word.address(), version}; }
  // The key has the node's whole path.
  static bool leads_to(const Key& key, RadixRef node) { return Traits::template mismatch<Node>(node, key, 0) == node.depth(); }

  // art_find.h
  Found find(const Key& key) const;
  bool descend(const Key& key, const Place* from, Place& place) const;
  Handle get_again(const Key& key, Witness& witness, Ahead ahead);

  // art_insert.h
  Progress insert_at(const Place& place, const Key& key, Handle candidate, const Spares& spares, InsertOutcome& outcome);
  Progress insert_branching(const Place& place, const Key& key, Handle candidate, const Spares& spares, InsertOutcome& outcome);
  Progress insert_growing(const Place& place, const Key& key, Handle candidate, const Spares& spares, InsertOutcome& outcome);
  bool take_spares(Worker& worker, const Key& key, Handle candidate, const InsertOutcome& needs, Spares& spares);
  static bool take_node(Worker& worker, RadixKind kind, unsigned depth, RadixRef& node);
  void give_back(Worker& worker, RadixRef node, RadixLeaf* leaf);
  void retire(Worker& worker, RadixRef node);

  // art_remove.h
  RemoveAttempt remove_at(const Place& place, const Key& key, Handle expected, RadixRef spare, bool may_shrink);
  RemoveAttempt merge(const Place& place, const Key& key, RemoveAttempt attempt);

  // art_scan.h
  class Walk;

  // art_batch.h
  uint32_t get_group(const Key* keys, size_t count, Handle* handles, Witness* witnesses, Ahead ahead) const;
  static void prefetch(RadixRef node, const Key& key);

  // art_verify.h
  struct Census {
    size_t entries = 0, bytes = 0;
    std::array<size_t, 4> nodes{};
  };
  Status verify_node(RadixRef node, Census& census) const;
  Status verify_entry(RadixRef node, int position, Census& census) const;
  void dump_node(RadixRef node, unsigned depth, std::ostream& out) const;

  alignas(128) RadixNode256<Traits> root_;
  alignas(128) mutable typename Sync::Latch latch_;
  ShardedCounts counts_;
};

extern template class RadixTree<sync::Optimistic, uint64_t>;
extern template class RadixTree<sync::Optimistic, ByteKey>;
extern template class RadixTree<sync::Latched, uint64_t>;
extern template class RadixTree<sync::Latched, ByteKey>;
extern template class RadixTree<sync::SingleThreaded, uint64_t>;
extern template class RadixTree<sync::SingleThreaded, ByteKey>;
extern template class RadixTree<sync::Elided<htm::None>, uint64_t>;
extern template class RadixTree<sync::Elided<htm::None>, ByteKey>;
extern template class RadixTree<sync::Elided<htm::AlwaysAborts>, uint64_t>;
extern template class RadixTree<sync::Elided<htm::AlwaysAborts>, ByteKey>;
#if ELIDER_HAVE_RTM
extern template class RadixTree<sync::Elided<htm::Rtm>, uint64_t>;
extern template class RadixTree<sync::Elided<htm::Rtm>, ByteKey>;
#endif
#if defined(ELIDER_EMULATOR)
extern template class RadixTree<sync::Elided<htm::Emulated>, uint64_t>;
extern template class RadixTree<sync::Elided<htm::Emulated>, ByteKey>;
#endif

}  // namespace elider::index
