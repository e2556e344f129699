// The B+-tree's nodes for byte keys, and what a descent among them learns.
//
// An entry of a leaf is the head of its key (btree_head.h) and its handle, which is the address of
// a row. The whole key is stored in the row. A separator is the head and the address of a KeyBytes,
// which the inner node owns. It is the shortest key that divides its neighbours.
//
//   leaf (512 bytes):    word 8 | count, level, run, prefix 8 | 32 tags | 29 heads | 29 handles
//   inner (1152 bytes):  word 8 | count, level, run, prefix 8 | 5 samples | 8 free | 48 heads
//                        | 43 separators | 44 children | 8 free
//
// A lookup does not read the prefix and the heads of a leaf. It compares the whole key in the row
// of each entry with the same tag (btree_tags.h). Insertions and inner nodes need the position of
// an absent key. They must find out whether the key has the node's prefix. Usually the parent
// tells: if the separators on both sides of a node agree in their first S bytes, so do all keys
// between them. If the prefix is longer, its bytes are compared with those of the node's first key.
//
// The parent tells only about a child between two of its separators. The first and the last child
// may cover more keys than the parent did when the descent entered it. If a neighbour of the parent
// is unlinked meanwhile, the parent takes over its range, and its version does not change. For the
// same reason, the prefix of a node depends only on the node's keys, not on its range.
//
// Invariants, which hold for a node whose guard has been validated:
// - The keys are in ascending order, and their padded forms agree in the first prefix() bytes.
// - Head i is that of key i, for this prefix.
// - Handles and separators below count() are not null.
//
// A reader that has not validated the guard may combine a head with the handle of another entry, or
// with an old prefix. This is harmless:
// - A slot below a count that a reader has read holds a handle or separator that was linked then or
//   later. Its row or KeyBytes was reachable within the reader's grace period, so it is still
//   allocated. It is retired only after it has been unlinked.
// - The key of a row, and a separator, are written before the slot (release, acquire), and never
//   change. So its size is right, and no access lies beyond the key, whatever the prefix is.
// - What follows from a wrong combination is discarded, because the guard is then not valid.
//
// A removal does not read keys, because the caller names the row that contains the key.
//
// Within a hardware transaction, a comparison of keys adds the cache lines of the row's key to the
// transaction: one or two if the key is found, and those of about five rows if a key is inserted
// into a leaf whose heads are all equal.
// A split that lengthens the prefix reads the keys of all rows of the leaf.
//
// Thread safety: as in btree_node.h.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "base/test_points.h"
#include "index/btree/btree_head.h"
#include "index/btree/btree_node.h"
#include "index/btree/btree_sampled_slots.h"
#include "index/btree/btree_tags.h"
#include "index/byte_key.h"
#include "index/row_key.h"

namespace elider::index {

// A key, or the keys just below a bound.
struct ByteTarget {
  ByteTarget(const ByteKey& its_key) : key(its_key) {}
  ByteTarget(const ByteKey& its_key, bool is_below, bool at_end) : key(its_key), below(is_below), end(at_end) {}
  ByteKey key;
  bool below = false;
  bool end = false;  // the largest keys
};

struct ByteFences {
  static constexpr bool assumed = false;
  uint32_t shared = 0;  // the padded forms of the node's keys, and of those that it covers, agree in as many bytes

  template <bool Wide, class Inner>
  unsigned child_of(const Inner& inner, const ByteTarget& target, unsigned count) const {
    return inner.template child_of<Wide>(target, count, shared);
  }
  template <class Inner>
  void narrow(const Inner& inner, unsigned position, unsigned count) {
    shared = position > 0 && position < count ? inner.shared_around(position) : 0;
  }
  template <class Leaf>
  [[gnu::always_inline]] static void prefetch(const Leaf& leaf) {
    leaf.prefetch_rest();
  }
  ByteFences before(const ByteKey&) const { return *this; }
  ByteFences from(const ByteKey&) const { return *this; }
};

struct ByteBounds : ByteFences {
  ByteKey first;
  Bound<ByteKey> to{{}, true};

  template <class Inner>
  void narrow(const Inner& inner, unsigned position, unsigned count) {
    ByteFences::narrow(inner, position, count);
    if (position > 0) first = inner.key(position - 1);
    if (position < count) to = {inner.key(position), false};
  }
  template <class Leaf>
  [[gnu::always_inline]] static void prefetch(const Leaf& leaf) {  // a scan does not read heads
    leaf.prefetch_handles();
  }
  Range<ByteKey> range() const { return {first, to}; }
  bool covers(const ByteKey& key) const { return range().covers(key); }
};

// The fences of a lookup. If a node's prefix is longer than `shared`, a lookup assumes that its key
// has the prefix, because comparing the key would cost two cache misses. If the assumption is
// wrong, the lookup ends in a leaf that does not contain the key. It must then be repeated with
// other fences. A lookup does not use the fences of a leaf. The last step down therefore does not
// read the heads on both sides of the child, which may be in another cache line.
struct ByteLookupFences : ByteFences {
  bool assumed = false;

  template <bool Wide, class Inner>
  unsigned child_of(const Inner& inner, const ByteTarget& target, unsigned count) {
    assumed = assumed || inner.prefix() > shared;
    return inner.template child_of<Wide>(target, count, ~uint32_t{0});
  }
  template <class Inner>
  void narrow(const Inner& inner, unsigned position, unsigned count) {
    if (inner.level() > 1) ByteFences::narrow(inner, position, count);
  }
  template <class Leaf>
  [[gnu::always_inline]] static void prefetch(const Leaf& leaf) {
    leaf.prefetch_handles();
  }
};

template <>
struct KeyTraits<ByteKey> {
  using Rows = RowKey;
  using Target = ByteTarget;
  using Fences = ByteFences;
  using Bounds = ByteBounds;
  using LookupFences = ByteLookupFences;
  using BatchFences = ByteLookupFences;
  using BatchKey = KeyRef;
  using Spot = ByteSpot;
  static constexpr ByteKey kMin{};
  static constexpr bool kOwnSeparators = true;
  static bool less(const ByteKey& a, const ByteKey& b) { return a < b; }
  static ByteKey in_batch(KeyRef key) { return {key.bytes()}; }
  static ByteTarget target(const Bound<ByteKey>& at, Direction direction) {
    const bool below = direction == Direction::kBackward;
    return {at.key, below, below && at.end};
  }
};

// A pointer that a reader may follow before it has validated the node.
template <class T>
class ByteSlot {
 public:
  T get() const { return value_.load(std::memory_order_acquire); }
  void set(T value) { value_.store(value, std::memory_order_release); }
  const void* address() const { return &value_; }

 private:
  std::atomic<T> value_;
};

struct BTreeByteNode : BTreeNode {
  uint32_t prefix() const { return racy_load(prefix_); }
  void set_prefix(uint32_t prefix) { racy_store(prefix_, static_cast<uint16_t>(prefix)); }
};

template <>
struct BTreeLeaf<ByteKey> : BTreeByteNode {
  using Key = ByteKey;
  using Spot = ByteSpot;
  static constexpr unsigned kEntries = 29;

  Handle handle(unsigned i) const { return handles_[i].get(); }
  Key key(unsigned i, RowKey rows) const { return rows.of(handle(i)); }

  [[gnu::always_inline]] void prefetch_keys() const { __builtin_prefetch(this, 0, 3); }
  [[gnu::always_inline]] void prefetch_handle(unsigned i) const { __builtin_prefetch(&handles_[std::min(i, kEntries - 1)], 0, 3); }
  [[gnu::always_inline]] void prefetch_rest() const { prefetch_lines(reinterpret_cast<const char*>(this) + 64, handles_ + kEntries); }
  [[gnu::always_inline]] void prefetch_handles() const { prefetch_lines(handles_, handles_ + kEntries); }

  // Prefetches the row whose key find_from() compares, and the lines of `ahead`.
  [[gnu::always_inline]] void prefetch_row(unsigned position, unsigned count, const Key& key, RowKey rows, Ahead ahead) const {
    if (position >= count) return;
    const auto* const stored = reinterpret_cast<const char*>(this->key(position, rows).bytes);
    __builtin_prefetch(stored, 0, 3);
    __builtin_prefetch(stored + sizeof(KeyBytes) + key.size() - 1, 0, 3);
    prefetch_ahead(handle(position), ahead);
  }

  // Returns the position of the first entry with the tag of the key, or `count`.
  template <bool Wide>
  unsigned position_of(const Key& key, unsigned count) const {
    return static_cast<unsigned>(std::countr_zero(tags_.equal_to(tag_of(key), count) | uint32_t{1} << count));
  }
  // Returns the key's handle, or kNoHandle. `first` is the result of position_of().
  template <bool Wide>
  Handle find_from(unsigned first, const Key& key, unsigned count, RowKey rows) const {
    if (first >= count) return kNoHandle;
    const Handle handle = this->handle(first);
    if (equal_keys(rows.of(handle), key) || ELIDER_MUTANT(kHeadTrustTies)) [[likely]] return handle;
    for (unsigned i = first + 1; i < count; ++i) {
      if (tags_.get(i) != tags_.get(first)) continue;
      const Handle other = this->handle(i);
      if (equal_keys(rows.of(other), key)) return other;
    }
    return kNoHandle;
  }
  template <bool Wide>
  Handle find(const Key& key, RowKey rows) const {
    const unsigned n = count();
    return find_from<Wide>(position_of<Wide>(key, n), key, n, rows);
  }

  template <bool Wide>
  Spot spot_of(const Key& key, unsigned count, const ByteFences& fences, RowKey rows) const {
    if (count == 0) return {};
    const uint32_t prefix = this->prefix();
    if (prefix > fences.shared) {
      const Key first = this->key(0, rows);
      const uint32_t agreed = padded_mismatch(key, first, fences.shared, prefix);
      if (agreed < prefix) return {padded_byte(key, agreed) < padded_byte(first, agreed) ? 0 : count, false, agreed};
    }
    const unsigned position =
        heads_.template count_before<Wide>(key, false, count, prefix, [&](unsigned i) { return this->key(i, rows); });
    const bool tied = position < count && heads_.get(position) == head_of(key, prefix);  // if not, the row need not be read
    return {position, tied && equal_keys(this->key(position, rows), key), prefix};
  }
  // Returns the position of the entry with this handle, if the entry has the head of the key. The
  // handle's row need not be read, because the caller knows that it contains the key.
  template <bool Wide>
  Spot spot_of_entry(const Key& key, Handle handle, unsigned count) const {
    const uint32_t prefix = this->prefix();
    const uint64_t head = head_of(key, prefix);
    for (unsigned i = heads_.template position_of<Wide>(head, count); i < count && heads_.get(i) == head; ++i)
      if (this->handle(i) == handle) return {i, true, prefix};
    return {};
  }
  void copy_to(unsigned n, Key* keys, Handle* handles, RowKey rows) const {
    for (unsigned i = 0; i < n; ++i) {
      handles[i] = handle(i);
      keys[i] = rows.of(handles[i]);
    }
  }

  static constexpr unsigned kMoreLeft = 0;
  unsigned division(unsigned middle) const { return heads_.best_division(middle, kEntries / 6); }

  void start_leaf() {
    start(0);
    set_prefix(0);
    for (unsigned i = 0; i < kEntries; ++i) heads_.blank(i);
    for (unsigned i = 0; i < Tags::kTags; ++i) tags_.set(i, 0);
  }
  void insert(Spot spot, const Key& key, Handle handle, RowKey rows) {
    const unsigned n = count();
    if (n == 0) set_prefix(prefix_of_one(key));
    else shorten_prefix(spot.prefix, rows);
    for (unsigned i = n; i > spot.position; --i) move(i, i - 1);
    heads_.set(spot.position, head_of(key, prefix()));
    tags_.set(spot.position, tag_of(key));
    handles_[spot.position].set(handle);
    set_count(n + 1);
    note_insert(spot.position);
  }
  void erase(unsigned position) {
    const unsigned n = count();
    for (unsigned i = position; i + 1 < n; ++i) move(i, i + 1);
    heads_.blank(n - 1);
    set_count(n - 1);
    note_erase(position);
  }
  void split_to(BTreeLeaf& right, unsigned at, bool goes_left, Spot spot, const Key& key, Handle handle, RowKey rows) {
    const unsigned n = count();
    for (unsigned i = at; i < n; ++i) {
      right.heads_.set(i - at, heads_.get(i));
      right.tags_.set(i - at, tags_.get(i));
      right.handles_[i - at].set(this->handle(i));
      heads_.blank(i);
    }
    right.set_prefix(prefix());
    right.set_count(n - at);
    set_count(at);
    (goes_left ? *this : right).insert(goes_left ? spot : spot.after(at), key, handle, rows);
    lengthen_prefix(rows);
    right.lengthen_prefix(rows);
  }

  // Returns the separator of the halves that split_to() would make.
  ShortKey separator_at(unsigned at, bool goes_left, Spot spot, const Key& key, RowKey rows) const {
    const bool beside = spot.position == at;  // the new key is next to the division
    const bool is_left = beside && goes_left, is_right = beside && !goes_left;
    const uint32_t prefix = this->prefix();
    const uint64_t head = head_of(key, prefix);
    const uint64_t left_head = is_left ? head : heads_.get(at - 1), right_head = is_right ? head : heads_.get(at);
    const bool lacks_prefix = beside && spot.prefix < prefix;
    const auto left = [&] { return is_left ? key : this->key(at - 1, rows); };
    return shortest_separator(left, is_right ? key : this->key(at, rows), prefix, lacks_prefix ? 0 : left_head ^ right_head);
  }

  // Returns what is wrong with the node's heads, or null.
  const char* damage(RowKey rows) const {
    for (unsigned i = 0; i < count(); ++i) {
      if (padded_mismatch(key(i, rows), key(0, rows), 0, prefix()) != prefix()) return "has a key without its prefix";
      if (heads_.get(i) != head_of(key(i, rows), prefix())) return "has a head of another key";
      if (tags_.get(i) != tag_of(key(i, rows))) return "has a tag of another key";
    }
    return nullptr;
  }

 private:
  void move(unsigned to, unsigned from) {
    heads_.move(to, from);
    tags_.move(to, from);
    handles_[to].set(handle(from));
  }
  void shorten_prefix(uint32_t prefix, RowKey rows) {
    if (prefix >= this->prefix()) [[likely]] return;
    heads_.shorten(this->prefix(), prefix, count(), key(0, rows));
    set_prefix(prefix);
  }
  // The first and the last key agree in as many bytes as all keys. Usually their heads tell that
  // too little would be gained.
  void lengthen_prefix(RowKey rows) {
    const unsigned n = count();
    if (n > 1 && equal_head_bytes(heads_.get(0) ^ heads_.get(n - 1)) < kPrefixGainMin) return;
    const uint32_t longest = n == 1 ? prefix_of_one(key(0, rows)) : common_bytes(key(0, rows), key(n - 1, rows));
    if (longest < prefix() + kPrefixGainMin) return;
    set_prefix(longest);
    if (ELIDER_MUTANT(kHeadKeepAtSplit)) return;
    for (unsigned i = 0; i < n; ++i) __builtin_prefetch(key(i, rows).bytes, 0, 3);
    for (unsigned i = 0; i < n; ++i) heads_.set(i, head_of(key(i, rows), longest));
  }

  Tags tags_;
  Heads<kEntries> heads_;
  ByteSlot<Handle> handles_[kEntries];
};

template <>
struct BTreeInner<ByteKey> : BTreeByteNode {
  using Key = ByteKey;
  static constexpr unsigned kKeys = 43;

  Key key(unsigned i) const { return {separators_[i].get()}; }
  BTreeNode* child(unsigned i) const { return children_[i].get(); }
  bool full() const { return count() == kKeys; }

  // A search first reads the samples, then one line of heads, and then one child.
  [[gnu::always_inline]] void prefetch_keys() const { __builtin_prefetch(this, 0, 3); }
  template <bool Wide>
  [[gnu::always_inline]] void prefetch_heads(const ByteKey& key) const {
    heads_.slots().template prefetch_line<Wide>(head_of(key, prefix()));
  }
  [[gnu::always_inline]] void prefetch_child(unsigned i) const { __builtin_prefetch(&children_[i], 0, 3); }
  [[gnu::always_inline]] void prefetch_rest() const {
    heads_.slots().prefetch_all();
    prefetch_lines(children_, children_ + kKeys + 1);
  }

  // Returns the index of the child that covers the target, among `count` separators. `shared` is
  // ByteFences::shared of this node.
  template <bool Wide>
  unsigned child_of(const ByteTarget& target, unsigned count, uint32_t shared) const {
    if (target.end || count == 0) [[unlikely]] return count;
    const uint32_t prefix = this->prefix();
    if (prefix > shared) {
      const Key first = key(0);
      const uint32_t agreed = padded_mismatch(target.key, first, shared, prefix);
      if (agreed < prefix) return padded_byte(target.key, agreed) < padded_byte(first, agreed) ? 0 : count;
    }
    return heads_.template count_before<Wide>(target.key, !target.below, count, prefix, [&](unsigned i) { return key(i); });
  }
  // Returns the number of bytes in which the keys between separators position - 1 and `position`
  // agree.
  uint32_t shared_around(unsigned position) const {
    return prefix() + equal_head_bytes(heads_.get(position - 1) ^ heads_.get(position));
  }

  unsigned division(unsigned middle) const { return heads_.best_division(middle, kKeys / 4); }

  void start_inner(unsigned level) {
    start(level);
    set_prefix(0);
    heads_.blank_all();
  }
  void set_only_child(BTreeNode* child) { children_[0].set(child); }
  void insert(unsigned position, const Key& separator, BTreeNode* right) {
    const unsigned n = count();
    if (n == 0) set_prefix(prefix_of_one(separator));
    else shorten_prefix(padded_mismatch(separator, key(0), 0, prefix()));
    for (unsigned i = n; i > position; --i) {
      move(i, i - 1);
      children_[i + 1].set(child(i));
    }
    heads_.set(position, head_of(separator, prefix()));
    separators_[position].set(separator.bytes);
    children_[position + 1].set(right);
    set_count(n + 1);
    note_insert(position);
  }
  // Returns the separator that the node no longer owns.
  const KeyBytes* erase_child(unsigned position) {
    const unsigned n = count(), erased = position > 0 ? position - 1 : 0;
    const KeyBytes* const separator = separators_[erased].get();
    for (unsigned i = erased; i + 1 < n; ++i) move(i, i + 1);
    for (unsigned i = position; i < n; ++i) children_[i].set(child(i + 1));
    heads_.blank(n - 1);
    set_count(n - 1);
    note_erase(position);
    return separator;
  }
  Key split_to(BTreeInner& right, unsigned at) {
    const unsigned n = count();
    const Key separator = key(at);
    for (unsigned i = at + 1; i < n; ++i) {
      right.heads_.set(i - at - 1, heads_.get(i));
      right.separators_[i - at - 1].set(key(i).bytes);
    }
    for (unsigned i = at + 1; i <= n; ++i) right.children_[i - at - 1].set(child(i));
    for (unsigned i = at; i < n; ++i) heads_.blank(i);
    right.set_prefix(prefix());
    right.set_count(n - at - 1);
    set_count(at);
    lengthen_prefix();
    right.lengthen_prefix();
    return separator;
  }

  const char* damage(RowKey) const {
    for (unsigned i = 0; i < count(); ++i) {
      if (padded_mismatch(key(i), key(0), 0, prefix()) != prefix()) return "has a separator without its prefix";
      if (heads_.get(i) != head_of(key(i), prefix())) return "has a head of another separator";
    }
    if (!heads_.slots().has_samples()) return "has a wrong sample of its heads";
    return nullptr;
  }

 private:
  void move(unsigned to, unsigned from) {
    heads_.move(to, from);
    separators_[to].set(separators_[from].get());
  }
  void shorten_prefix(uint32_t prefix) {
    if (prefix >= this->prefix()) [[likely]] return;
    heads_.shorten(this->prefix(), prefix, count(), key(0));
    set_prefix(prefix);
  }
  void lengthen_prefix() {
    const unsigned n = count();
    if (n == 0 || (n > 1 && equal_head_bytes(heads_.get(0) ^ heads_.get(n - 1)) < kPrefixGainMin)) return;
    const uint32_t longest = n == 1 ? prefix_of_one(key(0)) : common_bytes(key(0), key(n - 1));
    if (longest < prefix() + kPrefixGainMin) return;
    set_prefix(longest);
    for (unsigned i = 0; i < n; ++i) heads_.set(i, head_of(key(i), longest));
  }

  Heads<kKeys, SampledSlots<kKeys, kNodeHeaderBytes>> heads_;
  ByteSlot<const KeyBytes*> separators_[kKeys];
  ByteSlot<BTreeNode*> children_[kKeys + 1];
};

static_assert(sizeof(BTreeLeaf<ByteKey>) == kLeafBytes);
static_assert(sizeof(BTreeInner<ByteKey>) == 1152);

}  // namespace elider::index
