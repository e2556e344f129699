// Shared by the tests of the B+-tree of byte keys: rows that contain their keys, and keys that are
// made from strings.
//
// This header is for tests only. Thread safety: a ByteRow is a value; a tree's fixture belongs to
// one thread.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/index/art_test_support.h"

namespace elider::index::test {

inline constexpr RowKey kRowKey{24};  // where a ByteRow stores its key

// A row: some bytes, and then its key. Its handle is its address.
class ByteRow {
 public:
  explicit ByteRow(std::string_view text) : memory_(new uint64_t[(kRowKey.offset + sizeof(KeyBytes) + text.size() + 7) / 8]) {
    auto* const key = new (reinterpret_cast<std::byte*>(memory_.get()) + kRowKey.offset) KeyBytes{static_cast<uint32_t>(text.size())};
    if (!text.empty()) std::memcpy(key->data(), text.data(), text.size());
  }
  Handle handle() const { return reinterpret_cast<Handle>(memory_.get()); }
  ByteKey key() const { return kRowKey.of(handle()); }

 private:
  std::unique_ptr<uint64_t[]> memory_;
};
inline std::string text_of_row(Handle handle) { return text_of(kRowKey.of(handle)); }

// A tree with an arena and a worker, for one thread. Keys are given as strings.
template <class Policy>
struct ByteBTreeTest : testing::Test {
  using Tree = BTree<Policy, ByteKey>;
  using Contents = typename Tree::Contents;
  using Hint = typename Tree::Hint;
  using Held = HeldKey<ByteKey>;

  // Returns a row that lives as long as the test.
  Handle row_of(std::string_view text) { return rows.emplace_back(text).handle(); }
  InsertResult insert(std::string_view text, Handle row) { return tree.get_or_insert(*inside, Held(text).key(), row, hint); }
  InsertResult insert(std::string_view text) { return insert(text, row_of(text)); }
  bool remove(std::string_view text, Handle row) { return tree.remove(*inside, Held(text).key(), row); }
  bool remove(std::string_view text) { return remove(text, get(text)); }
  Handle get(std::string_view text, Witness& witness) { return tree.get(Held(text).key(), hint, witness); }
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
  Tree tree{kRowKey};
  Hint hint;
  std::vector<ByteRow> rows;
};

}  // namespace elider::index::test
