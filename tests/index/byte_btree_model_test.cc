// Compares the B+-tree of byte keys with std::map under random operations, for every policy. The
// keys share prefixes of all lengths, are prefixes of each other, or agree in their heads.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/index/byte_btree_test_support.h"

namespace elider::index::test {
namespace {

// How keys are drawn.
enum class KeyForm { kDense, kSparse, kFewBytes, kManyBytes, kCounted, kSameHeads, kPaths, kLong };
constexpr KeyForm kKeyForms[] = {KeyForm::kDense,   KeyForm::kSparse,    KeyForm::kFewBytes, KeyForm::kManyBytes,
                             KeyForm::kCounted, KeyForm::kSameHeads, KeyForm::kPaths,    KeyForm::kLong};

template <class Policy>
struct ByteBTreeModelTest : ByteBTreeTest<Policy> {
  using Base = ByteBTreeTest<Policy>;
  using typename Base::Contents;
  using typename Base::Held;

  std::string few_bytes(size_t size_max) {
    // Four byte values at the ends of the byte order. The keys are short, so that they repeat.
    static constexpr char kBytes[] = {'\0', 'a', 'b', '\xff'};
    std::string text(random.below(size_max), '\0');
    const uint64_t same = random.below(size_max);
    for (size_t i = 0; i < text.size(); ++i) text[i] = i < same ? '\0' : kBytes[random.below(4)];
    return text;
  }
  std::string draw(KeyForm shape, uint64_t space) {
    const uint64_t n = random.below(space);
    const auto digits = [](uint64_t number, size_t size) {
      const std::string text = std::to_string(number);
      return std::string(size - std::min(size, text.size()), '0') + text;
    };
    switch (shape) {
      case KeyForm::kDense: return text_of(n * 3);
      case KeyForm::kSparse: return text_of(n * 0x9e3779b97f4a7c15u);
      case KeyForm::kFewBytes: return few_bytes(9);
      case KeyForm::kManyBytes: {
        // One of a few prefixes, some long, then any byte, then sometimes an end.
        std::string text(random.below(3) * 2, 'x');
        if (random.one_in(3)) text.append(random.below(3) * 40, 'y');
        text.push_back(static_cast<char>(random.below(256)));
        if (random.one_in(4)) text.push_back(static_cast<char>(random.below(4)));
        return text;
      }
      case KeyForm::kCounted: return "user:" + digits(n, 24);
      case KeyForm::kSameHeads:
        // Most keys agree in their first 8 to 30 bytes; a few are outside.
        if (random.one_in(50)) return few_bytes(5);
        return std::string(8 + 11 * random.below(3), 's') + few_bytes(14);
      case KeyForm::kPaths: {
        std::string text = "https://example.org";
        for (uint64_t part = n; part != 0; part /= 7) text += "/section-" + std::to_string(part % 7);
        return text;
      }
      default: {
        std::string text(kKeyBytesMax - random.below(20), 'l');
        const std::string end = digits(n, 10);
        std::copy(end.begin(), end.end(), text.end() - (random.one_in(2) ? 10 : 500));
        return text;
      }
    }
  }
  void insert(const std::string& text) {
    const auto [entry, fresh] = model.try_emplace(text, kNoHandle);
    const Handle candidate = this->row_of(text);
    const InsertResult result = Base::insert(text, candidate);
    if (fresh) entry->second = candidate;
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
    ASSERT_FALSE(Base::remove(text, this->row_of(text))) << "another handle";
    ASSERT_EQ(Base::remove(text, entry == model.end() ? 1 : entry->second), entry != model.end());
    if (entry != model.end()) model.erase(entry);
  }
  Handle expected(const std::string& text) const {
    const auto entry = model.find(text);
    return entry == model.end() ? kNoHandle : entry->second;
  }
  void get(const std::string& text) {
    Witness witness;
    ASSERT_EQ(Base::get(text, witness), expected(text));
    ASSERT_TRUE(witness.holds());
  }
  void multi_get(KeyForm shape, uint64_t space, size_t count) {
    std::vector<std::string> texts;
    std::vector<Held> held;
    for (size_t i = 0; i < count; ++i) held.emplace_back(texts.emplace_back(draw(shape, space)));
    std::vector<KeyRef> keys;
    for (const Held& key : held) keys.push_back(key.batch_key());
    std::vector<Handle> handles(count);
    std::vector<Witness> witnesses(count);
    this->tree.multi_get(keys.data(), count, handles.data(), random.one_in(4) ? nullptr : witnesses.data());
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(handles[i], expected(texts[i]));
      if (!witnesses[i].version) continue;
      ASSERT_TRUE(witnesses[i].holds());
      Witness single;
      static_cast<void>(Base::get(texts[i], single));
      ASSERT_EQ(single.version, witnesses[i].version);
    }
  }
  // Scans the entries from `first` up to `last`, or to the end, forward or backward.
  void scan(const std::string& first, const std::string* last, bool reverse) {
    std::vector<std::pair<std::string, Handle>> found, wanted;
    const auto end = last == nullptr ? model.end() : model.lower_bound(*last);
    if (last == nullptr || first < *last) wanted.assign(model.lower_bound(first), end);
    if (reverse) std::reverse(wanted.begin(), wanted.end());
    const Held low(first), high(last == nullptr ? std::string() : *last);
    Range<ByteKey> rest{low.key(), {high.key(), last == nullptr}};
    Contents leaf;
    while (!rest.empty()) {
      this->tree.read_leaf(reverse ? rest.to : Bound<ByteKey>{rest.from, false}, reverse ? Direction::kBackward : Direction::kForward,
                           this->hint, leaf);
      ASSERT_TRUE(leaf.witnesses[0].holds());
      if (reverse) {
        ASSERT_TRUE(leaf.range.to.end || (!rest.to.end && !(leaf.range.to.key < rest.to.key)));
        ASSERT_TRUE(rest.to.above(leaf.range.from)) << "it goes on";
      } else {
        ASSERT_TRUE(leaf.range.covers(rest.from)) << "it goes on";
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
    ASSERT_NO_FATAL_FAILURE(scan("", nullptr, false));
    ASSERT_NO_FATAL_FAILURE(scan("", nullptr, true));
  }
  // Performs a random operation. Of 100 changes, `grow` are insertions.
  void step(KeyForm shape, uint64_t space, uint64_t grow) {
    const std::string text = draw(shape, space);
    switch (random.below(16)) {
      case 0: return multi_get(shape, space, 1 + random.below(70));
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
  void remove_all() {
    while (!model.empty()) {
      const std::string text = random.one_in(2) ? model.begin()->first : model.rbegin()->first;
      ASSERT_NO_FATAL_FAILURE(remove(text));
    }
    ASSERT_NO_FATAL_FAILURE(check_all());
    this->rows.clear();
  }

  std::map<std::string, Handle> model;
  Random random{seed_of_test()};
};
TYPED_TEST_SUITE(ByteBTreeModelTest, TablePolicies);

TYPED_TEST(ByteBTreeModelTest, RandomOperationsGrowShrinkAndEmpty) {
  for (const KeyForm shape : kKeyForms) {
    SCOPED_TRACE("shape " + std::to_string(static_cast<int>(shape)));
    for (const uint64_t space : {40u, 700u, 5000u}) {
      for (const uint64_t grow : {80u, 50u, 15u, 90u, 3u}) {
        for (uint64_t i = 0; i < scaled(std::min<uint64_t>(space * 2, 3000)); ++i) ASSERT_NO_FATAL_FAILURE(this->step(shape, space, grow));
        ASSERT_NO_FATAL_FAILURE(this->check_all());
      }
      ASSERT_NO_FATAL_FAILURE(this->remove_all());
    }
  }
}

// Keys of all shapes in one tree.
TYPED_TEST(ByteBTreeModelTest, ShapesMix) {
  for (uint64_t i = 0; i < scaled(8000); ++i)
    ASSERT_NO_FATAL_FAILURE(this->step(kKeyForms[this->random.below(std::size(kKeyForms))], 2000, i < scaled(5000) ? 85 : 20));
  ASSERT_NO_FATAL_FAILURE(this->check_all());
  ASSERT_NO_FATAL_FAILURE(this->remove_all());
}

TYPED_TEST(ByteBTreeModelTest, KeysThatBeginEachOther) {
  for (const char byte : {'\0', 'm', '\xff'}) {
    std::vector<std::string> texts;
    for (size_t size = 0; size <= 70; ++size) texts.emplace_back(size, byte);
    for (size_t i = texts.size() - 1; i > 0; --i) std::swap(texts[i], texts[this->random.below(i + 1)]);
    for (const std::string& text : texts) {
      ASSERT_NO_FATAL_FAILURE(this->insert(text));
      ASSERT_NO_FATAL_FAILURE(this->check_all());
    }
    for (const std::string& first : texts) {
      ASSERT_NO_FATAL_FAILURE(this->get(first));
      ASSERT_NO_FATAL_FAILURE(this->get(first + '\1'));
      for (const std::string& last : texts) {
        ASSERT_NO_FATAL_FAILURE(this->scan(first, &last, false));
        ASSERT_NO_FATAL_FAILURE(this->scan(first, &last, true));
      }
    }
    for (const std::string& text : texts) {
      ASSERT_NO_FATAL_FAILURE(this->remove(text));
      ASSERT_NO_FATAL_FAILURE(this->check_all());
    }
    this->inside.pass();
  }
}

TYPED_TEST(ByteBTreeModelTest, LargestAndSmallestKeysAreKeys) {
  const std::vector<std::string> ends{"", std::string(1, '\0'), std::string(8, '\0'), std::string(kKeyBytesMax, '\0'),
                                      std::string(8, '\xff'), std::string(kKeyBytesMax, '\xff')};
  for (const std::string& text : ends) ASSERT_NO_FATAL_FAILURE(this->insert(text));
  for (uint64_t i = 1; i < 500; ++i) ASSERT_NO_FATAL_FAILURE(this->insert(text_of(i)));
  ASSERT_NO_FATAL_FAILURE(this->check_all());
  const std::string beyond(kKeyBytesMax + 1, '\xff');  // the end of a range may be one byte longer than a key
  ASSERT_NO_FATAL_FAILURE(this->scan("", &beyond, true));
  for (const std::string& text : ends) ASSERT_NO_FATAL_FAILURE(this->remove(text));
  ASSERT_NO_FATAL_FAILURE(this->check_all());
}

}  // namespace
}  // namespace elider::index::test
