// The shape of the B+-tree of byte keys: how full insertions leave it, what separators and removal
// cost, what a change does to witnesses, and what happens without memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "index/cursor.h"
#include "tests/index/byte_btree_test_support.h"

namespace elider::index::test {
namespace {

template <class Policy>
struct ByteBTreeStructureTest : ByteBTreeTest<Policy> {
  using typename ByteBTreeTest<Policy>::Contents;

  double fill() {
    return static_cast<double>(this->tree.size()) / static_cast<double>(all_leaves(this->tree).size() * Contents::kCapacity);
  }
  static std::string user(uint64_t n) {
    const std::string digits = std::to_string(n);
    return "user:" + std::string(20 - digits.size(), '0') + digits;
  }
  static std::string scattered(uint64_t n) { return text_of(n * 0x9e3779b97f4a7c15u) + "tail"; }
  static size_t covering(const std::vector<Contents>& leaves, const ByteKey& key) {
    const auto found = std::find_if(leaves.begin(), leaves.end(), [&](const Contents& leaf) { return leaf.range.to.above(key); });
    return static_cast<size_t>(found - leaves.begin());
  }
  static void expect_only_ended(const std::vector<Contents>& leaves, size_t ended) {
    for (size_t i = 0; i < leaves.size(); ++i)
      ASSERT_EQ(leaves[i].witnesses[0].holds(), i != ended) << "leaf " << i << " of " << leaves.size();
  }
  static std::set<std::pair<const void*, uint64_t>> set_of(const std::vector<Witness>& witnesses) {
    std::set<std::pair<const void*, uint64_t>> set;
    for (const Witness& witness : witnesses) set.emplace(witness.version, witness.value);
    return set;
  }
};
TYPED_TEST_SUITE(ByteBTreeStructureTest, TablePolicies);

TYPED_TEST(ByteBTreeStructureTest, AscendingInsertionsFillTheLeaves) {
  for (uint64_t n = 0; n < 5000; ++n) ASSERT_TRUE(this->insert(this->user(n)).inserted);
  EXPECT_GT(this->fill(), 0.98);
  this->expect_sound();
}

TYPED_TEST(ByteBTreeStructureTest, AnEntryTakesTheSameMemoryWhateverItsKey) {
  const std::string shared(1000, 's');
  for (uint64_t n = 0; n < 5000; ++n) ASSERT_TRUE(this->insert(this->scattered(n) + shared).inserted);
  EXPECT_GT(this->fill(), 0.6);
  EXPECT_LT(this->tree.memory_bytes(), this->tree.size() * 32) << "the separators are short";
  this->expect_sound();
}

TYPED_TEST(ByteBTreeStructureTest, RemovingAllGivesAllBack) {
  Random random(5);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::string> texts;
    for (uint64_t n = 0; n < 3000; ++n) texts.push_back(round == 0 ? this->user(n) : this->scattered(n + static_cast<uint64_t>(round)));
    for (const std::string& text : texts) ASSERT_TRUE(this->insert(text).inserted);
    this->expect_sound();
    for (size_t i = texts.size() - 1; i > 0; --i) std::swap(texts[i], texts[random.below(i + 1)]);
    for (const std::string& text : texts) ASSERT_TRUE(this->remove(text));
    EXPECT_EQ(this->tree.size(), 0u);
    EXPECT_LE(this->tree.memory_bytes(), sizeof(this->tree) + kLeafBytes + sizeof(BTreeInner<ByteKey>));
    this->expect_sound();
    this->rows.clear();
  }
}

TYPED_TEST(ByteBTreeStructureTest, AQueueTakesBoundedMemory) {
  const uint64_t length = 500;
  for (uint64_t n = 0; n < length; ++n) ASSERT_TRUE(this->insert(this->user(n)).inserted);
  const size_t memory_at_first = this->tree.memory_bytes();
  for (uint64_t n = length; n < length + scaled(20000); ++n) {
    ASSERT_TRUE(this->insert(this->user(n)).inserted);
    ASSERT_TRUE(this->remove(this->user(n - length)));
    if (n % 16 == 0) this->inside.pass();
    ASSERT_LE(this->tree.memory_bytes(), memory_at_first + 16 * kLeafBytes);
  }
  this->expect_sound();
}

TYPED_TEST(ByteBTreeStructureTest, WithoutMemoryNothingIsChanged) {
  Arena small(uint64_t{4} << 20);
  Inside inside(small);
  const auto insert = [&](uint64_t n) {
    const Handle row = this->row_of(this->scattered(n));
    return this->tree.get_or_insert(*inside, kRowKey.of(row), row, this->hint);
  };
  uint64_t inserted = 0;
  while (insert(inserted).inserted) ASSERT_LT(++inserted, 1'000'000u) << "the limit is never reached";
  EXPECT_GT(inserted, 10'000u);
  EXPECT_EQ(this->tree.size(), inserted);
  this->expect_sound();
  for (uint64_t n = 0; n < inserted; ++n) ASSERT_EQ(text_of_row(this->get(this->scattered(n))), this->scattered(n));
  EXPECT_EQ(this->get(this->scattered(inserted)), kNoHandle);
  EXPECT_EQ(text_of_row(insert(5).handle), this->scattered(5));
  for (uint64_t n = 0; n < inserted; ++n) {
    const std::string text = this->scattered(n);
    ASSERT_TRUE(this->tree.remove(*inside, typename TestFixture::Held(text).key(), this->get(text)));
  }
  for (int i = 0; i < 8; ++i) inside.pass();
  EXPECT_TRUE(insert(9).inserted);
  this->expect_sound();
}

// Given a witness of every leaf, a change of a key invalidates exactly that of the leaf that covers
// the key, and InsertResult makes the set complete again.
TYPED_TEST(ByteBTreeStructureTest, AChangeEndsExactlyTheWitnessThatCoversIt) {
  Random random(seed_of_test());
  std::set<std::string> present;
  for (uint64_t round = 0; round < scaled(3000); ++round) {
    const auto leaves = all_leaves(this->tree);
    const std::string text = round % 3 == 0 ? this->user(round) : this->scattered(random.below(800));
    const typename TestFixture::Held key(text);
    const size_t covering = this->covering(leaves, key.key());
    if (present.count(text) != 0 && random.one_in(2)) {
      ASSERT_TRUE(this->remove(text));
      present.erase(text);
      ASSERT_NO_FATAL_FAILURE(this->expect_only_ended(leaves, covering));
      continue;
    }
    const InsertResult result = this->insert(text);
    ASSERT_EQ(result.inserted, present.insert(text).second);
    ASSERT_NO_FATAL_FAILURE(this->expect_only_ended(leaves, result.inserted ? covering : leaves.size()));
    ASSERT_EQ(result.before.version, leaves[covering].witnesses[0].version);
    ASSERT_EQ(result.before.value, leaves[covering].witnesses[0].value);
    if (!result.inserted) continue;
    std::vector<Witness> mended, now;
    for (size_t i = 0; i < leaves.size(); ++i) mended.push_back(i == covering ? result.after : leaves[i].witnesses[0]);
    if (result.split_off.version) mended.push_back(result.split_off);
    for (const auto& leaf : all_leaves(this->tree)) now.push_back(leaf.witnesses[0]);
    ASSERT_EQ(this->set_of(mended), this->set_of(now));
  }
}

// The separator at which the cursor continues is freed, and its memory is used again.
TYPED_TEST(ByteBTreeStructureTest, ACursorContinuesInAnotherGracePeriod) {
  constexpr uint64_t kKeys = 2000;
  for (uint64_t n = 0; n < kKeys; ++n) ASSERT_TRUE(this->insert(this->user(n)).inserted);
  LeafCursor cursor(this->tree);
  Entries entries;
  ASSERT_TRUE(cursor.next(100, &entries));
  const uint64_t read = entries.size();
  for (uint64_t n = read - 50; n < read + 50; ++n) ASSERT_TRUE(this->remove(this->user(n)));
  for (int i = 0; i < 8; ++i) this->inside.pass();
  for (uint64_t n = 0; n < kKeys; ++n) ASSERT_TRUE(this->insert("another " + this->user(n)).inserted);
  while (cursor.next(100, &entries)) {
  }
  ASSERT_EQ(entries.size(), kKeys - 50);
  for (uint64_t i = read; i < entries.size(); ++i) ASSERT_EQ(text_of_row(entries[i].second), this->user(i + 50));
}

TYPED_TEST(ByteBTreeStructureTest, ADumpNamesEveryEntry) {
  for (uint64_t n = 0; n < 40; ++n) ASSERT_TRUE(this->insert(this->user(n)).inserted);
  std::ostringstream out;
  this->tree.dump(out);
  EXPECT_NE(out.str().find("height 2, 40 entries"), std::string::npos) << out.str();
  for (uint64_t n = 0; n < 40; ++n) EXPECT_NE(out.str().find('"' + this->user(n) + "\"->"), std::string::npos) << out.str();
}

}  // namespace
}  // namespace elider::index::test
