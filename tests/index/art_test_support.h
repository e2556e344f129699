// Shared by the tests of the radix tree: keys of both kinds, made from strings and sorted like
// them.
//
// This header is for tests only. Thread safety: values.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "index/art/art.h"
#include "tests/index/index_combinations.h"

namespace elider::index::test {

// A key, and its memory if it is a byte key.
template <class Key>
class HeldKey;

template <>
class HeldKey<uint64_t> {
 public:
  // The first eight bytes; a shorter string is padded with zeros.
  explicit HeldKey(std::string_view text) {
    for (size_t i = 0; i < 8; ++i) key_ = key_ << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0u);
  }
  uint64_t key() const { return key_; }
  uint64_t batch_key() const { return key_; }

 private:
  uint64_t key_ = 0;
};

template <>
class HeldKey<ByteKey> {
 public:
  explicit HeldKey(std::string_view text) : memory_(new uint64_t[(sizeof(KeyBytes) + text.size() + 7) / 8]) {
    auto* const bytes = new (memory_.get()) KeyBytes{static_cast<uint32_t>(text.size())};
    if (!text.empty()) std::memcpy(bytes->data(), text.data(), text.size());
  }
  ByteKey key() const { return {reinterpret_cast<const KeyBytes*>(memory_.get())}; }
  KeyRef batch_key() const { return KeyRef(key().bytes); }

 private:
  std::unique_ptr<uint64_t[]> memory_;
};

// Returns eight bytes that sort like the number.
inline std::string text_of(uint64_t key) {
  std::string text(8, '\0');
  for (int i = 0; i < 8; ++i) text[static_cast<size_t>(i)] = static_cast<char>(key >> (56 - 8 * i));
  return text;
}
inline std::string text_of(const ByteKey& key) {
  if (key.bytes == nullptr) return {};
  return std::string(reinterpret_cast<const char*>(key.bytes->data()), key.size());
}

using RadixCombinations =
    testing::Types<Combination<sync::Optimistic, uint64_t>, Combination<sync::Optimistic, ByteKey>, Combination<sync::Latched, uint64_t>,
                   Combination<sync::Latched, ByteKey>, Combination<sync::SingleThreaded, uint64_t>,
                   Combination<sync::Elided<htm::None>, ByteKey>, Combination<sync::Elided<htm::AlwaysAborts>, uint64_t>
#if defined(ELIDER_EMULATOR)
                   ,
                   Combination<sync::Elided<htm::Emulated>, uint64_t>, Combination<sync::Elided<htm::Emulated>, ByteKey>
#endif
                   >;
using ConcurrentRadixCombinations =
    testing::Types<Combination<sync::Optimistic, uint64_t>, Combination<sync::Optimistic, ByteKey>, Combination<sync::Latched, uint64_t>,
                   Combination<sync::Elided<htm::None>, ByteKey>, Combination<sync::Elided<htm::AlwaysAborts>, uint64_t>
#if defined(ELIDER_EMULATOR)
                   ,
                   Combination<sync::Elided<htm::Emulated>, uint64_t>
#endif
                   >;

// A tree with an arena and a worker, for one thread; keys are given as strings.
template <class C>
struct RadixTest : testing::Test {
  using Key = typename C::Key;
  using Tree = RadixTree<typename C::Sync, Key>;
  using Contents = typename Tree::Contents;
  using Held = HeldKey<Key>;
  static constexpr bool kBytes = std::is_same_v<Key, ByteKey>;

  InsertResult insert(std::string_view text, Handle handle) { return tree.get_or_insert(*inside, Held(text).key(), handle); }
  bool remove(std::string_view text, Handle handle) { return tree.remove(*inside, Held(text).key(), handle); }
  Handle get(std::string_view text, Witness& witness) { return tree.get(Held(text).key(), witness); }
  Handle get(std::string_view text) {
    Witness witness;
    return get(text, witness);
  }
  void expect_sound() const {
    const Status status = tree.verify();
    EXPECT_TRUE(status.ok()) << status.message();
  }

  Arena arena;
  Inside inside{arena};
  Tree tree;
};

}  // namespace elider::index::test
