// BTree: the ordered index, a B+-tree from keys to handles. The keys are numbers of 8 or 16 bytes,
// or byte strings that the handles' rows store (btree_byte_node.h). The versions of its leaves
// detect phantoms (DBX, sections 4 and 5.3, "range query").
//
// Deviations from DBX:
// - Without hardware transactions, the optimistic policy latches nodes one by one (optimistic lock
//   coupling).
// - An empty leaf is unlinked and reclaimed. Leaves are never merged.
// - A leaf that is filled in ascending order stays full when it splits.
// - The per-transaction node buffer (section 6.2) also remembers the range that its leaf covers, so
// an operation on a key in that range does not need a descent. A tree of byte keys does without.
//
// The tree does not store rows, and handles are opaque to it. It is not persistent. The tree's
// height decreases only when the root has a single child.
//
// Thread safety: the same as for the sync policy. Under Optimistic, Latched and Elided, all threads
// may call all operations. From the first use of a hint or witness to the last, the caller must
// stay within one grace period of its Worker. Nodes belong to the workers' Memory; the destructor
// does not free them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iosfwd>

#include "base/sharded_counts.h"
#include "base/test_points.h"
#include "base/worker.h"
#include "elider/status.h"
#include "index/btree/btree_byte_node.h"
#include "index/btree/btree_node.h"
#include "index/index.h"
#include "sync/elided.h"
#include "sync/exclusive.h"
#include "sync/optimistic.h"
#include "sync/policy.h"

namespace elider::index {

// The leaf at which a transaction's last operation on a tree ended. While the leaf's version is
// unchanged, the leaf covers the keys from `first` to `last`, and an operation on one of them does
// not need a descent. A default-constructed hint does not cover any key. A hint may be used only
// within one grace period.
template <class Key>
struct LeafHint {
  BTreeLeaf<Key>* leaf = nullptr;
  uint64_t version = 0;
  Key first = KeyTraits<Key>::kMax;
  Key last = KeyTraits<Key>::kMin;
  bool covers(const Key& key) const { return !KeyTraits<Key>::less(key, first) && !KeyTraits<Key>::less(last, key); }

  using Fences = NumberFences<Key>;
  Fences fences() const { return {first, last}; }
  void set(BTreeLeaf<Key>* its_leaf, uint64_t its_version, const Fences& fences) {
    leaf = its_leaf;
    version = its_version;
    first = fences.first;
    last = fences.last;
  }
};

// A hint of a tree of byte keys does not cover any key. It only remembers where an operation ended.
template <>
struct LeafHint<ByteKey> {
  BTreeLeaf<ByteKey>* leaf = nullptr;
  uint64_t version = 0;
  static constexpr bool covers(const ByteTarget&) { return false; }

  static ByteBounds fences() { return {}; }
  void set(BTreeLeaf<ByteKey>* its_leaf, uint64_t its_version, const ByteFences&) {
    leaf = its_leaf;
    version = its_version;
  }
};

// An atomic copy of one leaf, and the range that the leaf covered. By the time a scan continues,
// the leaf may have been unlinked, and a neighbouring leaf may cover its range. Byte keys, and the
// range's ends, are valid within the grace period of the read.
template <class Key>
struct LeafContents {
  static constexpr size_t kCapacity = BTreeLeaf<Key>::kEntries;
  Range<Key> range;
  size_t count = 0;
  std::array<Witness, 1> witnesses;
  std::array<Key, kCapacity> keys;  // the first `count` are valid, in ascending order, like the handles
  std::array<Handle, kCapacity> handles;
};

template <sync::Policy Sync, class KeyType>
class BTree {
 public:
  using Key = KeyType;
  using Hint = LeafHint<Key>;
  using Contents = LeafContents<Key>;
  using BatchKey = typename KeyTraits<Key>::BatchKey;
  using Rows = typename KeyTraits<Key>::Rows;
  static constexpr bool kOrdered = true;

  // If the keys are byte keys, each handle is the address of a row that stores the handle's key at
  // `rows`.
  explicit BTree(Rows rows = {});
  BTree(const BTree&) = delete;
  BTree& operator=(const BTree&) = delete;

  // Returns the key's handle, or kNoHandle. In either case `witness` and `hint` are set to the leaf
  // that covers the key.
  Handle get(const Key& key, Hint& hint, Witness& witness) {
    if (hint.covers(key)) {
      const Hinted hinted = get_by_hint(key, hint);
      if (hinted.hit) [[likely]] {
        witness = {hint.leaf->word.address(), hint.version};
        return hinted.handle;
      }
    }
    return get_by_descent(key, hint, witness);
  }

  // Finds the key, or inserts it with `candidate`, which must not be kNoHandle. If there is not
  // enough memory for a split, the result's handle is kNoHandle, and the tree's entries are
  // unchanged.
  InsertResult get_or_insert(Worker& worker, const Key& key, Handle candidate, Hint& hint);

  // Removes the key if it maps to `expected`, which must not be kNoHandle; otherwise returns false
  // and does not change anything. A leaf that becomes empty is unlinked and retired. If keys are
  // byte keys, `expected` must be a row that stores `key`, whether the tree contains it or not.
  bool remove(Worker& worker, const Key& key, Handle expected);

  // Calls get() for keys[0 .. count) in groups whose cache misses overlap. `witnesses` may be null.
  void multi_get(const BatchKey* keys, size_t count, Handle* handles, Witness* witnesses, Ahead ahead = {});

  // Reads all entries of one leaf. If the direction is forward, it is the leaf that covers the key
  // `at`; otherwise the leaf that covers the key just below `at`. Uses `hint`, and sets it to that
  // leaf.
  void read_leaf(const Bound<Key>& at, Direction direction, Hint& hint, Contents& contents);

  // The number of entries; approximate while other threads write.
  size_t size() const { return static_cast<size_t>(std::max(counts_.entries(), int64_t{0})); }
  size_t memory_bytes() const { return sizeof(*this) + static_cast<size_t>(counts_.bytes()); }
  unsigned height() const { return root_node()->level() + 1; }
  // Gives access to the policy's settings and statistics.
  typename Sync::Latch& latch() { return latch_; }

  // Checks every invariant. No thread may write meanwhile. The message names the damaged node and
  // what is wrong with it.
  Status verify() const;
  // Prints the nodes, one per line, indented by depth. No thread may write meanwhile.
  void dump(std::ostream& out) const;

 private:
  using Node = BTreeNode;
  using Leaf = BTreeLeaf<Key>;
  using Inner = BTreeInner<Key>;
  using Traits = KeyTraits<Key>;
  using Target = typename Traits::Target;
  using Fences = typename Traits::Fences;
  using Bounds = typename Traits::Bounds;
  using LookupFences = typename Traits::LookupFences;
  using BatchFences = typename Traits::BatchFences;
  using Spot = typename Traits::Spot;
  using ReadGuard = typename Sync::ReadGuard;
  using WriteGuard = typename Sync::WriteGuard;

  static constexpr bool kWide = !Sync::kRegions;  // the kind of search (btree_slots.h)
  static constexpr size_t kGroup = Sync::kRegions ? 16 : 32;  // keys per group: bounds the overlapping misses and a region's cache lines
  static_assert(kGroup <= 32, "a 32-bit word has a bit for each key of a group");

  // The result of one attempt at an operation. All results except kDone cause another attempt.
  enum class Progress : uint8_t {
    kDone,
    kRestart,    // another operation interfered
    kSplit,       // the leaf is full: retry with a spare leaf
    kSplitInner,  // the leaf's parent is also full, or the leaf is the root: retry with a spare inner node as well
    kStructure,  // the leaf would become empty: retry with remove_last
  };
  struct Hinted {
    bool hit;
    Handle handle;
  };
  // The result of a descent: a leaf, its guard, and what is known about the range that it covers.
  template <class F>
  struct PlaceOf {
    Leaf* leaf = nullptr;
    ReadGuard guard;
    F fences;
    static PlaceOf of(const Hint& hint) { return {hint.leaf, ReadGuard::resume(hint.leaf->word, hint.version), hint.fences()}; }
  };
  using Place = PlaceOf<Fences>;
  // Memory for one split, a leaf and an inner node, and a separator if nodes point to separators.
  // It is allocated before the section.
  struct Spares {
    void* leaf = nullptr;
    void* inner = nullptr;
    KeyBytes* separator = nullptr;
  };
  struct InsertAttempt {
    Progress progress = Progress::kRestart;
    bool used_leaf = false;
    bool used_inner = false;
    uint32_t separator_bytes = 0;  // if not 0: retry with a spare separator of this size
    InsertResult result;
    Hint hint;
  };
  // The nodes that an attempt has unlinked, and the separator of their range. They are retired
  // after the section.
  struct Unlinked {
    unsigned count = 0;
    std::array<Node*, kLevelsMax + 1> nodes;
    const KeyBytes* separator = nullptr;
  };
  struct RemoveAttempt {
    Progress progress = Progress::kRestart;
    bool removed = false;
  };
  struct Path;

  static Leaf* as_leaf(Node* node) { return static_cast<Leaf*>(node); }
  static Inner* as_inner(Node* node) { return static_cast<Inner*>(node); }
  Node* root_node() const { return root_.load(std::memory_order_acquire); }
  void set_root(Node* node) { root_.store(node, std::memory_order_release); }
  static constexpr size_t bytes_of(const Node* node) { return node->level() == 0 ? sizeof(Leaf) : sizeof(Inner); }
  static size_t bytes_of(const KeyBytes* separator) { return sizeof(KeyBytes) + separator->size; }

  // btree_find.h
  bool start_at_root(Node*& node, ReadGuard& guard) const;
  template <class F>
  static Node* step_down(const Inner* inner, const Target& target, unsigned& position, F& fences);
  template <class F>
  bool descend(const Target& target, PlaceOf<F>& place) const;
  Handle get_by_descent(const Key& key, Hint& hint, Witness& witness);
  template <class F>
  Handle get_with(const Key& key, Hint& hint, Witness& witness);
  Hinted get_by_hint(const Key& key, const Hint& hint) {
    return Sync::section(latch_, sync::Operation::kGet, [&]() -> Hinted {
      const ReadGuard guard = ReadGuard::resume(hint.leaf->word, hint.version);
      if (!guard.current()) return {false, kNoHandle};
      const Handle handle = hint.leaf->template find<kWide>(key, rows_);
      return {guard.valid(), handle};
    });
  }

  // btree_insert.h
  Progress insert_at(const Place& place, const Key& key, Handle candidate, InsertResult& result, Hint& hint);
  InsertResult insert_into_full(Worker& worker, const Key& key, Handle candidate, Hint& hint);
  InsertAttempt insert_splitting(const Key& key, Handle candidate, const Spares& spares);
  InsertAttempt split_leaf(Inner* parent, const ReadGuard& parent_guard, unsigned child, const Place& place, const Key& key,
                           Handle candidate, const Spares& spares);
  InsertAttempt split_inner(Inner* parent, const ReadGuard& parent_guard, unsigned child, Inner* node, const ReadGuard& guard,
                            const Spares& spares);
  InsertAttempt grow_root(Node* root, const ReadGuard& guard, const Spares& spares);
  bool take_spare(Worker& worker, Spares& spares, Progress wanted);
  bool take_separator(Worker& worker, Spares& spares, uint32_t bytes);
  void give_back(Worker& worker, Spares& spares);

  // btree_remove.h
  RemoveAttempt remove_at(const Place& place, const Key& key, Handle expected);
  RemoveAttempt remove_last(const Key& key, Handle expected, Unlinked& unlinked);
  RemoveAttempt unlink(const Path& path, const Place& place, Unlinked& unlinked);
  bool lower_root(Unlinked& unlinked);
  void retire(Worker& worker, const Unlinked& unlinked);

  // btree_scan.h
  bool copy_leaf(const PlaceOf<Bounds>& place, Contents& contents) const;

  // btree_batch.h
  uint32_t get_group(const Key* keys, size_t count, Handle* handles, Hint* hints, Ahead ahead) const;
  uint32_t find_group(const Key* keys, size_t count, Node* const* nodes, const ReadGuard* guards, uint32_t assumed, Handle* handles,
                      Hint* hints, Ahead ahead) const;

  // btree_verify.h
  struct Census {
    size_t entries = 0, bytes = 0;
  };
  Status verify_node(const Node* node, unsigned level, const Bounds& bounds, Census& census) const;
  Status verify_leaf(const Leaf& leaf, const Bounds& bounds, Census& census) const;
  void dump_node(const Node* node, unsigned depth, std::ostream& out) const;

  // The root pointer has cache lines of its own, because every descent reads it and it is rarely
  // written.
  alignas(128) std::atomic<Node*> root_;
  // The first leaf is a member, so that constructing a tree does not allocate and cannot fail.
  alignas(128) Leaf first_leaf_;
  alignas(128) mutable typename Sync::Latch latch_;
  [[no_unique_address]] const Rows rows_;
  ShardedCounts counts_;
};

}  // namespace elider::index
