// What a change does to witnesses: the witness of the node that covers the key becomes invalid, and
// InsertResult tells how to make a set of witnesses complete again.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/index/art_test_support.h"

namespace elider::index::test {
namespace {

template <class C>
struct ArtWitnessTest : RadixTest<C> {
  using typename RadixTest<C>::Key;
  using typename RadixTest<C>::Contents;
  using typename RadixTest<C>::Held;

  // What a transaction stores about a part of the tree that it has read.
  struct Part {
    std::string from, to;
    bool end = false;
    std::vector<Witness> witnesses;
    bool covers(const std::string& text) const { return from <= text && (end || text < to); }
    bool holds() const {
      return std::all_of(witnesses.begin(), witnesses.end(), [](const Witness& witness) { return witness.holds(); });
    }
    void mend(const InsertResult& result) {
      bool split = false;
      for (Witness& witness : witnesses) {
        if (witness.version != result.before.version || witness.value != result.before.value) continue;
        witness = result.after;
        split = result.split_off.version != nullptr;
      }
      if (split) witnesses.push_back(result.split_off);
    }
  };
  std::vector<Part> all_parts(Direction direction) {
    std::vector<Part> parts;
    Contents contents;
    NoHint hint;
    const Held lowest{std::string()};
    const Key least = lowest.key();
    Bound<Key> at{least, direction == Direction::kBackward};
    while (true) {
      this->tree.read_leaf(at, direction, hint, contents);
      parts.push_back({text_of(contents.range.from), contents.range.to.end ? std::string() : text_of(contents.range.to.key),
                       contents.range.to.end, {contents.witnesses.begin(), contents.witnesses.end()}});
      if (direction == Direction::kForward ? contents.range.to.end : !(least < contents.range.from)) return parts;
      at = direction == Direction::kForward ? contents.range.to : Bound<Key>{contents.range.from, false};
    }
  }
  std::string draw() {
    if (random.one_in(2)) return text_of(random.below(600) * 5);
    std::string text(this->kBytes ? random.below(7) : 8, 'a');
    for (char& byte : text) byte = static_cast<char>('a' + random.below(3));
    return text;
  }

  Random random{seed_of_test()};
};
TYPED_TEST_SUITE(ArtWitnessTest, RadixCombinations);

TYPED_TEST(ArtWitnessTest, AChangeEndsTheWitnessesOfTheRangeThatItIsIn) {
  std::map<std::string, Handle> present;
  uint64_t generation = 0, beside = 0, changes = 0;
  for (uint64_t round = 0; round < scaled(1500); ++round) {
    auto parts = this->all_parts(round % 2 == 0 ? Direction::kForward : Direction::kBackward);
    const std::string text = this->draw();
    const auto covering = std::find_if(parts.begin(), parts.end(), [&](const auto& part) { return part.covers(text); });
    ASSERT_NE(covering, parts.end());
    const auto entry = present.find(text);
    Witness single;
    ASSERT_EQ(this->get(text, single), entry == present.end() ? kNoHandle : entry->second);
    if (entry != present.end()) {
      ASSERT_TRUE(this->remove(text, entry->second));
      present.erase(entry);
    } else {
      const InsertResult result = this->insert(text, ++generation);
      ASSERT_TRUE(result.inserted);
      present.emplace(text, generation);
      ASSERT_EQ(result.before.version, single.version);
      ASSERT_EQ(result.before.value, single.value);
      // A transaction that has read everything and takes its own insertion into account has again
      // read everything, and notices a later insertion by another transaction.
      auto own = parts;
      for (auto& part : own) {
        part.mend(result);
        ASSERT_TRUE(part.holds());
      }
      const std::string other = this->draw();
      if (this->insert(other, ++generation).inserted) {
        present.emplace(other, generation);
        for (const auto& part : own)
          if (part.covers(other)) {
            ASSERT_FALSE(part.holds());
          }
      }
    }
    ASSERT_FALSE(single.holds());
    ASSERT_FALSE(covering->holds());
    ++changes;
    for (const auto& part : parts) beside += part.holds() ? 0 : 1;
    if (round % 64 == 0) this->inside.pass();
  }
  // Few other witnesses become invalid with it.
  EXPECT_LT(beside, 8 * changes);
}

TYPED_TEST(ArtWitnessTest, ReadsEndNothing) {
  for (uint64_t n = 0; n < 300; ++n) ASSERT_TRUE(this->insert(text_of(2 * n), handle_of(n)).inserted);
  const auto parts = this->all_parts(Direction::kForward);
  for (uint64_t n = 0; n < 600; ++n) {
    this->get(text_of(n));
    EXPECT_FALSE(this->remove(text_of(n), 999999999));
  }
  EXPECT_FALSE(this->insert(text_of(4), 7).inserted);
  for (const auto& part : parts) EXPECT_TRUE(part.holds());
}

// The key leaves the path to a node, so the node above covers it.
TYPED_TEST(ArtWitnessTest, AKeyThatLeavesAPathHasTheWitnessOfTheNodeAbove) {
  ASSERT_TRUE(this->insert("abcdefgh", 1).inserted);
  ASSERT_TRUE(this->insert("abcdefgi", 2).inserted);
  // Later bytes are equal to those of the path.
  for (const char* const leaving : {"abXdefgh", "abXdefgj", "aXcdefgi"}) {
    Witness witness;
    ASSERT_EQ(this->get(leaving, witness), kNoHandle);
    const auto held = typename TestFixture::Held(leaving);
    const auto key = held.batch_key();
    Witness batched;
    Handle handle = 1;
    this->tree.multi_get(&key, 1, &handle, &batched);
    ASSERT_EQ(handle, kNoHandle);
    ASSERT_TRUE(this->insert(leaving, 3).inserted);
    EXPECT_FALSE(witness.holds());
    EXPECT_FALSE(batched.holds());
    ASSERT_TRUE(this->remove(leaving, 3));
  }
}

// Witnesses of a node that was replaced, and of its replacement.
TYPED_TEST(ArtWitnessTest, AWitnessOfAReplacedNodeNeverHoldsAgain) {
  const auto text = [](unsigned byte) { return "abcdefg" + std::string(1, static_cast<char>(byte)); };
  std::vector<Witness> ended;
  for (unsigned i = 0; i < 200; ++i) {
    Witness witness;
    ASSERT_EQ(this->get(text(i), witness), kNoHandle);
    const InsertResult result = this->insert(text(i), 1);
    EXPECT_EQ(result.before.version, witness.version);
    EXPECT_TRUE(result.after.holds());
    ended.push_back(witness);
    for (const Witness& old : ended) ASSERT_FALSE(old.holds());
  }
  for (unsigned i = 0; i < 200; ++i) {
    Witness witness;
    ASSERT_EQ(this->get(text(i), witness), 1u);
    ASSERT_TRUE(this->remove(text(i), 1));
    ended.push_back(witness);
    for (const Witness& old : ended) ASSERT_FALSE(old.holds());
  }
}

}  // namespace
}  // namespace elider::index::test
