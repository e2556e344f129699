// RadixTree: the adaptive radix tree (Leis, Kemper, Neumann, "The adaptive radix tree: ARTful
// indexing for main-memory databases", ICDE 2013), an ordered index from numbers or byte keys to
// handles. Under the optimistic policy its nodes are guarded as in Leis, Scheibner, Kemper,
// Neumann, "The ART of practical synchronization" (DaMoN 2016, section 3.1, optimistic lock
// coupling). Under the other policies, sections guard them (HyPer-HTM, section 5.2).
//
// The tree has nodes only where two keys differ (path compression, lazy expansion). Deviations from
// the paper:
// - The entry of a number key is stored in the node's slot itself (art_key.h).
// - A node stores its whole path, that is, all bytes that lead to it. The path never changes.
// - A lookup compares the path only if it does not find the key.
// - The root is a member of the tree, and always a Node256.
//
// A node, and its Witness, covers the keys that start with its path, except for keys that start
// with the path of a child. An absent key is therefore covered by the deepest node whose whole path
// is a prefix of the key. A node that is replaced by a larger or smaller one becomes obsolete. Such
// a replacement does not change the parent's version, because the parent still covers the same
// keys.
//
// The tree does not store rows, and handles are opaque to it. It is not persistent.
//
// Thread safety: the same as for the sync policy. Under Optimistic, Latched and Elided, all threads
// may call all operations. From an operation to the last use of its witness, the caller must stay
// within one grace period of its Worker. Nodes belong to the workers' Memory; the destructor does
// not free them.
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

// A small vector with a fixed capacity, stored in place.
template <class T, size_t kMax>
class RadixFew {
 public:
  size_t size() const { return size_; }
  bool full() const { return size_ == kMax; }
  void clear() { size_ = 0; }
  void push(const T& value) { values_[size_++] = value; }
  void pop() { --size_; }
  // Appends a value. If the vector is full, drops the oldest value.
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

// An atomic copy of a part of the tree, and the range that the part covers. It contains consecutive
// entries of a few nodes. With byte keys, the bounds of the range remain valid during the next read
// into this object, and become invalid with the read after that.
template <class Key>
struct RadixContents {
  static constexpr size_t kCapacity = 32;
  static constexpr size_t kNodesMax = 8;
  Range<Key> range;
  size_t count = 0;
  RadixFew<Witness, kNodesMax> witnesses;
  std::array<Key, kCapacity> keys;  // the first `count` are valid, in ascending order, like the handles
  std::array<Handle, kCapacity> handles;
  // Memory for the bounds of this range and of the previous one.
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

  // Returns the key's handle, or kNoHandle. In either case, sets `witness` to the Witness of the
  // node that covers the key. The cache lines of `ahead` are prefetched as soon as the handle is
  // found.
  Handle get(const Key& key, Witness& witness, Ahead ahead = {});
  Handle get(const Key& key, Hint&, Witness& witness) { return get(key, witness); }

  // Finds the key, or inserts it with `candidate`, which must not be kNoHandle. If there is not
  // enough memory, the result's handle is kNoHandle, and the tree's entries are unchanged.
  InsertResult get_or_insert(Worker& worker, const Key& key, Handle candidate);
  InsertResult get_or_insert(Worker& worker, const Key& key, Handle candidate, Hint&) { return get_or_insert(worker, key, candidate); }

  // Removes the key if it maps to `expected`, which must not be kNoHandle; otherwise returns false
  // and does not change anything. A node that is left with one entry is unlinked and retired.
  bool remove(Worker& worker, const Key& key, Handle expected);

  // Calls get() for keys[0 .. count) in groups whose cache misses overlap. `witnesses` may be null.
  void multi_get(const BatchKey* keys, size_t count, Handle* handles, Witness* witnesses, Ahead ahead = {});

  // Reads some consecutive entries, and the range that contains exactly these entries. If the
  // direction is forward, the range starts at `at`; otherwise it ends just below `at`. With byte
  // keys, the range may be empty at the end of a long path although the tree has more entries
  // beyond the range.
  //
  // Every entry costs a cache miss. If `within` is given, the function reads at most one entry
  // beyond this range in the direction of the scan. It returns at most `most` entries, which is at
  // least 1.
  void read_leaf(const Bound<Key>& at, Direction direction, Hint& hint, Contents& contents, const Range<Key>* within = nullptr,
                 uint64_t most = Contents::kCapacity);

  // The number of entries; approximate while other threads write.
  size_t size() const { return static_cast<size_t>(std::max(counts_.entries(), int64_t{0})); }
  size_t memory_bytes() const { return sizeof(*this) + static_cast<size_t>(counts_.bytes()); }
  // Gives access to the policy's settings and statistics.
  typename Sync::Latch& latch() { return latch_; }

  // Checks every invariant. No thread may write meanwhile. The message names the damaged node and
  // what is wrong with it.
  Status verify() const;
  // Prints the nodes, one per line, indented by depth. No thread may write meanwhile.
  void dump(std::ostream& out) const;
  // Returns the number of nodes of each kind, without the root. No thread may write meanwhile.
  std::array<size_t, 4> nodes_by_kind() const;

 private:
  using Traits = RadixTraits<Key>;
  using Node = RadixNode<Traits>;
  using Slot = typename Traits::Slot;
  using Entry = typename Traits::Entry;
  using ReadGuard = typename Sync::ReadGuard;
  using WriteGuard = typename Sync::WriteGuard;

  static constexpr size_t kGroup = Sync::kRegions ? 16 : 32;  // keys per group: bounds the overlapping misses and a region's cache lines
  static_assert(kGroup <= 32, "a 32-bit word has a bit for each key of a group");

  // The result of one attempt at an operation. All results except kDone cause another attempt.
  enum class Progress : uint8_t {
    kDone,
    kRestart,  // another operation interfered
    kMemory,   // retry after allocating memory
  };
  struct Found {
    bool valid;
    Handle handle;
    Witness witness;
  };
  // What a descent finds at the position of its key.
  enum class There : uint8_t {
    kNothing,
    kKey,     // the key's entry
    kOther,   // the entry of another key
    kBranch,  // a child whose path the key does not start with
  };
  // The result of a descent: the node that covers the key, its parent, and their guards.
  struct Place {
    RadixRef parent;
    RadixRef node;
    ReadGuard parent_guard;
    ReadGuard guard;
    int position = 0;  // the position of the key in the node
    There there = There::kNothing;
    unsigned branches_at = 0;  // if kBranch: the position of the key's first byte that differs from the child's path
    Entry entry;
  };
  // Memory for an insertion, allocated before its section: an initialized node, and an entry.
  struct Spares {
    RadixRef node;
    RadixLeaf* leaf = nullptr;
  };
  // The outcome of one attempt at an insertion: either the kind and depth of the node that the next
  // attempt needs, or which spares the attempt has used and which node it has unlinked.
  struct InsertOutcome {
    RadixKind needs = RadixKind::kNone;
    unsigned depth = 0;  // the depth of the needed node
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
    RadixRef leaf;  // the caller retires it
  };

  static Node* as_node(RadixRef ref) { return ref.as<Node>(); }
  RadixRef root() const { return RadixRef(&root_, RadixKind::kNode256, 0); }
  static size_t bytes_of(RadixRef node) { return Node::fixed_bytes(node.kind()) + Traits::path_bytes(node.depth()); }
  static Witness witness_of(RadixRef node, uint64_t version) { return {as_node(node)->word.address(), version}; }
  // Returns whether the key starts with the node's whole path.
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

}  // namespace elider::index
