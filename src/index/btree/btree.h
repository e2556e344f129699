// BTree: the ordered index: a B+-tree from 8- or 16-byte keys to handles, with leaf versions for
// phantom detection (DBX, sections 4 and 5.3, "range query").
//
// Where we deviate from DBX: nodes are latched one by one under the optimistic policy (optimistic
// lock coupling) where there is no hardware transaction; an empty leaf is unlinked and reclaimed,
// though leaves are never merged; a full leaf that is filled in ascending order stays full when it
// splits; and the per-transaction node buffer (section 6.2) also remembers what range its leaf
// covers, so that any operation inside that range skips the descent.
//
// It is not a store of rows: handles mean nothing to it. Not persistent. Not balanced after
// removals: the height follows the most it has held.
//
// Thread safety: as the sync policy's: all operations by all threads under Optimistic,
// Latched and Elided. Callers are within a grace period of their Worker from the first use of
// a hint or witness to the last. Memory belongs to the workers' Memory; a tree gives nothing
// back when it is destroyed.
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
#include "index/btree/btree_node.h"
#include "index/index.h"
#include "sync/elided.h"
#include "sync/exclusive.h"
#include "sync/optimistic.h"
#include "sync/policy.h"

namespace elider::index {

// Where a transaction's last operation on a tree ended. While the leaf's version stands, it covers
// the keys from first to last, and an operation on one of them needs no descent. A default one
// covers nothing. Keep it within one grace period only.
template <class Key>
struct LeafHint {
  BTreeLeaf<Key>* leaf = nullptr;
  uint64_t version = 0;
  Key first = KeyTraits<Key>::kMax;
  Key last = KeyTraits<Key>::kMin;
  bool covers(const Key& key) const { return !KeyTraits<Key>::less(key, first) && !KeyTraits<Key>::less(last, key); }
};

// One leaf, as it was at one moment, and the range that it covered. By the time a scan goes on, its
// neighbour may have taken over the range of a leaf that was unlinked.
template <class Key>
struct LeafContents {
  static constexpr size_t kCapacity = BTreeLeaf<Key>::kEntries;
  Range<Key> range;
  size_t count = 0;
  std::array<Witness, 1> witnesses;
  std::array<Key, kCapacity> keys;  // ascending; `count` of them, as of the handles
  std::array<Handle, kCapacity> handles;
};

template <sync::Policy Sync, class KeyType>
class BTree {
 public:
  using Key = KeyType;
  using Hint = LeafHint<Key>;
  using Contents = LeafContents<Key>;
  static constexpr bool kOrdered = true;

  BTree();
  BTree(const BTree&) = delete;
  BTree& operator=(const BTree&) = delete;

  // The key's handle or kNoHandle; `witness` is of the leaf that covers the key, in either case,
  // and `hint` is now that leaf.
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

  // Finds the key, or inserts it with `candidate`, which is not kNoHandle. The result's handle is
  // kNoHandle if there is no memory for a split; the tree then maps what it mapped before.
  InsertResult get_or_insert(Worker& worker, const Key& key, Handle candidate, Hint& hint);

  // Removes the key if it maps to `expected`; false if not, and nothing is changed. A leaf that
  // this empties is unlinked and retired.
  bool remove(Worker& worker, const Key& key, Handle expected);

  // get() of keys[0 .. count), in groups whose cache misses overlap. Witnesses may be null.
  void multi_get(const Key* keys, size_t count, Handle* handles, Witness* witnesses, Ahead ahead = {});

  // All of one leaf: forward, the one that covers the key `at`; backward, the one that covers what
  // is next below it. `hint` is used, and is that leaf afterwards.
  void read_leaf(const Bound<Key>& at, Direction direction, Hint& hint, Contents& contents);

  // Entries; approximate while others write.
  size_t size() const { return static_cast<size_t>(std::max(counts_.entries(), int64_t{0})); }
  size_t memory_bytes() const { return sizeof(*this) + static_cast<size_t>(counts_.bytes()); }
  unsigned height() const { return root_node()->level() + 1; }
  // For the policy's own settings and statistics.
  typename Sync::Latch& latch() { return latch_; }

  // Every invariant; only while nobody writes. The message names the node
  // and what is wrong with it.
  Status verify() const;
  // The nodes for people, a line each, indented by depth; only while nobody writes.
  void dump(std::ostream& out) const;

 private:
  using Node = BTreeNode;
  using Leaf = BTreeLeaf<Key>;
  using Inner = BTreeInner<Key>;
  using Traits = KeyTraits<Key>;
  using ReadGuard = typename Sync::ReadGuard;
  using WriteGuard = typename Sync::WriteGuard;

  static constexpr bool kWide = !Sync::kRegions;  // searches (btree_slots.h)
  static constexpr size_t kGroup = Sync::kRegions ? 16 : 32;  // of a batch: misses that overlap, and lines that a region reads
  static_assert(kGroup <= 32, "a word has a bit for each");

  // How an attempt at an operation ended. All but kDone try again.
  enum class Progress : uint8_t {
    kDone,
    kRestart,    // another operation came between
    kSplit,       // the leaf is full: come back with a spare leaf
    kSplitInner,  // and so is its parent, or it has none: come back with a spare inner node too
    kStructure,  // the leaf becomes empty: come back through remove_last
  };
  struct Hinted {
    bool hit;
    Handle handle;
  };
  // Where a descent ends: a leaf under its guard, and what it covers.
  struct Place {
    Leaf* leaf = nullptr;
    ReadGuard guard;
    Key first = Traits::kMin;
    Key last = Traits::kMax;
    Hint hint(uint64_t version) const { return {leaf, version, first, last}; }
  };
  // Memory for the nodes of one split, a leaf and an inner node, taken before the section.
  struct Spares {
    void* leaf = nullptr;
    void* inner = nullptr;
  };
  struct InsertAttempt {
    Progress progress = Progress::kRestart;
    bool used_leaf = false;
    bool used_inner = false;
    InsertResult result;
    Hint hint;
  };
  // The nodes an attempt has unlinked; they are retired after the section.
  struct Unlinked {
    unsigned count = 0;
    std::array<Node*, kLevelsMax + 1> nodes;
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

  // btree_find.h
  bool start_at_root(Node*& node, ReadGuard& guard) const;
  static Node* step_down(const Inner* inner, const Key& key, unsigned& position, Key& first, Key& last);
  bool descend(const Key& key, Place& place) const;
  Handle get_by_descent(const Key& key, Hint& hint, Witness& witness);
  Hinted get_by_hint(const Key& key, const Hint& hint) {
    return Sync::section(latch_, sync::Operation::kGet, [&]() -> Hinted {
      const ReadGuard guard = ReadGuard::resume(hint.leaf->word, hint.version);
      if (!guard.current()) return {false, kNoHandle};
      const Handle handle = hint.leaf->template find<kWide>(key);
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
  void give_back(Worker& worker, Spares& spares);

  // btree_remove.h
  RemoveAttempt remove_at(const Place& place, const Key& key, Handle expected);
  RemoveAttempt remove_last(const Key& key, Handle expected, Unlinked& unlinked);
  RemoveAttempt unlink(const Path& path, const Place& place, Unlinked& unlinked);
  bool lower_root(Unlinked& unlinked);
  void retire(Worker& worker, const Unlinked& unlinked);

  // btree_scan.h
  bool copy_leaf(const Place& place, Contents& contents) const;

  // btree_batch.h
  uint32_t get_group(const Key* keys, size_t count, Handle* handles, Hint* hints, Ahead ahead) const;

  // btree_verify.h
  struct Census {
    size_t entries = 0, bytes = 0;
  };
  Status verify_node(const Node* node, unsigned level, const Key& first, const Key& last, Census& census) const;
  void dump_node(const Node* node, unsigned depth, std::ostream& out) const;

  // The root's pointer stands alone: every descent reads its line, and hardly anyone writes it.
  alignas(128) std::atomic<Node*> root_;
  // The first leaf is part of the tree, so that an empty one takes no memory and cannot fail.
  alignas(128) Leaf first_leaf_;
  alignas(128) mutable typename Sync::Latch latch_;
  ShardedCounts counts_;
};

extern template class BTree<sync::Optimistic, uint64_t>;
extern template class BTree<sync::Optimistic, SecondaryKey>;
extern template class BTree<sync::Latched, uint64_t>;
extern template class BTree<sync::Latched, SecondaryKey>;
extern template class BTree<sync::SingleThreaded, uint64_t>;
extern template class BTree<sync::SingleThreaded, SecondaryKey>;
extern template class BTree<sync::Elided<htm::None>, uint64_t>;
extern template class BTree<sync::Elided<htm::None>, SecondaryKey>;
extern template class BTree<sync::Elided<htm::AlwaysAborts>, uint64_t>;
extern template class BTree<sync::Elided<htm::AlwaysAborts>, SecondaryKey>;
#if ELIDER_HAVE_RTM
extern template class BTree<sync::Elided<htm::Rtm>, uint64_t>;
extern template class BTree<sync::Elided<htm::Rtm>, SecondaryKey>;
#endif
#if defined(ELIDER_EMULATOR)
extern template class BTree<sync::Elided<htm::Emulated>, uint64_t>;
extern template class BTree<sync::Elided<htm::Emulated>, SecondaryKey>;
#endif

}  // namespace elider::index
