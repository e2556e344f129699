// RadixTraits: what the radix tree requires of a key type, namely access to the key's bytes in
// order, and the layout of a node's slots.
//
// There are two key types: numbers, whose most significant byte comes first, and ByteKeys.
//
// A slot for number keys has 16 bytes, and holds the entry itself, that is, key and handle. An
// entry therefore costs neither another cache miss nor memory of its own. (A separate leaf would
// cost 8 bytes for the pointer and 16 for the leaf. The slot costs 16 bytes, and nodes that are not
// full have empty slots.) A slot for byte keys has 8 bytes, and points to a RadixLeaf, which holds
// the handle and a copy of the key.
//
//   number slot:   | key            8 | handle     8 |   an entry
//                  | ~(some key)    8 | reference  8 |   a child that covers that key
//                  | anything       8 | 0          8 |   empty
//   byte slot:     | reference      8 |                  an entry, a child or empty
//
// To find out what a number slot holds, a reader compares two bytes: the byte to which the slot
// belongs, and the byte of the slot's first word at the node's depth. If they are equal, the slot
// holds an entry. If they differ, the slot holds a child, whose key is stored inverted.
//
// Thread safety: slots as in base/racy.h; everything else is a value or a pure function.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "base/racy.h"
#include "base/test_points.h"
#include "index/byte_key.h"
#include "index/index.h"

namespace elider::index {

enum class RadixKind : uint8_t { kNone, kLeaf, kNode4, kNode16, kNode48, kNode256 };

// A reference to a node: its address, its kind, and its depth, which is the length of its path. A
// lookup thus computes the address of a slot before it has read the node, so that the misses of the
// node's cache lines overlap.
//
//    63        48 47                            4 3      0
//   +------------+-------------------------------+--------+
//   |   depth    |       address, 16-aligned     |  kind  |
//   +------------+-------------------------------+--------+
class RadixRef {
 public:
  constexpr RadixRef() = default;
  explicit constexpr RadixRef(uint64_t bits) : bits_(bits) {}
  RadixRef(const void* address, RadixKind kind, unsigned depth)
      : bits_(uint64_t{depth} << 48 | reinterpret_cast<uint64_t>(address) | static_cast<uint64_t>(kind)) {
    ELIDER_DCHECK((reinterpret_cast<uint64_t>(address) & ~kAddress) == 0, "addresses have 48 bits and are multiples of 16");
  }
  uint64_t bits() const { return bits_; }
  RadixKind kind() const { return static_cast<RadixKind>(bits_ & 15); }
  unsigned depth() const { return static_cast<unsigned>(bits_ >> 48); }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(bits_ & kAddress);
  }
  friend bool operator==(RadixRef, RadixRef) = default;

 private:
  static constexpr uint64_t kAddress = 0x0000'ffff'ffff'fff0;
  uint64_t bits_ = 0;
};

// An entry of an index of byte keys. It is constant once it is linked.
struct alignas(16) RadixLeaf {
  Handle handle;
  KeyBytes key;  // followed by its bytes
  static size_t bytes_for(uint32_t key_bytes) { return sizeof(Handle) + sizeof(KeyBytes) + key_bytes; }
};

// The position of a key in a node is the key's byte at the node's depth, or kEnd if the key ends
// there. Positions are ordered like their keys.
inline constexpr int kEnd = -1;

template <class Key>
struct RadixTraits;

template <>
struct RadixTraits<uint64_t> {
  using Key = uint64_t;
  static constexpr bool kBytes = false;
  static constexpr unsigned kDepthMax = sizeof(Key) - 1;

  struct Entry {
    uint64_t key = 0;
    uint64_t word = 0;
    bool empty() const { return word == 0; }
    RadixRef child() const { return RadixRef(word); }
  };
  class Slot {
   public:
    // acquire and release: a reader that sees a child also sees its initialization.
    Entry load() const {
      const uint64_t key = racy_load(key_);
      ELIDER_TEST_POINT("art.slot_key_read");
      return {key, word_.load(std::memory_order_acquire)};
    }
    void store(const Entry& entry) {
      racy_store(key_, entry.key);
      word_.store(entry.word, std::memory_order_release);
    }
    // Replaces a child atomically. The new child must also cover the key in the slot.
    void replace_child(RadixRef child) { word_.store(child.bits(), std::memory_order_release); }
    void clear() { word_.store(0, std::memory_order_release); }

   private:
    uint64_t key_ = 0;
    std::atomic<uint64_t> word_{0};
  };
  // The part of a node that depends on the key type: its path, followed by zeros.
  struct Extra {
    uint64_t path = 0;
  };
  using Buffer = NoHint;  // memory for keys that bound a range

  static unsigned size(Key) { return sizeof(Key); }
  static unsigned byte(Key key, unsigned i) { return static_cast<unsigned>(key >> (56 - 8 * i)) & 0xff; }
  static int position(Key key, unsigned depth) { return static_cast<int>(byte(key, depth)); }
  static Key leading(Key key, unsigned depth) { return depth == 0 ? 0 : key & (~Key{0} << (64 - 8 * depth)); }
  // Returns the number of leading bytes that two different keys have in common.
  static unsigned common(Key a, Key b) { return static_cast<unsigned>(std::countl_zero(a ^ b)) / 8; }

  static bool is_leaf(const Entry& entry, unsigned depth, int at) { return position(entry.key, depth) == at; }
  // Returns the handle if the slot holds this key's entry, or kNoHandle. The slot may also hold a
  // child.
  static Handle handle_of(const Entry& entry, Key key) { return entry.key == key ? entry.word : kNoHandle; }
  // `entry` must not be a child.
  static Handle handle(const Entry& entry) { return entry.word; }
  static Key key_of(const Entry& entry) { return entry.key; }
  static Entry leaf_entry(Key key, Handle handle, void*) { return {key, handle}; }
  template <class Node>
  static Entry child_entry(RadixRef child) {
    return {~child.as<const Node>()->extra.path, child.bits()};
  }

  static constexpr size_t path_bytes(unsigned) { return 0; }
  template <class Node>
  static void set_path(Node* node, RadixRef self, Key key) {
    node->extra.path = leading(key, self.depth());
  }
  template <class Node>
  static void copy_path(Node* node, RadixRef, RadixRef from) {
    node->extra.path = from.as<const Node>()->extra.path;
  }
  // Returns the position of the key's first byte that differs from the node's path, at or after
  // `from`, or the node's depth if the key starts with the path.
  template <class Node>
  static unsigned mismatch(RadixRef ref, Key key, unsigned) {
    const uint64_t differs = key ^ ref.as<const Node>()->extra.path;
    return differs == 0 ? ref.depth() : std::min(ref.depth(), common(differs, 0));
  }
  template <class Node>
  static unsigned path_byte(RadixRef ref, unsigned i) {
    return byte(ref.as<const Node>()->extra.path, i);
  }

  // first_of() returns the smallest key that starts with the node's path. behind() returns the
  // bound after the largest such key.
  template <class Node>
  static Key first_of(RadixRef ref, Buffer&) {
    return ref.as<const Node>()->extra.path;
  }
  template <class Node>
  static Bound<Key> behind(RadixRef ref, Buffer&) {
    const unsigned depth = ref.depth();
    const Key next = depth == 0 ? 0 : ref.as<const Node>()->extra.path + (Key{1} << (64 - 8 * depth));
    return next == 0 ? Bound<Key>{{}, true} : Bound<Key>{next, false};
  }
  static Key after(Key key, Buffer&) { return key + 1; }  // the key must not be the largest
};

template <>
struct RadixTraits<ByteKey> {
  using Key = ByteKey;
  static constexpr bool kBytes = true;

  struct Entry {
    uint64_t word = 0;
    bool empty() const { return word == 0; }
    RadixRef child() const { return RadixRef(word); }
    RadixLeaf* leaf() const { return RadixRef(word).as<RadixLeaf>(); }
  };
  class Slot {
   public:
    // acquire and release: a reader that sees a pointer also sees the initialized memory at its
    // target.
    Entry load() const { return {word_.load(std::memory_order_acquire)}; }
    void store(const Entry& entry) { word_.store(entry.word, std::memory_order_release); }
    void replace_child(RadixRef child) { word_.store(child.bits(), std::memory_order_release); }
    void clear() { word_.store(0, std::memory_order_release); }

   private:
    std::atomic<uint64_t> word_{0};
  };
  // The entry of the key that ends at the node. The node's whole path is stored after the node, so
  // it need not change when a node above this one is inserted or removed.
  struct Extra {
    Slot end;
  };
  // Memory for one key.
  struct Buffer {
    alignas(KeyBytes) std::byte memory[sizeof(KeyBytes) + sizeof(uint64_t) + kKeyBytesMax + 1];
    KeyBytes* start(uint32_t size) { return new (memory) KeyBytes{size}; }
  };

  static const std::byte* data(const Key& key) { return key.bytes->data(); }
  static unsigned size(const Key& key) { return key.size(); }
  static unsigned byte(const Key& key, unsigned i) { return std::to_integer<unsigned>(data(key)[i]); }
  static int position(const Key& key, unsigned depth) { return depth < key.size() ? static_cast<int>(byte(key, depth)) : kEnd; }
  static unsigned common(const Key& a, const Key& b) {
    const unsigned both = std::min(a.size(), b.size());
    unsigned i = 0;
    while (i < both && data(a)[i] == data(b)[i]) ++i;
    return i;
  }

  static bool is_leaf(const Entry& entry, unsigned, int) { return entry.child().kind() == RadixKind::kLeaf; }
  static Handle handle_of(const Entry& entry, const Key& key) {
    if (entry.child().kind() != RadixKind::kLeaf) return kNoHandle;
    const RadixLeaf* const leaf = entry.leaf();
    const uint32_t bytes = key.size();
    return leaf->key.size == bytes && (bytes == 0 || std::memcmp(leaf->key.data(), data(key), bytes) == 0) ? leaf->handle : kNoHandle;
  }
  static Handle handle(const Entry& entry) { return entry.leaf()->handle; }
  static Key key_of(const Entry& entry) { return {&entry.leaf()->key}; }
  static Entry leaf_entry(const Key&, Handle, void* leaf) { return {RadixRef(leaf, RadixKind::kLeaf, 0).bits()}; }
  template <class Node>
  static Entry child_entry(RadixRef child) {
    return {child.bits()};
  }

  static constexpr size_t path_bytes(unsigned depth) { return depth; }
  template <class Node>
  static const std::byte* path(RadixRef ref) {
    return ref.as<const std::byte>() + Node::fixed_bytes(ref.kind());
  }
  template <class Node>
  static void set_path(Node*, RadixRef self, const Key& key) {
    if (self.depth() != 0) std::memcpy(self.as<std::byte>() + Node::fixed_bytes(self.kind()), data(key), self.depth());
  }
  template <class Node>
  static void copy_path(Node*, RadixRef self, RadixRef from) {
    if (self.depth() != 0) std::memcpy(self.as<std::byte>() + Node::fixed_bytes(self.kind()), path<Node>(from), self.depth());
  }
  template <class Node>
  static unsigned mismatch(RadixRef ref, const Key& key, unsigned from) {
    const unsigned both = std::min(ref.depth(), key.size());
    const std::byte* const led = path<Node>(ref);
    if (both == ref.depth() && (both <= from || std::memcmp(led + from, data(key) + from, both - from) == 0)) return both;
    while (from < both && led[from] == data(key)[from]) ++from;
    return std::min(from, both);
  }
  template <class Node>
  static unsigned path_byte(RadixRef ref, unsigned i) {
    return std::to_integer<unsigned>(path<Node>(ref)[i]);
  }

  template <class Node>
  static Key first_of(RadixRef ref, Buffer& buffer) {
    KeyBytes* const bytes = buffer.start(ref.depth());
    if (ref.depth() != 0) std::memcpy(bytes->data(), path<Node>(ref), ref.depth());
    return {bytes};
  }
  // Drops trailing bytes of 255 from the path, and increments the byte before them.
  template <class Node>
  static Bound<Key> behind(RadixRef ref, Buffer& buffer) {
    unsigned size = ref.depth();
    while (size > 0 && path<Node>(ref)[size - 1] == std::byte{255}) --size;
    if (size == 0) return {{}, true};
    KeyBytes* const bytes = buffer.start(size);
    std::memcpy(bytes->data(), path<Node>(ref), size);
    bytes->data()[size - 1] = static_cast<std::byte>(std::to_integer<unsigned>(bytes->data()[size - 1]) + 1);
    return {{bytes}, false};
  }
  static Key after(const Key& key, Buffer& buffer) {
    KeyBytes* const bytes = buffer.start(key.size() + 1);
    if (key.size() != 0) std::memcpy(bytes->data(), data(key), key.size());
    bytes->data()[key.size()] = std::byte{0};
    return {bytes};
  }
};

}  // namespace elider::index
