// Compares the radix tree with std::map under random operations, for every policy and both kinds of
// keys. Many keys are prefixes of others.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/index/art_test_support.h"

namespace elider::index::test {
namespace {

// How keys are drawn.
enum class Shape { kDense, kSparse, kFewBytes, kManyBytes };

template <class C>
struct ArtModelTest : RadixTest<C> {
  using typename RadixTest<C>::Key;
  using typename RadixTest<C>::Contents;
  using typename RadixTest<C>::Held;

  std::string draw(Shape shape, uint64_t space) {
    const uint64_t n = random.below(space);
    switch (shape) {
      case Shape::kDense: return text_of(n * 3);
      case Shape::kSparse: return text_of(n * 0x9e3779b97f4a7c15u);
      case Shape::kFewBytes: {
        // Four byte values at the ends of the byte order. The keys are short, so that they repeat.
        static constexpr char kBytes[] = {'\0', 'a', 'b', '\xff'};
        std::string text(this->kBytes ? random.below(9) : 8, '\0');
        const uint64_t same = random.below(9);
        for (size_t i = 0; i < text.size(); ++i) text[i] = i < same ? '\xff' : kBytes[random.below(4)];
        return text;
      }
      default: {
        // One of a few prefixes, some long, then any byte, then sometimes an end.
        std::string text(random.below(3) * 2, 'x');
        if (this->kBytes && random.one_in(3)) text.append(random.below(3) * 40, 'y');
        text.push_back(static_cast<char>(random.below(256)));
        if (random.one_in(4)) text.push_back(static_cast<char>(random.below(4)));
        return text_of(Held(text).key());
      }
    }
  }
  void insert(const std::string& text) {
    const auto [entry, fresh] = model.try_emplace(text, ++generation);
    const InsertResult result = RadixTest<C>::insert(text, fresh ? entry->second : ++generation);
    ASSERT_EQ(result.inserted, fresh);
    ASSERT_EQ(result.handle, entry->second);
    ASSERT_TRUE(result.after.holds());
    ASSERT_EQ(result.before.holds(), !fresh);
    if (result.split_off.version) {
      ASSERT_TRUE(result.split_off.holds());
    }
  }
  void remove(const std::string& text) {
    const auto entry = model.find(text);
    ASSERT_FALSE(RadixTest<C>::remove(text, generation + 1)) << "another handle";
    ASSERT_EQ(RadixTest<C>::remove(text, entry == model.end() ? 1 : entry->second), entry != model.end());
    if (entry != model.end()) model.erase(entry);
  }
  Handle expected(const std::string& text) const {
    const auto entry = model.find(text);
    return entry == model.end() ? kNoHandle : entry->second;
  }
  void get(const std::string& text) {
    Witness witness;
    ASSERT_EQ(RadixTest<C>::get(text, witness), expected(text));
    ASSERT_TRUE(witness.holds());
  }
  void multi_get(Shape shape, uint64_t space, size_t count) {
    std::vector<std::string> texts;
    std::vector<Held> held;
    for (size_t i = 0; i < count; ++i) held.emplace_back(texts.emplace_back(draw(shape, space)));
    std::vector<typename RadixTest<C>::Tree::BatchKey> keys;
    for (const Held& key : held) keys.push_back(key.batch_key());
    std::vector<Handle> handles(count);
    std::vector<Witness> witnesses(count);
    this->tree.multi_get(keys.data(), count, handles.data(), random.one_in(4) ? nullptr : witnesses.data());
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(handles[i], expected(texts[i]));
      if (!witnesses[i].version) continue;
      ASSERT_TRUE(witnesses[i].holds());
      Witness single;
      static_cast<void>(RadixTest<C>::get(texts[i], single));
      ASSERT_EQ(single.version, witnesses[i].version);
    }
  }
  // Returns all entries from `first` up to `last`, or to the end, forward or backward.
  void scan(const std::string& first, const std::string* last, bool reverse) {
    std::vector<std::pair<std::string, Handle>> found;
    const auto end = last == nullptr ? model.end() : model.lower_bound(*last);
    std::vector<std::pair<std::string, Handle>> wanted;
    if (last == nullptr || first < *last) wanted.assign(model.lower_bound(first), end);
    if (reverse) std::reverse(wanted.begin(), wanted.end());
    const Held low(first), high(last == nullptr ? std::string() : *last);
    Range<Key> rest{low.key(), {high.key(), last == nullptr}};
    NoHint hint;
    Contents leaf;
    while (!rest.empty()) {
      if (reverse) this->tree.read_leaf(rest.to, Direction::kBackward, hint, leaf);
      else this->tree.read_leaf({rest.from, false}, Direction::kForward, hint, leaf);
      ASSERT_GE(leaf.witnesses.size(), 1u);
      for (const Witness& witness : leaf.witnesses) ASSERT_TRUE(witness.holds());
      if (reverse) {
        ASSERT_TRUE(leaf.range.to.end == rest.to.end && (rest.to.end || leaf.range.to.key == rest.to.key));
        ASSERT_TRUE(rest.to.above(leaf.range.from)) << "it goes on";
      } else {
        ASSERT_TRUE(leaf.range.from == rest.from);
        ASSERT_TRUE(leaf.range.to.above(rest.from)) << "it goes on";
      }
      for (size_t i = 0; i < leaf.count; ++i) {
        const size_t at = reverse ? leaf.count - 1 - i : i;
        ASSERT_TRUE(leaf.range.covers(leaf.keys[at]));
        if (rest.covers(leaf.keys[at])) found.emplace_back(text_of(leaf.keys[at]), leaf.handles[at]);
      }
      if (reverse) rest.to = {leaf.range.from, false};
      else if (leaf.range.to.end) break;
      else rest.from = leaf.range.to.key;
    }
    ASSERT_EQ(found, wanted) << (reverse ? "reverse" : "forward");
  }
  void check_all() {
    const Status status = this->tree.verify();
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(this->tree.size(), model.size());
    const std::string lowest = text_of(Held(std::string()).key());
    ASSERT_NO_FATAL_FAILURE(scan(lowest, nullptr, false));
    ASSERT_NO_FATAL_FAILURE(scan(lowest, nullptr, true));
  }
  // Performs a random operation. Of 100 changes, `grow` are insertions.
  void step(Shape shape, uint64_t space, uint64_t grow) {
    const std::string text = draw(shape, space);
    switch (random.below(16)) {
      case 0: return multi_get(shape, space, 1 + random.below(40));
      case 1: {
        const std::string other = draw(shape, space);
        return scan(text, random.one_in(8) ? nullptr : &other, random.one_in(2));
      }
      case 2:
        if (random.one_in(8)) this->inside.pass();
        return get(text);
      case 3:
      case 4: return get(text);
      default: return random.below(100) < grow ? insert(text) : remove(text);
    }
  }

  std::map<std::string, Handle> model;
  uint64_t generation = 1;
  Random random{seed_of_test()};
};
TYPED_TEST_SUITE(ArtModelTest, RadixCombinations);

TYPED_TEST(ArtModelTest, RandomOperationsGrowShrinkAndEmpty) {
  for (const Shape shape : {Shape::kDense, Shape::kSparse, Shape::kFewBytes, Shape::kManyBytes}) {
    for (const uint64_t space : {40u, 700u, 5000u}) {
      for (const uint64_t grow : {80u, 50u, 15u, 90u, 3u}) {
        for (uint64_t i = 0; i < scaled(std::min<uint64_t>(space * 2, 4000)); ++i) ASSERT_NO_FATAL_FAILURE(this->step(shape, space, grow));
        ASSERT_NO_FATAL_FAILURE(this->check_all());
      }
      while (!this->model.empty()) {
        const std::string text = this->random.one_in(2) ? this->model.begin()->first : this->model.rbegin()->first;
        ASSERT_NO_FATAL_FAILURE(this->remove(text));
      }
      ASSERT_NO_FATAL_FAILURE(this->check_all());
      ASSERT_EQ(this->tree.memory_bytes(), sizeof(this->tree)) << "an empty tree has no nodes but the root";
    }
  }
}

// A chain of nodes: each key is a prefix of the next one.
TYPED_TEST(ArtModelTest, KeysThatBeginEachOther) {
  for (const char byte : {'\0', 'm', '\xff'}) {
    std::vector<std::string> texts;
    for (size_t size = 0; size <= (this->kBytes ? 60 : 7); ++size) {
      std::string text(size, byte);
      if (!this->kBytes) text += static_cast<char>(byte ^ 1), text.resize(8, '\x7f');
      texts.push_back(text);
    }
    for (size_t i = texts.size() - 1; i > 0; --i) std::swap(texts[i], texts[this->random.below(i + 1)]);
    for (const std::string& text : texts) {
      ASSERT_NO_FATAL_FAILURE(this->insert(text));
      ASSERT_NO_FATAL_FAILURE(this->check_all());
    }
    for (const std::string& first : texts)
      for (const std::string& last : texts) {
        ASSERT_NO_FATAL_FAILURE(this->scan(first, &last, false));
        ASSERT_NO_FATAL_FAILURE(this->scan(first, &last, true));
      }
    for (const std::string& text : texts) {
      ASSERT_NO_FATAL_FAILURE(this->remove(text));
      ASSERT_NO_FATAL_FAILURE(this->check_all());
    }
    this->inside.pass();
  }
}

TYPED_TEST(ArtModelTest, LargestAndSmallestKeysAreKeys) {
  const std::string longest(this->kBytes ? kKeyBytesMax : 8, '\xff');
  const std::vector<std::string> ends{text_of(typename TestFixture::Held("").key()), std::string(8, '\0'), std::string(8, '\xff'), longest};
  for (const std::string& text : ends) ASSERT_NO_FATAL_FAILURE(this->insert(text));
  for (uint64_t i = 1; i < 500; ++i) ASSERT_NO_FATAL_FAILURE(this->insert(text_of(i)));
  ASSERT_NO_FATAL_FAILURE(this->check_all());
  for (const std::string& text : ends) ASSERT_NO_FATAL_FAILURE(this->remove(text));
  ASSERT_NO_FATAL_FAILURE(this->check_all());
}

}  // namespace
}  // namespace elider::index::test
