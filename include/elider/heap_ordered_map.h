// HeapOrderedMap: a B+-tree in a durable heap, which keeps its keys in order.
//
//   ELIDER_ASSIGN(auto bids, txn.root<HeapOrderedMap<uint64_t, Order>>("bids"));
//   ELIDER_TRY(txn[bids].put(txn, price, order));
//   txn[bids].for_each(txn, 100, [](uint64_t price, const Order& order) { return price < 200; });
//
// Nodes have about 512 bytes, and leaves are linked in both directions. An empty node is freed, but
// nodes are never merged. A HeapOrderedMap whose bytes are all zero is empty. A HeapOrderedMap must
// be stored in the heap. Use it only through `txn[pointer]`. Keys are compared with <.
// Thread safety: that of the transaction.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "elider/heap.h"
#include "elider/try.h"

namespace elider {

template <HeapObject K, HeapObject V>
class HeapOrderedMap {
 public:
  struct Entry {
    K key;
    V value;
  };

  //   kNotFound  the key does not exist
  Result<V> get(const HeapReader& reader, const K& key) const {
    const Position at = find(reader, key);
    if (!at.found) return missing();
    return reader.read(reader[at.leaf].entries[at.index].value);
  }
  bool contains(const HeapReader& reader, const K& key) const { return find(reader, key).found; }

  // Inserts the key, or replaces its value.
  //   kMemoryLimit  the heap is full
  Status put(HeapTransaction& txn, const K& key, const V& value) { return put_if(txn, key, value, true); }
  //   kDuplicateKey  the key exists
  Status insert(HeapTransaction& txn, const K& key, const V& value) { return put_if(txn, key, value, false); }
  //   kNotFound  the key does not exist
  Status erase(HeapTransaction& txn, const K& key) {
    Path path;
    const Position at = find(txn, key, &path);
    if (!at.found) return missing();
    Leaf& leaf = txn[at.leaf];
    const uint64_t count = txn.read(leaf.count);
    txn.claim_bytes(&leaf.entries[at.index], (count - at.index) * sizeof(Entry));
    for (uint64_t i = at.index; i + 1 < count; ++i) txn.write(leaf.entries[i], txn.read(leaf.entries[i + 1]));
    txn.write(leaf.count, count - 1);
    return count > 1 ? Status() : remove_leaf(txn, at.leaf, path);
  }

  // first() returns the entry with the smallest key, and last() the entry with the largest key.
  //   kNotFound  the map is empty
  Result<Entry> first(const HeapReader& reader) const { return end_of(reader, false); }
  Result<Entry> last(const HeapReader& reader) const { return end_of(reader, true); }
  // at_least() returns the first entry whose key is >= `key`, and at_most() the last entry whose
  // key is <= `key`.
  //   kNotFound  no such entry exists
  Result<Entry> at_least(const HeapReader& reader, const K& key) const { return nearest(reader, key, false); }
  Result<Entry> at_most(const HeapReader& reader, const K& key) const { return nearest(reader, key, true); }

  // Calls visit(key, value) for each entry in ascending order until visit() returns false. Begins
  // at key `from`, or at the first key if `from` is not given. visit() must not change the map.
  template <class Visit>
  void for_each(const HeapReader& reader, const K& from, Visit&& visit) const {
    if (const Position at = find(reader, from); at.leaf) scan(reader, at.leaf, at.index, visit);
  }
  template <class Visit>
  void for_each(const HeapReader& reader, Visit&& visit) const {
    if (const HeapPtr<Leaf> leaf = leaf_at_end(reader, false); leaf) scan(reader, leaf, 0, visit);
  }
  // Like for_each(), but in descending order, beginning at key `from` or at the last key.
  template <class Visit>
  void for_each_reversed(const HeapReader& reader, const K& from, Visit&& visit) const {
    const Position at = find(reader, from);
    if (at.leaf) scan_reversed(reader, at.leaf, at.index + (at.found ? 1 : 0), visit);
  }
  template <class Visit>
  void for_each_reversed(const HeapReader& reader, Visit&& visit) const {
    if (const HeapPtr<Leaf> leaf = leaf_at_end(reader, true); leaf) scan_reversed(reader, leaf, reader.read(reader[leaf].count), visit);
  }

  bool empty(const HeapReader& reader) const { return reader.read(height_) == 0; }
  // Counts the entries by visiting all leaves, because a stored count would make all puts conflict.
  uint64_t size(const HeapReader& reader) const {
    uint64_t size = 0;
    for (HeapPtr<Leaf> leaf = leaf_at_end(reader, false); leaf; leaf = reader.read(reader[leaf].next))
      size += reader.read(reader[leaf].count);
    return size;
  }
  // Removes all entries and frees their memory, in one transaction.
  Status clear(HeapTransaction& txn) {
    const uint64_t height = txn.read(height_);
    if (height != 0) ELIDER_TRY(free_below(txn, txn.read(root_), height));
    txn.write(root_, 0);
    txn.write(height_, 0);
    return {};
  }

 private:
  static constexpr uint64_t kNodeBytes = 512;
  static constexpr uint64_t kEntries = std::max<uint64_t>(4, (kNodeBytes - 24) / sizeof(Entry));
  static constexpr uint64_t kChildren = std::max<uint64_t>(4, (kNodeBytes - 16) / (sizeof(K) + 8));
  static constexpr uint64_t kHeightMax = 40;
  struct Leaf {
    uint64_t count;
    HeapPtr<Leaf> next, previous;
    Entry entries[kEntries];
  };
  // children[i] leads to the keys smaller than keys[i], and children[count] to the remaining keys.
  struct Inner {
    uint64_t count;
    uint64_t children[kChildren];
    K keys[kChildren - 1];
  };
  struct Position {
    HeapPtr<Leaf> leaf;  // null if the map is empty
    uint64_t index = 0;  // position of the first key that is not smaller than the key that was searched for
    bool found = false;
  };
  // The path from the root to a leaf: the inner nodes, and the position of the next child in each.
  struct Path {
    uint64_t depth = 0;
    HeapPtr<Inner> nodes[kHeightMax];
    uint64_t children[kHeightMax];
  };

  static Status missing() { return {Code::kNotFound, "the map does not contain the key"}; }
  static HeapPtr<Inner> inner(uint64_t offset) { return HeapPtr<Inner>::at(offset); }
  static HeapPtr<Leaf> leaf(uint64_t offset) { return HeapPtr<Leaf>::at(offset); }

  // Returns the first position i below `count` for which before(i) is false, or `count`. Before
  // that position, before() must be true.
  template <class Before>
  static uint64_t partition(uint64_t count, Before&& before) {
    uint64_t low = 0;
    while (low < count) {
      const uint64_t middle = (low + count) / 2;
      if (before(middle))
        low = middle + 1;
      else
        count = middle;
    }
    return low;
  }

  Position find(const HeapReader& reader, const K& key, Path* path = nullptr) const {
    const uint64_t height = reader.read(height_);
    if (height == 0) return {};
    uint64_t at = reader.read(root_);
    for (uint64_t level = 1; level < height; ++level) {
      const Inner& node = reader[inner(at)];
      const uint64_t child = partition(reader.read(node.count), [&](uint64_t i) { return !(key < reader.read(node.keys[i])); });
      if (path != nullptr) {
        path->nodes[path->depth] = inner(at);
        path->children[path->depth++] = child;
      }
      at = reader.read(node.children[child]);
    }
    const Leaf& found = reader[leaf(at)];
    const uint64_t count = reader.read(found.count);
    const uint64_t index = partition(count, [&](uint64_t i) { return reader.read(found.entries[i].key) < key; });
    return {leaf(at), index, index < count && !(key < reader.read(found.entries[index].key))};
  }

  Status put_if(HeapTransaction& txn, const K& key, const V& value, bool replaces) {
    Path path;
    Position at = find(txn, key, &path);
    if (at.found) {
      if (!replaces) return {Code::kDuplicateKey, "the map has this key"};
      txn.write(txn[at.leaf].entries[at.index].value, value);
      return {};
    }
    if (!at.leaf) {
      ELIDER_ASSIGN(at.leaf, txn.allocate<Leaf>());
      txn.write(root_, at.leaf.offset());
      txn.write(height_, 1);
    }
    const uint64_t count = txn.read(txn[at.leaf].count);
    if (count == kEntries) {
      // If keys are inserted in ascending order, the old leaf stays full instead of being halved.
      const uint64_t kept = at.index == kEntries && !txn.read(txn[at.leaf].next) ? kEntries : (kEntries + 1) / 2;
      ELIDER_ASSIGN(const HeapPtr<Leaf> right, split(txn, at.leaf, kept));
      const K separator = kept == kEntries ? key : txn.read(txn[right].entries[0].key);
      ELIDER_TRY(add_child(txn, path, separator, right.offset()));
      if (at.index > kept || kept == kEntries) {
        at.leaf = right;
        at.index -= kept;
      }
    }
    Leaf& its = txn[at.leaf];
    const uint64_t now = txn.read(its.count);
    for (uint64_t i = now; i > at.index; --i) txn.write(its.entries[i], txn.read(its.entries[i - 1]));
    txn.write(its.entries[at.index], {key, value});
    txn.write(its.count, now + 1);
    return {};
  }

  // Moves all entries except the first `kept` to a new leaf.
  static Result<HeapPtr<Leaf>> split(HeapTransaction& txn, HeapPtr<Leaf> old, uint64_t kept) {
    const auto made = txn.allocate<Leaf>();
    if (!made.ok()) return made.status();
    Leaf& left = txn[old];
    Leaf& right = txn[*made];
    txn.claim_bytes(&left.entries[kept], (kEntries - kept) * sizeof(Entry));
    for (uint64_t i = kept; i < kEntries; ++i) txn.write(right.entries[i - kept], txn.read(left.entries[i]));
    txn.write(right.count, kEntries - kept);
    txn.write(left.count, kept);
    const HeapPtr<Leaf> next = txn.read(left.next);
    txn.write(right.next, next);
    txn.write(right.previous, old);
    txn.write(left.next, *made);
    if (next) txn.write(txn[next].previous, *made);
    return *made;
  }

  // Inserts `child` to the right of the path's child in the lowest node. If that node is full,
  // splits it and continues with its parent.
  Status add_child(HeapTransaction& txn, Path& path, K key, uint64_t child) {
    while (path.depth != 0) {
      --path.depth;
      const HeapPtr<Inner> at = path.nodes[path.depth];
      uint64_t place = path.children[path.depth];
      Inner* node = &txn[at];
      uint64_t count = txn.read(node->count);
      if (count + 1 < kChildren) {
        insert_child(txn, *node, count, place, key, child);
        return {};
      }
      // The node is full, so it is split, and keys[middle] moves up as the separator of the halves.
      const uint64_t middle = count / 2;
      ELIDER_ASSIGN(const HeapPtr<Inner> right, txn.allocate<Inner>());
      const K up = txn.read(node->keys[middle]);
      for (uint64_t i = middle + 1; i < count; ++i) txn.write(txn[right].keys[i - middle - 1], txn.read(node->keys[i]));
      for (uint64_t i = middle + 1; i <= count; ++i) txn.write(txn[right].children[i - middle - 1], txn.read(node->children[i]));
      txn.write(txn[right].count, count - middle - 1);
      txn.write(node->count, middle);
      if (place > middle) {
        node = &txn[right];
        place -= middle + 1;
      }
      count = txn.read(node->count);
      insert_child(txn, *node, count, place, key, child);
      key = up;
      child = right.offset();
    }
    const uint64_t height = txn.read(height_);
    if (height == kHeightMax) return Status(Code::kMemoryLimit, "the map is too high");
    ELIDER_ASSIGN(const HeapPtr<Inner> root, txn.allocate<Inner>());
    txn.write(txn[root].count, 1);
    txn.write(txn[root].keys[0], key);
    txn.write(txn[root].children[0], txn.read(root_));
    txn.write(txn[root].children[1], child);
    txn.write(root_, root.offset());
    txn.write(height_, height + 1);
    return {};
  }
  static void insert_child(HeapTransaction& txn, Inner& node, uint64_t count, uint64_t place, const K& key, uint64_t child) {
    for (uint64_t i = count; i > place; --i) {
      txn.write(node.keys[i], txn.read(node.keys[i - 1]));
      txn.write(node.children[i + 1], txn.read(node.children[i]));
    }
    txn.write(node.keys[place], key);
    txn.write(node.children[place + 1], child);
    txn.write(node.count, count + 1);
  }

  // Removes an empty leaf, and every node above it that does not have another child.
  Status remove_leaf(HeapTransaction& txn, HeapPtr<Leaf> empty, Path& path) {
    const HeapPtr<Leaf> next = txn.read(txn[empty].next), previous = txn.read(txn[empty].previous);
    if (next) txn.write(txn[next].previous, previous);
    if (previous) txn.write(txn[previous].next, next);
    ELIDER_TRY(txn.free(empty));
    while (path.depth != 0) {
      --path.depth;
      const HeapPtr<Inner> at = path.nodes[path.depth];
      Inner& node = txn[at];
      const uint64_t count = txn.read(node.count), place = path.children[path.depth];
      if (count == 0) {  // the removed child was the only one
        ELIDER_TRY(txn.free(at));
        continue;
      }
      // Removes the child and the key to its left or, for the first child, the key to its right.
      for (uint64_t i = place == 0 ? 0 : place - 1; i + 1 < count; ++i) txn.write(node.keys[i], txn.read(node.keys[i + 1]));
      for (uint64_t i = place; i < count; ++i) txn.write(node.children[i], txn.read(node.children[i + 1]));
      txn.write(node.count, count - 1);
      return shrink(txn);
    }
    txn.write(root_, 0);
    txn.write(height_, 0);
    return {};
  }
  // Removes roots that have only one child.
  Status shrink(HeapTransaction& txn) {
    for (uint64_t height = txn.read(height_); height > 1; --height) {
      const HeapPtr<Inner> root = inner(txn.read(root_));
      if (txn.read(txn[root].count) != 0) return {};
      txn.write(root_, txn.read(txn[root].children[0]));
      txn.write(height_, height - 1);
      ELIDER_TRY(txn.free(root));
    }
    return {};
  }

  HeapPtr<Leaf> leaf_at_end(const HeapReader& reader, bool last) const {
    const uint64_t height = reader.read(height_);
    if (height == 0) return {};
    uint64_t at = reader.read(root_);
    for (uint64_t level = 1; level < height; ++level) {
      const Inner& node = reader[inner(at)];
      at = reader.read(node.children[last ? reader.read(node.count) : 0]);
    }
    return leaf(at);
  }
  Result<Entry> end_of(const HeapReader& reader, bool last) const {
    const HeapPtr<Leaf> at = leaf_at_end(reader, last);
    if (!at) return missing();
    return reader.read(reader[at].entries[last ? reader.read(reader[at].count) - 1 : 0]);
  }
  Result<Entry> nearest(const HeapReader& reader, const K& key, bool below) const {
    Result<Entry> found = missing();
    const auto take = [&](const K& its, const V& value) {
      found = Entry{its, value};
      return false;
    };
    if (below)
      for_each_reversed(reader, key, take);
    else
      for_each(reader, key, take);
    return found;
  }

  template <class Visit>
  static bool call(Visit& visit, const Entry& entry) {
    return detail::visit_and_go_on(visit, entry.key, entry.value);
  }
  template <class Visit>
  static void scan(const HeapReader& reader, HeapPtr<Leaf> at, uint64_t index, Visit& visit) {
    for (; at; at = reader.read(reader[at].next), index = 0)
      for (const uint64_t count = reader.read(reader[at].count); index < count; ++index)
        if (!call(visit, reader.read(reader[at].entries[index]))) return;
  }
  // Visits the entries before `index`.
  template <class Visit>
  static void scan_reversed(const HeapReader& reader, HeapPtr<Leaf> at, uint64_t index, Visit& visit) {
    while (at) {
      for (; index > 0; --index)
        if (!call(visit, reader.read(reader[at].entries[index - 1]))) return;
      at = reader.read(reader[at].previous);
      if (at) index = reader.read(reader[at].count);
    }
  }
  static Status free_below(HeapTransaction& txn, uint64_t at, uint64_t height) {
    if (height == 1) return txn.free(leaf(at));
    const uint64_t count = txn.read(txn[inner(at)].count);
    for (uint64_t i = 0; i <= count; ++i) ELIDER_TRY(free_below(txn, txn.read(txn[inner(at)].children[i]), height - 1));
    return txn.free(inner(at));
  }

  uint64_t root_ = 0;    // the offset of a leaf or an inner node
  uint64_t height_ = 0;  // number of levels; 0 if the map is empty
};

}  // namespace elider
