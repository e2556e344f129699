// HeapMap: a hash map in a durable heap.
//
//   ELIDER_ASSIGN(auto map, txn.root<HeapMap<uint64_t, Account>>("accounts"));
//   ELIDER_TRY(txn[map].put(txn, 42, account));
//
// The map is a trie over the hashes of its keys. The root is an array of 256 slots in the object
// itself. Below it are nodes of 64 slots, and leaves of up to 16 entries. A full leaf is replaced
// by a node, which changes only one slot, so puts of different keys rarely conflict. For the same
// reason, the size is the sum of 32 counters. A get follows two or three pointers. An empty leaf is
// freed immediately; nodes are freed only by clear(). A HeapMap whose bytes are all zero is empty.
// The object occupies 4 KiB. A HeapMap must be stored in the heap. Use it only through
// `txn[pointer]`. Keys are compared with == and hashed by their bytes, so they must not have
// padding. Thread safety: that of the transaction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "elider/heap.h"
#include "elider/try.h"

namespace elider {

template <HeapObject K, HeapObject V>
  requires std::has_unique_object_representations_v<K>
class HeapMap {
 public:
  struct Entry {
    K key;
    V value;
  };

  //   kNotFound  the key does not exist
  Result<V> get(const HeapReader& reader, const K& key) const {
    const Found found = find(reader, key);
    if (found.entry == nullptr) return missing();
    return reader.read(found.entry->value);
  }
  bool contains(const HeapReader& reader, const K& key) const { return find(reader, key).entry != nullptr; }

  // Inserts the key, or replaces its value.
  //   kMemoryLimit  the heap is full
  Status put(HeapTransaction& txn, const K& key, const V& value) {
    const Found found = find(txn, key);
    if (found.entry == nullptr) return add(txn, found, key, value);
    txn.write(writable(txn, found.entry->value), value);
    return {};
  }
  //   kDuplicateKey  the key exists
  Status insert(HeapTransaction& txn, const K& key, const V& value) {
    const Found found = find(txn, key);
    if (found.entry != nullptr) return {Code::kDuplicateKey, "the map has this key"};
    return add(txn, found, key, value);
  }
  //   kNotFound  the key does not exist
  Status erase(HeapTransaction& txn, const K& key) {
    const Found found = find(txn, key);
    if (found.entry == nullptr) return missing();
    const HeapPtr<Leaf> leaf = leaf_of(txn.read(*found.place));
    Leaf& its = txn[leaf];
    claim(txn, leaf);
    const uint64_t count = txn.read(its.count);
    if (count == 1) {
      txn.write(writable(txn, *found.place), 0);
      ELIDER_TRY(txn.free(leaf));
    } else {
      Entry& last = its.entries()[count - 1];
      if (found.entry != &last) txn.write(writable(txn, *found.entry), txn.read(last));
      txn.write(its.count, count - 1);
    }
    count_one(txn, hash_of(key), -1);
    return {};
  }
  uint64_t size(const HeapReader& reader) const {
    int64_t size = 0;
    for (const Part& part : parts_) size += reader.read(part.count);
    return static_cast<uint64_t>(size);
  }
  // Calls visit(key, value) for each entry in an arbitrary order, until visit() returns false.
  // visit() must not change the map.
  template <class Visit>
  void for_each(const HeapReader& reader, Visit&& visit) const {
    for (const uint64_t& place : places_)
      if (!visit_below(reader, reader.read(place), visit)) return;
  }
  // Removes all entries and frees their memory, in one transaction.
  Status clear(HeapTransaction& txn) {
    for (uint64_t& place : places_) {
      if (txn.read(place) == 0) continue;
      ELIDER_TRY(free_below(txn, txn.read(place)));
      txn.write(place, 0);
    }
    for (Part& part : parts_) txn.write(part.count, 0);
    return {};
  }

 private:
  // A slot (an element of `places_` or Node::places) contains 0, the offset of a leaf, or the
  // offset of a node plus 1.
  static constexpr int kRootBits = 8, kNodeBits = 6, kHashBits = 64;
  static constexpr uint64_t kLeafMax = 16;
  struct Node {
    uint64_t places[1u << kNodeBits];
  };
  struct Leaf {
    uint64_t count, capacity;
    Entry* entries() { return reinterpret_cast<Entry*>(this + 1); }
    const Entry* entries() const { return reinterpret_cast<const Entry*>(this + 1); }
  };
  struct Part {
    int64_t count = 0;
    uint64_t apart[7] = {};
  };
  struct Found {
    const uint64_t* place;  // the slot for the key's leaf
    const Entry* entry;     // null if the key does not exist
    int bits;               // number of hash bits that were used to reach the slot
  };

  static Status missing() { return {Code::kNotFound, "the map does not contain the key"}; }
  static uint64_t hash_of(const K& key) {
    unsigned char bytes[(sizeof(K) + 7) / 8 * 8] = {};
    std::memcpy(bytes, &key, sizeof(K));
    uint64_t hash = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < sizeof(bytes); i += 8) {
      uint64_t word;
      std::memcpy(&word, bytes + i, 8);
      hash = (hash ^ word) * 0xbf58476d1ce4e5b9u;
      hash ^= hash >> 32;
      hash *= 0x94d049bb133111ebu;
      hash ^= hash >> 29;
    }
    return hash;
  }
  static bool is_node(uint64_t place) { return (place & 1) != 0; }
  static HeapPtr<Node> node_of(uint64_t place) { return HeapPtr<Node>::at(place - 1); }
  static HeapPtr<Leaf> leaf_of(uint64_t place) { return HeapPtr<Leaf>::at(place); }
  static size_t index_at(uint64_t hash, int bits) { return (hash >> bits) & ((1u << kNodeBits) - 1); }

  Found find(const HeapReader& reader, const K& key) const {
    const uint64_t hash = hash_of(key);
    int bits = kRootBits;
    const uint64_t* place = &places_[hash & ((1u << kRootBits) - 1)];
    uint64_t at = reader.read(*place);
    for (; is_node(at); bits += kNodeBits) {
      place = &reader[node_of(at)].places[index_at(hash, bits)];
      at = reader.read(*place);
    }
    if (at == 0) return {place, nullptr, bits};
    const Leaf& leaf = reader[leaf_of(at)];
    const uint64_t count = reader.read(leaf.count);
    for (uint64_t i = 0; i < count; ++i)
      if (reader.read(leaf.entries()[i].key) == key) return {place, &leaf.entries()[i], bits};
    return {place, nullptr, bits};
  }

  // Converts a const reference from find() to a reference that write() accepts.
  template <class T>
  static T& writable(HeapTransaction& txn, const T& found) {
    return txn[txn.pointer_to(found)];
  }
  // Claims (HeapTransaction::claim) all entries of a leaf before they are moved.
  static void claim(HeapTransaction& txn, HeapPtr<Leaf> leaf) {
    txn.claim_bytes(&txn[leaf], sizeof(Leaf) + txn.read(txn[leaf].count) * sizeof(Entry));
  }
  void count_one(HeapTransaction& txn, uint64_t hash, int64_t by) {
    int64_t& count = parts_[(hash >> 3) % kParts].count;
    txn.write(count, txn.read(count) + by);
  }
  static Result<HeapPtr<Leaf>> make_leaf(HeapTransaction& txn, uint64_t capacity) {
    const auto made = txn.allocate<uint64_t>((sizeof(Leaf) + capacity * sizeof(Entry) + 7) / 8);
    if (!made.ok()) return made.status();
    const auto leaf = made->template as<Leaf>();
    txn.write(txn[leaf].capacity, capacity);
    return leaf;
  }

  Status add(HeapTransaction& txn, const Found& found, const K& key, const V& value) {
    const uint64_t hash = hash_of(key);
    ELIDER_TRY(add_at(txn, &writable(txn, *found.place), found.bits, hash, {key, value}));
    count_one(txn, hash, 1);
    return {};
  }
  // Adds the entry to the leaf in this slot. Allocates a leaf if the slot is empty, and enlarges or
  // splits the leaf if it is full.
  Status add_at(HeapTransaction& txn, uint64_t* place, int bits, uint64_t hash, const Entry& entry) {
    const uint64_t at = txn.read(*place);
    HeapPtr<Leaf> leaf = leaf_of(at);
    uint64_t count = 0;
    if (at == 0) {
      ELIDER_ASSIGN(leaf, make_leaf(txn, 2));
      txn.write(*place, leaf.offset());
    } else if ((count = txn.read(txn[leaf].count)) == txn.read(txn[leaf].capacity)) {
      if (count >= kLeafMax && bits + kNodeBits <= kHashBits) return split(txn, place, bits, leaf, hash, entry);
      ELIDER_ASSIGN(const HeapPtr<Leaf> larger, make_leaf(txn, 2 * count));
      for (uint64_t i = 0; i < count; ++i) txn.write(txn[larger].entries()[i], txn.read(txn[leaf].entries()[i]));
      ELIDER_TRY(txn.free(leaf));
      txn.write(*place, larger.offset());
      leaf = larger;
    }
    txn.write(txn[leaf].entries()[count], entry);
    txn.write(txn[leaf].count, count + 1);
    return {};
  }
  Status split(HeapTransaction& txn, uint64_t* place, int bits, HeapPtr<Leaf> leaf, uint64_t hash, const Entry& entry) {
    ELIDER_ASSIGN(const HeapPtr<Node> node, txn.allocate<Node>());
    const uint64_t count = txn.read(txn[leaf].count);
    for (uint64_t i = 0; i < count; ++i) {
      const Entry old = txn.read(txn[leaf].entries()[i]);
      const uint64_t its = hash_of(old.key);
      ELIDER_TRY(add_at(txn, &txn[node].places[index_at(its, bits)], bits + kNodeBits, its, old));
    }
    ELIDER_TRY(txn.free(leaf));
    txn.write(*place, node.offset() + 1);
    return add_at(txn, &txn[node].places[index_at(hash, bits)], bits + kNodeBits, hash, entry);
  }

  template <class Visit>
  static bool visit_below(const HeapReader& reader, uint64_t at, Visit& visit) {
    if (at == 0) return true;
    if (is_node(at)) {
      for (const uint64_t& place : reader[node_of(at)].places)
        if (!visit_below(reader, reader.read(place), visit)) return false;
      return true;
    }
    const Leaf& leaf = reader[leaf_of(at)];
    for (uint64_t i = 0, count = reader.read(leaf.count); i < count; ++i) {
      const Entry entry = reader.read(leaf.entries()[i]);
      if (!detail::visit_and_go_on(visit, entry.key, entry.value)) return false;
    }
    return true;
  }
  static Status free_below(HeapTransaction& txn, uint64_t at) {
    if (at == 0) return {};
    if (!is_node(at)) return txn.free(leaf_of(at));
    for (const uint64_t& place : txn[node_of(at)].places) ELIDER_TRY(free_below(txn, txn.read(place)));
    return txn.free(node_of(at));
  }

  static constexpr uint64_t kParts = 32;
  uint64_t places_[1u << kRootBits] = {};
  Part parts_[kParts] = {};
};

}  // namespace elider
