// The nodes of the B+-tree: leaves of keys and handles, inner nodes of separators and children.
//
// Child i of an inner node covers the keys k with separator[i - 1] <= k < separator[i]. An inner
// node with one child does not have a separator. Nodes are aligned to cache lines. Leaves do not
// have sibling pointers, so that unlinking a leaf changes only its parent. The node sizes were
// chosen by measurement (docs/indexes.md): with smaller leaves there are more inner nodes, which
// are then cached less often.
//
//   leaf of uint64_t keys (512 bytes):   word 8 | count, level, run 8 | 31 keys | 31 handles
//   inner of uint64_t keys (768 bytes):  word 8 | count, level, run 8 | 16 free | 44 keys
//                                        | 45 children
//
// Thread safety: readers use the racy accessors and validate the version word. A thread may write
// to a node only if it holds the lock in the node's version word, or if the node is not linked yet.
// set_count() is a release store: if a reader has read a count, all child pointers below that count
// have been set. The epoch keeps these children alive.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/racy.h"
#include "index/btree/btree_key.h"
#include "index/btree/btree_slots.h"
#include "index/index.h"
#include "sync/version_word.h"

namespace elider::index {

inline constexpr size_t kLeafBytes = 512;
inline constexpr size_t kInnerBytes = 768;
inline constexpr unsigned kLevelsMax = 48;  // far above what 2^64 insertions can build

struct alignas(64) BTreeNode {
  sync::VersionWord word;

  unsigned count() const { return count_.load(std::memory_order_acquire); }
  void set_count(unsigned count) { count_.store(static_cast<uint16_t>(count), std::memory_order_release); }
  unsigned level() const { return level_; }  // 0: a leaf. Constant.

  // Initializes an empty node, which must not be linked yet.
  void start(unsigned level) {
    word.start(0);
    // relaxed: other threads find the node through a pointer that is published later.
    count_.store(0, std::memory_order_relaxed);
    level_ = static_cast<uint8_t>(level);
    last_position_ = 0;
    run_ = 0;
  }

  // -- Detection of nodes that are filled from left to right. Only writers use these members. -----
  void note_insert(unsigned position) {
    run_ = position == last_position_ + 1u ? static_cast<uint8_t>(std::min(run_ + 1, 255)) : uint8_t{0};
    last_position_ = static_cast<uint8_t>(position);
  }
  void note_erase(unsigned position) {
    if (position <= last_position_ && last_position_ > 0) --last_position_;
  }
  // Returns whether an insertion at `position` would continue an ascending run.
  bool ascends_at(unsigned position) const { return run_ >= kRunMin && position == last_position_ + 1u; }

 private:
  static constexpr uint8_t kRunMin = 3;
  std::atomic<uint16_t> count_{0};  // entries of a leaf; separators of an inner node
  uint8_t level_ = 0;
  uint8_t last_position_ = 0;
  uint8_t run_ = 0;
  [[maybe_unused]] uint8_t unused_ = 0;

 protected:
  uint16_t prefix_ = 0;  // used by nodes of byte keys (btree_byte_node.h)
};
inline constexpr size_t kNodeHeaderBytes = 16;

// Prefetches the cache lines from `first` up to `end`. They arrive in parallel, so they cost about
// as much as one miss.
//
// This function and all functions that only prefetch must be inlined always. GCC 12 considers a
// function without other effects as pure, and drops calls of it that it has not inlined.
[[gnu::always_inline]] inline void prefetch_lines(const void* first, const void* end) {
  const auto* line = reinterpret_cast<const char*>(reinterpret_cast<uintptr_t>(first) & ~uintptr_t{63});
  for (; line < end; line += 64) __builtin_prefetch(line, 0, 3);
}

template <class KeyType>
struct BTreeLeaf : BTreeNode {
  using Key = KeyType;
  using Spot = NumberSpot;
  static constexpr unsigned kEntries = (kLeafBytes - kNodeHeaderBytes) / (sizeof(Key) + sizeof(Handle));

  Key key(unsigned i, NoRows = {}) const { return keys_.get(i); }
  Handle handle(unsigned i) const { return racy_load(handles_[i]); }

  // prefetch_keys() prefetches what a lookup reads first, and prefetch_handle() what it reads after
  // it has found the key's position.
  [[gnu::always_inline]] void prefetch_keys() const { prefetch_lines(this, handles_); }
  [[gnu::always_inline]] void prefetch_handle(unsigned i) const { __builtin_prefetch(&handles_[std::min(i, kEntries - 1)], 0, 3); }
  // Prefetches all cache lines except the first, which the lookup that follows immediately reads
  // without a prefetch.
  [[gnu::always_inline]] void prefetch_rest() const { prefetch_lines(reinterpret_cast<const char*>(this) + 64, handles_ + kEntries); }

  // Returns the position of the key, or `count` if it is absent.
  template <bool Wide>
  unsigned position_of(const Key& key, unsigned count) const {
    return keys_.template position_of<Wide>(key, count);
  }
  // Returns the position of the key among `count` entries. If the key is absent, the position is
  // the one at which it would be inserted.
  template <bool Wide>
  Spot spot_of(const Key& key, unsigned count, const NumberFences<Key>&, NoRows) const {
    const unsigned position = keys_.template count_below<Wide>(key, count);
    return {position, position < count && this->key(position) == key};
  }
  // Returns the position of the entry with this key and this handle, if there is one.
  template <bool Wide>
  Spot spot_of_entry(const Key& key, Handle handle, unsigned count) const {
    const unsigned position = keys_.template count_below<Wide>(key, count);
    return {position, position < count && this->key(position) == key && this->handle(position) == handle};
  }
  // Returns the key's handle, or kNoHandle.
  template <bool Wide>
  Handle find(const Key& key, NoRows) const {
    const unsigned n = count();
    const unsigned position = position_of<Wide>(key, n);
    return position < n ? handle(position) : kNoHandle;
  }
  void copy_to(unsigned n, Key* keys, Handle* handles, NoRows) const {
    for (unsigned i = 0; i < n; ++i) keys[i] = key(i);
    racy_copy_in(handles, handles_, n * sizeof(Handle));
  }

  // Returns where to divide the full leaf, given its middle. If the new entry goes to the right
  // leaf, the left leaf keeps kMoreLeft more entries.
  static constexpr unsigned kMoreLeft = 1;
  static unsigned division(unsigned middle) { return middle; }

  // Initializes an empty leaf, which must not be linked yet.
  void start_leaf() {
    start(0);
    for (unsigned i = 0; i < kEntries; ++i) keys_.blank(i);
  }
  // Inserts an entry. The leaf must not be full.
  void insert(Spot spot, const Key& key, Handle handle, NoRows) {
    const unsigned n = count(), position = spot.position;
    for (unsigned i = n; i > position; --i) {
      keys_.move(i, i - 1);
      racy_store(handles_[i], racy_load(handles_[i - 1]));
    }
    keys_.set(position, key);
    racy_store(handles_[position], handle);
    set_count(n + 1);
    note_insert(position);
  }
  void erase(unsigned position) {
    const unsigned n = count();
    for (unsigned i = position; i + 1 < n; ++i) {
      keys_.move(i, i + 1);
      racy_store(handles_[i], racy_load(handles_[i + 1]));
    }
    keys_.blank(n - 1);
    set_count(n - 1);
    note_erase(position);
  }
  // Moves the entries from `at` on to `right`, which must be empty and not linked yet, and inserts
  // the key into one of the halves.
  void split_to(BTreeLeaf& right, unsigned at, bool goes_left, Spot spot, const Key& key, Handle handle, NoRows rows) {
    move_to(right, at);
    if (goes_left) insert(spot, key, handle, rows);
    else right.insert(spot.after(at), key, handle, rows);
  }

 private:
  void move_to(BTreeLeaf& right, unsigned at) {
    const unsigned n = count();
    for (unsigned i = at; i < n; ++i) {
      right.keys_.set(i - at, key(i));
      racy_store(right.handles_[i - at], handle(i));
      keys_.blank(i);
    }
    right.set_count(n - at);
    set_count(at);
  }

  KeySlots<Key, kEntries> keys_;
  Handle handles_[kEntries];
};

template <class KeyType>
struct BTreeInner : BTreeNode {
  using Key = KeyType;
  // A multiple of four. Since keys_ is aligned to 32 bytes, the keys form whole vectors, and no
  // vector crosses a cache line.
  static constexpr unsigned kKeys = (kInnerBytes - 32 - sizeof(void*)) / (sizeof(Key) + sizeof(void*)) / 4 * 4;

  Key key(unsigned i) const { return keys_.get(i); }
  BTreeNode* child(unsigned i) const { return children_[i].load(std::memory_order_acquire); }
  bool full() const { return count() == kKeys; }

  // The prefetching functions of an inner node correspond to those of a leaf. A search loads all
  // keys at once, but needs the children only later.
  [[gnu::always_inline]] void prefetch_keys() const { prefetch_lines(this, children_); }
  [[gnu::always_inline]] void prefetch_child(unsigned i) const { __builtin_prefetch(&children_[i], 0, 3); }
  [[gnu::always_inline]] void prefetch_rest() const { prefetch_lines(children_, children_ + kKeys + 1); }

  // Returns the index of the child that covers the key, among `count` separators.
  template <bool Wide>
  unsigned child_of(const Key& key, unsigned count) const {
    return keys_.template count_not_above<Wide>(key, count);
  }

  // Returns where to divide the full node, given its middle.
  static unsigned division(unsigned middle) { return middle; }

  // Initializes an empty inner node, which must not be linked yet.
  void start_inner(unsigned level) {
    start(level);
    for (unsigned i = 0; i < kKeys; ++i) keys_.blank(i);
  }
  void set_only_child(BTreeNode* child) { set_child(0, child); }
  // Records that child `position` has been split at `separator`, and that `right` is its right
  // half. The node must not be full.
  void insert(unsigned position, const Key& separator, BTreeNode* right) {
    const unsigned n = count();
    for (unsigned i = n; i > position; --i) {
      keys_.move(i, i - 1);
      set_child(i + 1, child(i));
    }
    keys_.set(position, separator);
    set_child(position + 1, right);
    set_count(n + 1);
    note_insert(position);
  }
  // Removes child `position`, whose keys a neighbour then covers. There must be at least two
  // children.
  void erase_child(unsigned position) {
    const unsigned n = count();
    for (unsigned i = position > 0 ? position - 1 : 0; i + 1 < n; ++i) keys_.move(i, i + 1);
    for (unsigned i = position; i < n; ++i) set_child(i, child(i + 1));
    keys_.blank(n - 1);
    set_count(n - 1);
    note_erase(position);
  }
  // Keeps the first `at` separators, and moves everything after separator `at` to `right`, which
  // must be empty and not linked yet. Returns separator `at`, which lies between the two nodes.
  // `at` must be below count().
  Key split_to(BTreeInner& right, unsigned at) {
    const unsigned n = count();
    const Key separator = key(at);
    for (unsigned i = at + 1; i < n; ++i) right.keys_.set(i - at - 1, key(i));
    for (unsigned i = at + 1; i <= n; ++i) right.set_child(i - at - 1, child(i));
    for (unsigned i = at; i < n; ++i) keys_.blank(i);
    right.set_count(n - at - 1);
    set_count(at);
    return separator;
  }

 private:
  void set_child(unsigned i, BTreeNode* child) { children_[i].store(child, std::memory_order_release); }
  alignas(32) KeySlots<Key, kKeys> keys_;
  std::atomic<BTreeNode*> children_[kKeys + 1];
};

static_assert(sizeof(BTreeLeaf<uint64_t>) == kLeafBytes && BTreeLeaf<uint64_t>::kEntries == 31);
static_assert(sizeof(BTreeLeaf<SecondaryKey>) == kLeafBytes && BTreeLeaf<SecondaryKey>::kEntries == 20);
static_assert(sizeof(BTreeInner<uint64_t>) == kInnerBytes && BTreeInner<uint64_t>::kKeys == 44);
static_assert(sizeof(BTreeInner<SecondaryKey>) <= kInnerBytes && BTreeInner<SecondaryKey>::kKeys == 28);

}  // namespace elider::index
