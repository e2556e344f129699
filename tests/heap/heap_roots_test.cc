// The roots of a heap: what may become of their objects, what lists them; and what a reader may do.
#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "elider/heap.h"
#include "elider/try.h"
#include "tests/heap/heap_fixture.h"

namespace elider::test {
namespace {

struct Tally {
  uint64_t hits;
  char letter;
};
struct Tallies {
  Tally all[20];
};

class HeapRootsTest : public testing::Test, protected HeapFixture {
 protected:
  HeapRootsTest() {
    options_.capacity_bytes = 64 << 20;
    options_.log_bytes = 64 << 10;
    reopen();
  }
};

TEST_F(HeapRootsTest, ARootIsFreedByItsNameAlone) {
  HeapPtr<Tally> root, other;
  ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_ASSIGN(root, txn.root<Tally>("counter"));
    ELIDER_ASSIGN(other, txn.allocate<Tally>());
    return txn.root<Tallies>("cells").status();
  }));
  for (int i = 0; i < 2; ++i) {
    const Status refused = heap_.transaction([&](HeapTransaction& txn) { return txn.free(root); });
    EXPECT_REFUSED(Code::kInvalidArgument, "is the root 'counter'", refused);
    EXPECT_REFUSED(Code::kInvalidArgument, "remove_root()", refused);
    reopen();
  }
  EXPECT_OK(heap_.transaction([&](HeapTransaction& txn) { return txn.free(other); }));
  EXPECT_OK(heap_.transaction([&](HeapTransaction& txn) { return txn.remove_root("counter"); }));
  // What was a root is an object like others when it is used again.
  ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_ASSIGN(other, txn.allocate<Tally>());
    return {};
  }));
  EXPECT_OK(heap_.transaction([&](HeapTransaction& txn) { return txn.free(other); }));
  EXPECT_EQ(check().lost_bytes, 0u);
}

TEST_F(HeapRootsTest, StatusListsTheRoots) {
  ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_TRY(txn.root<Tally>("counter").status());
    ELIDER_TRY(txn.root<Tallies>("cells").status());
    EXPECT_EQ(heap_.status().roots.size(), 2u);
    return {};
  }));
  const auto expect_both = [](const std::vector<HeapRoot>& roots) {
    ASSERT_EQ(roots.size(), 2u);
    EXPECT_EQ(roots[0].name, "cells");
    EXPECT_EQ(roots[0].bytes, sizeof(Tallies));
    EXPECT_EQ(roots[1].name, "counter");
    EXPECT_NE(roots[1].type.find("elider::test::"), std::string::npos);
    EXPECT_NE(roots[1].type.find("::Tally"), std::string::npos);
    EXPECT_EQ(roots[1].bytes, sizeof(Tally));
  };
  expect_both(heap_.status().roots);
  heap_ = {};
  const auto status = Heap::status_of(path_);
  ASSERT_OK(status);
  expect_both(status->roots);
}

// A reader gets no place that it could write to.
static_assert(std::is_same_v<decltype(std::declval<HeapReader&>()[HeapPtr<Tally>()]), const Tally&>);
static_assert(std::is_same_v<decltype(std::declval<HeapTransaction&>()[HeapPtr<Tally>()]), Tally&>);

TEST_F(HeapRootsTest, OpeningNeedsNoSize) {
  const std::string path = (folder_.path() / "b.heap").string();
  for (int i = 0; i < 2; ++i) {
    auto heap = Heap::open(path, options_);
    ASSERT_OK(heap);
    EXPECT_GE(heap->status().heap_bytes, (1u << 20) << i);
    ASSERT_OK(heap->transaction([](HeapTransaction& txn) { return txn.allocate<std::byte>(1 << 20).status(); }));
  }
}

}  // namespace
}  // namespace elider::test
