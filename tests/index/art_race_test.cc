// Races of the optimistic radix tree, forced by test points: one thread is stopped in a change or a
// lookup while another makes a conflicting change.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>

#include "base/test_points.h"
#include "tests/index/art_test_support.h"

#if ELIDER_TEST_POINTS

namespace elider::index::test {
namespace {

template <class Key>
struct ArtRaceTest : RadixTest<Combination<sync::Optimistic, Key>> {
  static std::string under(unsigned byte) { return "abcdefg" + std::string(1, static_cast<char>(byte)); }
  void fill(unsigned count) {
    for (unsigned byte = 0; byte < count; ++byte) ASSERT_TRUE(this->insert(under(2 * byte), 100 + byte).inserted);
  }
  void TearDown() override { this->expect_sound(); }
  // Runs `held` in a thread of its own up to the point, then `change` here, then both to the end.
  void while_at(const char* point, const std::function<void(Worker&)>& held, const std::function<void()>& change) {
    TestStop stop(point);
    std::thread other([&] {
      Inside own(this->arena);
      held(*own);
    });
    stop.wait_until_reached();
    change();
    stop.go();
    other.join();
  }
  std::function<void(Worker&)> inserts(std::string text, Handle handle) {
    return [this, text, handle](Worker& worker) {
      EXPECT_TRUE(this->tree.get_or_insert(worker, HeldKey<Key>(text).key(), handle).inserted);
    };
  }
  std::function<void(Worker&)> removes(std::string text, Handle handle) {
    return [this, text, handle](Worker& worker) { EXPECT_TRUE(this->tree.remove(worker, HeldKey<Key>(text).key(), handle)); };
  }
  // Expects this handle, and a witness that holds when the lookup has ended.
  std::function<void(Worker&)> finds(std::string text, Handle expected, bool batch) {
    return [this, text, expected, batch](Worker&) {
      Witness witness;
      const HeldKey<Key> held(text);
      Handle handle = kNoHandle;
      if (batch) {
        const auto key = held.batch_key();
        this->tree.multi_get(&key, 1, &handle, &witness);
      } else {
        handle = this->tree.get(held.key(), witness);
      }
      EXPECT_EQ(handle, expected);
      EXPECT_TRUE(witness.holds());
    };
  }
};
using RaceKeys = testing::Types<uint64_t, ByteKey>;
TYPED_TEST_SUITE(ArtRaceTest, RaceKeys);

// The node that a lookup is about to enter is replaced, and then its key is inserted.
TYPED_TEST(ArtRaceTest, ALookupDoesNotTrustANodeThatHasGrown) {
  this->fill(4);
  this->while_at("art.child_read", this->finds(this->under(9), 7, false), [this] {
    ASSERT_TRUE(this->insert(this->under(201), 1).inserted);
    ASSERT_TRUE(this->insert(this->under(9), 7).inserted);
  });
}
TYPED_TEST(ArtRaceTest, ABatchDoesNotTrustANodeThatHasGrown) {
  this->fill(4);
  this->while_at("art.children_read", this->finds(this->under(9), 7, true), [this] {
    ASSERT_TRUE(this->insert(this->under(201), 1).inserted);
    ASSERT_TRUE(this->insert(this->under(9), 7).inserted);
  });
}
TYPED_TEST(ArtRaceTest, ALookupDoesNotTrustANodeThatHasMerged) {
  this->fill(2);
  this->while_at("art.child_read", this->finds(this->under(9), 7, false), [this] {
    ASSERT_TRUE(this->remove(this->under(0), 100));
    ASSERT_TRUE(this->insert(this->under(9), 7).inserted);
  });
}
// A node is inserted above the one that a lookup is about to enter. The lookup's node still covers
// the keys of its path.
TYPED_TEST(ArtRaceTest, ALookupGoesOnBelowANodeThatCameInBetween) {
  this->fill(3);
  this->while_at("art.child_read", this->finds(this->under(2), 101, false), [this] { ASSERT_TRUE(this->insert("abXdefgh", 1).inserted); });
}

// A merge replaces a child by an entry. The slot of a number is two words. A lookup that reads one
// word before the merge and the other after it would take the entry's handle for a child. Here the
// handle is that of a node in which the key is absent. Mutant: radix_keep_parent.
using ArtNumberRaceTest = ArtRaceTest<uint64_t>;
TEST_F(ArtNumberRaceTest, ALookupDoesNotMixAChildAndTheEntryInItsPlace) {
  RadixNode4<RadixTraits<uint64_t>> decoy;
  decoy.extra.path = HeldKey<uint64_t>("abcdefg").key();
  const Handle handle = RadixRef(&decoy, RadixKind::kNode4, 7).bits();
  ASSERT_TRUE(insert(under(2), handle).inserted);
  for (const bool batch : {false, true}) {
    ASSERT_TRUE(insert(under(0), 100).inserted);
    while_at("art.slot_key_read", finds(under(2), handle, batch), [this] { ASSERT_TRUE(remove(under(0), 100)); });
  }
}

TYPED_TEST(ArtRaceTest, AGrowthThatWasOvertakenStartsOver) {
  this->fill(4);
  this->while_at("art.before_grow", this->inserts(this->under(9), 7), [this] { ASSERT_TRUE(this->insert(this->under(11), 8).inserted); });
  EXPECT_EQ(this->get(this->under(9)), 7u);
  EXPECT_EQ(this->get(this->under(11)), 8u);
}
TYPED_TEST(ArtRaceTest, AGrowthWhoseParentChangedStartsOver) {
  this->fill(4);
  this->while_at("art.before_grow", this->inserts(this->under(9), 7), [this] { ASSERT_TRUE(this->insert("abXdefgh", 8).inserted); });
  EXPECT_EQ(this->get(this->under(9)), 7u);
  EXPECT_EQ(this->get("abXdefgh"), 8u);
}
TYPED_TEST(ArtRaceTest, ABranchOverAnEntryThatBranchedStartsOver) {
  ASSERT_TRUE(this->insert("abcdefgh", 1).inserted);
  this->while_at("art.before_branch", this->inserts("abcXefgh", 7), [this] { ASSERT_TRUE(this->insert("abcdXfgh", 8).inserted); });
  EXPECT_EQ(this->get("abcXefgh"), 7u);
  EXPECT_EQ(this->get("abcdXfgh"), 8u);
  EXPECT_EQ(this->get("abcdefgh"), 1u);
}
// The child is replaced, which does not change its parent's version.
TYPED_TEST(ArtRaceTest, ABranchOverAChildThatHasGrownStartsOver) {
  this->fill(4);
  this->while_at("art.before_branch", this->inserts("abXdefgh", 7), [this] { ASSERT_TRUE(this->insert(this->under(11), 8).inserted); });
  EXPECT_EQ(this->get("abXdefgh"), 7u);
  EXPECT_EQ(this->get(this->under(11)), 8u);
  EXPECT_EQ(this->get(this->under(2)), 101u);
}
TYPED_TEST(ArtRaceTest, AnInsertIntoANodeThatIsMergedIsKept) {
  this->fill(2);
  this->while_at("art.before_merge", this->removes(this->under(0), 100),
                 [this] { ASSERT_TRUE(this->insert(this->under(11), 8).inserted); });
  EXPECT_EQ(this->get(this->under(11)), 8u);
  EXPECT_EQ(this->get(this->under(2)), 101u);
  EXPECT_EQ(this->get(this->under(0)), kNoHandle);
}
TYPED_TEST(ArtRaceTest, AnInsertIntoANodeThatShrinksIsKept) {
  this->fill(5);
  ASSERT_TRUE(this->remove(this->under(8), 104));
  this->while_at("art.before_shrink", this->removes(this->under(0), 100),
                 [this] { ASSERT_TRUE(this->insert(this->under(11), 8).inserted); });
  EXPECT_EQ(this->get(this->under(11)), 8u);
  EXPECT_EQ(this->get(this->under(0)), kNoHandle);
}

// A scan has read its part, and then a key is inserted there.
TYPED_TEST(ArtRaceTest, AScanIsOfOneMoment) {
  this->fill(3);
  ASSERT_TRUE(this->insert("abXdefgh", 50).inserted);
  for (const bool forward : {true, false}) {
    const std::string text = this->under(forward ? 51 : 53);
    size_t entries = 0;
    const auto scan = [&](Worker&) {
      typename TestFixture::Contents contents;
      NoHint hint;
      const HeldKey<TypeParam> lowest("aa");
      this->tree.read_leaf({lowest.key(), !forward}, forward ? Direction::kForward : Direction::kBackward, hint, contents);
      entries = contents.count;
      for (const Witness& witness : contents.witnesses) EXPECT_TRUE(witness.holds());
    };
    this->while_at("art.walked", scan, [&] { ASSERT_TRUE(this->insert(text, 9).inserted); });
    EXPECT_EQ(entries, this->tree.size());
  }
}

}  // namespace
}  // namespace elider::index::test

#endif
