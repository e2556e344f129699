// The nodes of the radix tree. A node maps the next byte of a key to a slot. There are four kinds,
// as in the paper, with these sizes in bytes for number keys and for byte keys:
//
//                       numbers   bytes
//   Node4                 96       64    4 bytes in order, and their slots
//   Node16               296      168    16 bytes in order, and their slots
//   Node48              1088      704    for each byte, the index of its slot, if any
//   Node256             4160     2112    a slot for each byte
//
// The path of a node consists of the bytes that lead to it. The path of a node for byte keys is
// stored after the node. Every node except the root has at least two entries, including its
// children and the entry of the key that ends at the node. Node48 and Node256 have a bitmap of the
// bytes in use, so that the next byte in order is found quickly.
//
//   every node:   word 8 | count 2, free 6 | numbers: path 8; bytes: the key that ends here 8
//
// A node's kind, depth and path never change. A change of one of them requires a new node.
//
// Thread safety: readers use the racy accessors and then validate the node's version word. Only the
// thread that holds the node's lock, or the creator of a node that is not linked yet, may write to
// it.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "base/racy.h"
#include "index/art/art_key.h"
#include "sync/version_word.h"

namespace elider::index {

// The bitmap of the bytes that are in use.
class RadixBits {
 public:
  void set(unsigned i) { racy_store(words_[i / 64], racy_load(words_[i / 64]) | uint64_t{1} << (i % 64)); }
  void clear(unsigned i) { racy_store(words_[i / 64], racy_load(words_[i / 64]) & ~(uint64_t{1} << (i % 64))); }
  // Returns the first byte in use from `i` on, or 256.
  int next(unsigned i) const {
    for (unsigned w = i / 64; w < 4; ++w) {
      uint64_t bits = racy_load(words_[w]);
      if (w == i / 64) bits &= ~uint64_t{0} << (i % 64);
      if (bits != 0) return static_cast<int>(64 * w) + std::countr_zero(bits);
    }
    return 256;
  }
  // Returns the last byte in use up to `i`, or kEnd.
  int previous(unsigned i) const {
    for (int w = static_cast<int>(i / 64); w >= 0; --w) {
      uint64_t bits = racy_load(words_[w]);
      if (w == static_cast<int>(i / 64)) bits &= ~uint64_t{0} >> (63 - i % 64);
      if (bits != 0) return 64 * w + 63 - std::countl_zero(bits);
    }
    return kEnd;
  }

 private:
  uint64_t words_[4] = {};
};

template <class Traits>
struct RadixNode {
  using Slot = typename Traits::Slot;
  using Entry = typename Traits::Entry;
  using Key = typename Traits::Key;

  sync::VersionWord word;
  std::atomic<uint16_t> count_{0};  // excludes the key that ends here
  typename Traits::Extra extra;

  // relaxed: the value is meaningless before the validation.
  unsigned count() const { return count_.load(std::memory_order_relaxed); }
  void set_count(unsigned count) { count_.store(static_cast<uint16_t>(count), std::memory_order_relaxed); }
  // Like count(), but includes the key that ends here.
  unsigned entries() const {
    if constexpr (Traits::kBytes) return count() + (extra.end.load().empty() ? 0 : 1);
    else return count();
  }

  static constexpr size_t fixed_bytes(RadixKind kind);
  static constexpr unsigned capacity(RadixKind kind) {
    switch (kind) {
      case RadixKind::kNode4: return 4;
      case RadixKind::kNode16: return 16;
      case RadixKind::kNode48: return 48;
      default: return 256;
    }
  }
  static constexpr RadixKind larger(RadixKind kind) { return static_cast<RadixKind>(static_cast<unsigned>(kind) + 1); }
  static constexpr RadixKind smaller(RadixKind kind) { return static_cast<RadixKind>(static_cast<unsigned>(kind) - 1); }
  // If a node of this kind has at most this many entries, a removal replaces the node with a
  // smaller one. The limit leaves room in the smaller node, so that a node near the limit is not
  // replaced at every change.
  static constexpr unsigned few(RadixKind kind) {
    switch (kind) {
      case RadixKind::kNode16: return 3;
      case RadixKind::kNode48: return 12;
      case RadixKind::kNode256: return 36;
      default: return 0;
    }
  }
};
static_assert(sizeof(RadixNode<RadixTraits<uint64_t>>) == 24 && sizeof(RadixNode<RadixTraits<ByteKey>>) == 24);

// The common implementation of Node4 and Node16.
template <class Traits, unsigned kCapacity>
struct RadixSmallNode : RadixNode<Traits> {
  using Slot = typename Traits::Slot;
  using Entry = typename Traits::Entry;
  static constexpr unsigned kWords = (kCapacity + 7) / 8;

  uint64_t bytes_[kWords] = {};  // in ascending order, packed into words, the lowest byte first
  Slot slots_[kCapacity];

  unsigned byte(unsigned i) const { return static_cast<unsigned>(racy_load(bytes_[i / 8]) >> (8 * (i % 8))) & 0xff; }
  void set_byte(unsigned i, unsigned byte) {
    const unsigned shift = 8 * (i % 8);
    racy_store(bytes_[i / 8], (racy_load(bytes_[i / 8]) & ~(uint64_t{0xff} << shift)) | uint64_t{byte} << shift);
  }
  const Slot* find(unsigned wanted) const {
    constexpr uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;
    unsigned i = kCapacity;
    for (unsigned w = kWords; w-- > 0;) {
      // Sets the high bit of each zero byte of `differs`. Other bits may be set only above a zero
      // byte.
      const uint64_t differs = racy_load(bytes_[w]) ^ wanted * kOnes;
      const uint64_t zero = (differs - kOnes) & ~differs & kHighs;
      if (zero != 0) i = 8 * w + static_cast<unsigned>(std::countr_zero(zero)) / 8;
    }
    return i < this->count() ? &slots_[i] : nullptr;
  }
  int next(unsigned from) const {
    for (unsigned i = 0, n = this->count(); i < n; ++i)
      if (const unsigned found = byte(i); found >= from) return static_cast<int>(found);
    return 256;
  }
  int previous(unsigned from) const {
    for (unsigned i = this->count(); i-- > 0;)
      if (const unsigned found = byte(i); found <= from) return static_cast<int>(found);
    return kEnd;
  }
  void add(unsigned added, const Entry& entry) {
    const unsigned n = this->count();
    unsigned i = n;
    for (; i > 0 && byte(i - 1) > added; --i) {
      set_byte(i, byte(i - 1));
      slots_[i].store(slots_[i - 1].load());
    }
    set_byte(i, added);
    slots_[i].store(entry);
    this->set_count(n + 1);
  }
  void erase(unsigned erased) {
    const unsigned n = this->count();
    unsigned i = 0;
    while (byte(i) != erased) ++i;
    for (; i + 1 < n; ++i) {
      set_byte(i, byte(i + 1));
      slots_[i].store(slots_[i + 1].load());
    }
    slots_[n - 1].clear();  // so that no reader finds an entry that may have been reclaimed
    this->set_count(n - 1);
  }
  void prefetch(unsigned) const {
    for (size_t line = 64; line < sizeof(*this); line += 64) __builtin_prefetch(reinterpret_cast<const char*>(this) + line, 0, 3);
  }
};

template <class Traits>
struct RadixNode48 : RadixNode<Traits> {
  using Slot = typename Traits::Slot;
  using Entry = typename Traits::Entry;
  static constexpr unsigned kCapacity = 48;
  static constexpr uint8_t kNoSlot = 255;

  RadixBits bits_;
  uint64_t taken_ = 0;  // one bit per slot
  uint8_t which_[256];
  Slot slots_[kCapacity];

  RadixNode48() {
    for (uint8_t& which : which_) which = kNoSlot;
  }
  const Slot* find(unsigned wanted) const {
    const uint8_t which = racy_load(which_[wanted]);
    return which == kNoSlot ? nullptr : &slots_[which];
  }
  int next(unsigned from) const { return bits_.next(from); }
  int previous(unsigned from) const { return bits_.previous(from); }
  void add(unsigned added, const Entry& entry) {
    const uint64_t taken = racy_load(taken_);
    const auto which = static_cast<uint8_t>(std::countr_one(taken));
    slots_[which].store(entry);
    racy_store(which_[added], which);
    racy_store(taken_, taken | uint64_t{1} << which);
    bits_.set(added);
    this->set_count(this->count() + 1);
  }
  void erase(unsigned erased) {
    const uint8_t which = racy_load(which_[erased]);
    racy_store(which_[erased], kNoSlot);
    racy_store(taken_, racy_load(taken_) & ~(uint64_t{1} << which));
    slots_[which].clear();
    bits_.clear(erased);
    this->set_count(this->count() - 1);
  }
  void prefetch(unsigned wanted) const { __builtin_prefetch(&which_[wanted], 0, 3); }
};

template <class Traits>
struct alignas(64) RadixNode256 : RadixNode<Traits> {
  using Slot = typename Traits::Slot;
  using Entry = typename Traits::Entry;
  static constexpr unsigned kCapacity = 256;

  RadixBits bits_;
  alignas(64) Slot slots_[kCapacity];

  // Returns the byte's slot, which may be empty.
  const Slot* find(unsigned wanted) const { return &slots_[wanted]; }
  int next(unsigned from) const { return bits_.next(from); }
  int previous(unsigned from) const { return bits_.previous(from); }
  void add(unsigned added, const Entry& entry) {
    slots_[added].store(entry);
    bits_.set(added);
    this->set_count(this->count() + 1);
  }
  void erase(unsigned erased) {
    slots_[erased].clear();
    bits_.clear(erased);
    this->set_count(this->count() - 1);
  }
  void prefetch(unsigned wanted) const { __builtin_prefetch(&slots_[wanted], 0, 3); }
};

template <class Traits>
using RadixNode4 = RadixSmallNode<Traits, 4>;
template <class Traits>
using RadixNode16 = RadixSmallNode<Traits, 16>;

template <class Traits>
constexpr size_t RadixNode<Traits>::fixed_bytes(RadixKind kind) {
  switch (kind) {
    case RadixKind::kNode4: return sizeof(RadixNode4<Traits>);
    case RadixKind::kNode16: return sizeof(RadixNode16<Traits>);
    case RadixKind::kNode48: return sizeof(RadixNode48<Traits>);
    default: return sizeof(RadixNode256<Traits>);
  }
}
static_assert(sizeof(RadixNode4<RadixTraits<uint64_t>>) == 96 && sizeof(RadixNode4<RadixTraits<ByteKey>>) == 64);

// Calls f(node) with the node as its actual type.
template <class Traits, class F>
[[gnu::always_inline]] inline decltype(auto) with_node(RadixRef ref, F&& f) {
  switch (ref.kind()) {
    case RadixKind::kNode4: return f(*ref.as<RadixNode4<Traits>>());
    case RadixKind::kNode16: return f(*ref.as<RadixNode16<Traits>>());
    case RadixKind::kNode48: return f(*ref.as<RadixNode48<Traits>>());
    default: return f(*ref.as<RadixNode256<Traits>>());
  }
}

// Returns the slot of a position, or null. A slot of a Node256, and the slot of kEnd, may be empty.
template <class Traits>
[[gnu::always_inline]] inline const typename Traits::Slot* radix_slot(RadixRef ref, int position) {
  if constexpr (Traits::kBytes)
    if (position == kEnd) return &ref.as<RadixNode<Traits>>()->extra.end;
  return with_node<Traits>(ref, [&](auto& node) { return node.find(static_cast<unsigned>(position)); });
}
template <class Traits>
[[gnu::always_inline]] inline typename Traits::Entry radix_entry(RadixRef ref, int position) {
  const typename Traits::Slot* const slot = radix_slot<Traits>(ref, position);
  return slot == nullptr ? typename Traits::Entry{} : slot->load();
}
// The position must hold an entry or a child.
template <class Traits>
typename Traits::Slot& radix_slot_of_writer(RadixRef ref, int position) {
  return const_cast<typename Traits::Slot&>(*radix_slot<Traits>(ref, position));
}
template <class Traits>
void radix_add(RadixRef ref, int position, const typename Traits::Entry& entry) {
  if constexpr (Traits::kBytes)
    if (position == kEnd) return ref.as<RadixNode<Traits>>()->extra.end.store(entry);
  with_node<Traits>(ref, [&](auto& node) { node.add(static_cast<unsigned>(position), entry); });
}
template <class Traits>
void radix_erase(RadixRef ref, int position) {
  if constexpr (Traits::kBytes)
    if (position == kEnd) return ref.as<RadixNode<Traits>>()->extra.end.clear();
  with_node<Traits>(ref, [&](auto& node) { node.erase(static_cast<unsigned>(position)); });
}
// Returns the first position in use from `position` on, or 256.
template <class Traits>
int radix_next(RadixRef ref, int position) {
  if (position == kEnd) {
    if constexpr (Traits::kBytes)
      if (!ref.as<RadixNode<Traits>>()->extra.end.load().empty()) return kEnd;
    position = 0;
  }
  if (position > 255) return 256;
  return with_node<Traits>(ref, [&](auto& node) { return node.next(static_cast<unsigned>(position)); });
}
// Returns the last position in use up to `position`, or kEnd - 1.
template <class Traits>
int radix_previous(RadixRef ref, int position) {
  if (position >= 0) {
    const int found = with_node<Traits>(ref, [&](auto& node) { return node.previous(static_cast<unsigned>(position)); });
    if (found != kEnd) return found;
    position = kEnd;
  }
  if constexpr (Traits::kBytes)
    if (position == kEnd && !ref.as<RadixNode<Traits>>()->extra.end.load().empty()) return kEnd;
  return kEnd - 1;
}
// Creates an empty node in this memory, which other threads must not be able to reach.
template <class Traits>
void radix_start(void* memory, RadixKind kind) {
  switch (kind) {
    case RadixKind::kNode4: new (memory) RadixNode4<Traits>; return;
    case RadixKind::kNode16: new (memory) RadixNode16<Traits>; return;
    case RadixKind::kNode48: new (memory) RadixNode48<Traits>; return;
    default: new (memory) RadixNode256<Traits>; return;
  }
}
// Copies all entries except the one at `left_out` to `to`, which must be empty and not linked yet.
template <class Traits>
void radix_copy(RadixRef to, RadixRef from, int left_out) {
  for (int at = radix_next<Traits>(from, kEnd); at < 256; at = radix_next<Traits>(from, at + 1))
    if (at != left_out) radix_add<Traits>(to, at, radix_entry<Traits>(from, at));
}

}  // namespace elider::index
