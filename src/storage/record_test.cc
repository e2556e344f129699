#include "storage/record.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "base/test_points.h"

namespace elider::storage {
namespace {

// The row of schema_in_groups(). "b" and "d" have groups of their own.
struct Grouped {
  int64_t a = 0;
  uint32_t b = 0;
  uint32_t undescribed = 0;
  std::array<char, 8> text = {};
  double d = 0;
  bool operator==(const Grouped&) const = default;
};
constexpr uint64_t kA = 0b0001, kB = 0b0010, kText = 0b0100, kD = 0b1000;  // bits of a column set
constexpr Grouped kOld{1, 2, 3, {'o', 'l', 'd'}, 4.5}, kNew{10, 20, 30, {'n', 'e', 'w'}, 45}, kUntouched{-1, 77, 78, {'-'}, -0.5};

Schema schema_in_groups() {
  Schema schema;
  schema.name = "grouped";
  schema.row_bytes = sizeof(Grouped);
  schema.columns = {{"a", ColumnType::kInt64, 0, 8, 0},
                    {"b", ColumnType::kUInt32, 8, 4, 1},
                    {"text", ColumnType::kBytes, 16, 8, 0},
                    {"d", ColumnType::kDouble, 24, 8, 2}};
  return schema;
}

// Not inlined, because g++ knows the size of the row, but not the spans of the layout, and warns of
// a copy past the end.
[[gnu::noinline]] std::byte* bytes_of(Grouped& row) { return reinterpret_cast<std::byte*>(&row); }
[[gnu::noinline]] const std::byte* bytes_of(const Grouped& row) { return reinterpret_cast<const std::byte*>(&row); }

// A row block and the versions that its cells point to. Group 0 is stored as a block, the others in
// the cell.
class RecordTest : public testing::Test {
 protected:
  static constexpr uint32_t kBlockThresholdBytes = 16;

  RecordTest() : words_(layout_.block_bytes() / sizeof(uint64_t) + 1) {
    for (uint32_t g = 0; g < layout_.group_count(); ++g) {
      if (layout_.group(g).block) cell(g).set_block(new_block(layout_.group(g).payload_bytes));
      write(g, kOld, 1);
    }
  }

  Cell& cell(uint32_t g) { return reinterpret_cast<Row*>(words_.data())->cell(layout_, g); }
  std::byte* payload(uint32_t g) { return layout_.group(g).block ? cell(g).block()->payload() : cell(g).payload_inside(); }

  uint64_t lock(uint32_t g) {
    uint64_t w = cell(g).load_unlocked();
    while (!cell(g).lock_from(w)) {
    }
    return w;
  }
  void change_and_unlock(uint32_t g, uint64_t w, const Grouped& row, uint64_t snapshot) {
    copy_to_payload(layout_.all(), g, payload(g), bytes_of(row));
    cell(g).set_snapshot(snapshot);
    cell(g).unlock(word::next(w, false));
  }
  void write(uint32_t g, const Grouped& row, uint64_t snapshot) { change_and_unlock(g, lock(g), row, snapshot); }

  // If `row` is null, the row is absent at that time.
  Version* version(uint32_t g, uint64_t snapshot, uint64_t version_number, Version* previous, const Grouped* row) {
    const Group& group = layout_.group(g);
    const auto bytes = static_cast<uint32_t>(sizeof(Version) + (group.block ? sizeof(Block*) : group.payload_bytes));
    auto* made = new (new_memory(bytes)) Version{snapshot, version_number, previous, nullptr, bytes, row == nullptr, group.block};
    if (row == nullptr) return made;
    std::byte* to = made->payload_inside();
    if (group.block) {
      Block* const block = new_block(group.payload_bytes);
      std::memcpy(made->payload_inside(), &block, sizeof block);
      to = block->payload();
    }
    copy_to_payload(layout_.all(), g, to, bytes_of(*row));
    return made;
  }

  const Schema schema_ = schema_in_groups();
  const Layout layout_{nullptr, schema_, kBlockThresholdBytes};
  Grouped image_ = kUntouched;
  uint64_t version_number_ = 99;

 private:
  Block* new_block(size_t bytes) { return new (new_memory(sizeof(Block) + bytes)) Block{bytes}; }
  std::byte* new_memory(size_t bytes) {
    memory_.push_back(std::make_unique<uint64_t[]>(bytes / sizeof(uint64_t) + 1));
    return reinterpret_cast<std::byte*>(memory_.back().get());
  }
  std::vector<uint64_t> words_;
  std::vector<std::unique_ptr<uint64_t[]>> memory_;
};

// -- the commit word ------------------------------------------------------------------------------

TEST(Word, TheVersionNumberRisesAcrossRemovalAndInsertion) {
  uint64_t w = word::kStep * 7;
  EXPECT_FALSE(word::absent(w) || word::locked(w) || word::removed(w));
  const uint64_t removed = word::next(w | word::kLocked, true);
  EXPECT_TRUE(word::absent(removed));
  EXPECT_FALSE(word::locked(removed));
  EXPECT_EQ(word::version_number(removed), 8u);
  EXPECT_FALSE(word::absent(word::next(removed, false)));
  EXPECT_EQ(word::version_number(word::next(removed, false)), 9u);
  EXPECT_TRUE(word::absent(w | word::kRemoved)) << "an unlinked block does not hold a row";
}

TEST(Word, NextHasNoFlagOfTheWordBefore) {
  for (uint64_t flags = 0; flags < word::kStep; ++flags) {
    const uint64_t w = word::kStep * 3 | flags;
    EXPECT_EQ(word::version_number(w), 3u);
    EXPECT_EQ(word::removed(w), (flags & word::kRemoved) != 0);
    EXPECT_EQ(word::next(w, false), word::kStep * 4);
    EXPECT_EQ(word::next(w, true), word::kStep * 4 + word::kAbsent);
    EXPECT_FALSE(word::removed(word::next(w, true))) << "absent, and a commit may put a row there";
  }
}

// -- a cell's lock --------------------------------------------------------------------------------

TEST_F(RecordTest, ACellIsLockedFromTheWordItHasOnly) {
  Cell& b = cell(1);
  const uint64_t w = b.load();
  uint64_t expected = w + word::kStep;
  EXPECT_FALSE(b.lock_from(expected));
  EXPECT_EQ(expected, w) << "it says what the word is";
  EXPECT_TRUE(b.lock_from(expected));
  EXPECT_EQ(b.load(), w | word::kLocked);
  EXPECT_FALSE(b.lock_from(expected)) << "another has it";
  EXPECT_EQ(expected, w | word::kLocked);
  b.unlock(word::next(w, false));
  EXPECT_EQ(b.load_unlocked(), word::next(w, false));
}

TEST_F(RecordTest, ACellIsUnchangedUntilItIsLockedAndAfterACommitThatWasGivenUp) {
  Cell& b = cell(1);
  const uint64_t w = b.load();
  EXPECT_TRUE(b.unchanged(w));
  lock(1);
  EXPECT_FALSE(b.unchanged(w)) << "a commit may be writing";
  b.unlock(w);
  EXPECT_TRUE(b.unchanged(w)) << "the commit did not write";
  write(1, kNew, 2);
  EXPECT_FALSE(b.unchanged(w));
}

// -- the newest version ---------------------------------------------------------------------------

TEST_F(RecordTest, ReadingAPresentCellCopiesItsGroupAndGivesItsWord) {
  for (uint32_t g = 0; g < layout_.group_count(); ++g)
    EXPECT_EQ(read_cell(cell(g), layout_.group(g), layout_.all(), g, bytes_of(image_)), cell(g).load());
  EXPECT_EQ(image_, kOld);
  EXPECT_TRUE(layout_.group(0).block);
  EXPECT_FALSE(layout_.group(1).block);

  image_ = kUntouched;
  read_cell(cell(1), layout_.group(1), layout_.all(), 1, bytes_of(image_));
  Grouped b_alone = kUntouched;
  b_alone.b = kOld.b;
  EXPECT_EQ(image_, b_alone);
}

TEST_F(RecordTest, ReadingAnAbsentCellCopiesNothing) {
  for (const uint64_t w : {word::kStep * 5 | word::kAbsent, word::kStep * 5 | word::kRemoved}) {
    cell(1).set_word(w);
    EXPECT_EQ(read_cell(cell(1), layout_.group(1), layout_.all(), 1, bytes_of(image_)), w);
    EXPECT_TRUE(word::absent(w));
    EXPECT_EQ(image_, kUntouched);
    EXPECT_FALSE(read_cell_at(cell(1), layout_.group(1), layout_.all(), 1, 1, bytes_of(image_), &version_number_));
    EXPECT_EQ(version_number_, 5u);
    EXPECT_EQ(image_, kUntouched);
  }
}

TEST_F(RecordTest, ReadingSomeColumnsLeavesTheOthers) {
  const ColumnSet& text_and_d = layout_.of_columns(kText | kD);
  EXPECT_EQ(text_and_d.groups, 0b101u);
  for (const uint32_t g : {0u, 2u}) read_cell(cell(g), layout_.group(g), text_and_d, g, bytes_of(image_));
  Grouped expected = kUntouched;
  expected.text = kOld.text;
  expected.d = kOld.d;
  EXPECT_EQ(image_, expected);
}

// The lock is taken before the reader starts. The row is written while the reader waits.
TEST_F(RecordTest, AReaderWaitsForALockedCellAndSeesWhatIsWritten) {
  for (const bool at_snapshot : {false, true}) {
    cell(2).set_snapshot(0);
    const uint64_t w = lock(2);
    std::atomic<bool> begun{false}, ended{false};
    uint64_t seen = 0;
    std::thread reader([&] {
      begun.store(true);
      if (at_snapshot) {
        EXPECT_TRUE(read_cell_at(cell(2), layout_.group(2), layout_.all(), 2, 9, bytes_of(image_), &seen));
      } else {
        seen = word::version_number(read_cell(cell(2), layout_.group(2), layout_.all(), 2, bytes_of(image_)));
      }
      ended.store(true);
    });
    while (!begun.load()) ::sched_yield();
    for (int i = 0; i < 1000; ++i) ::sched_yield();  // by now, a reader that does not wait has ended
    EXPECT_FALSE(ended.load());
    change_and_unlock(2, w, kNew, 2);
    reader.join();
    EXPECT_EQ(seen, word::version_number(w) + 1);
    EXPECT_EQ(image_.d, kNew.d);
    write(2, kOld, 3);
    image_ = kUntouched;
  }
}

TEST_F(RecordTest, AReaderCopiesAgainWhatIsWrittenMeanwhile) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  for (const bool at_snapshot : {false, true}) {
    write(1, kOld, 1);
    TestStop copied("read.copied");
    uint64_t seen = 0;
    std::thread reader([&] {
      if (at_snapshot) {
        EXPECT_TRUE(read_cell_at(cell(1), layout_.group(1), layout_.all(), 1, 9, bytes_of(image_), &seen));
      } else {
        seen = word::version_number(read_cell(cell(1), layout_.group(1), layout_.all(), 1, bytes_of(image_)));
      }
    });
    copied.wait_until_reached();
    write(1, kNew, 2);
    copied.go();
    reader.join();
    EXPECT_EQ(seen, word::version_number(cell(1).load()));
    EXPECT_EQ(image_.b, kNew.b);
  }
}

// -- earlier versions -----------------------------------------------------------------------------

TEST_F(RecordTest, AReaderOfASnapshotFindsTheNewestVersionAtOrBelowIt) {
  for (const uint32_t g : {0u, 1u, 2u}) {  // stored as a block, and in the cell
    Grouped fourth = kOld, seventh = kOld;
    fourth.a = fourth.b = 4;
    seventh.a = seventh.b = 7;
    fourth.d = 4;
    seventh.d = 7;
    Version* const at_4 = version(g, 4, 40, nullptr, &fourth);
    Version* const at_7 = version(g, 7, 70, at_4, &seventh);
    write(g, kNew, 10);
    cell(g).set_previous(at_7);
    const uint64_t newest = word::version_number(cell(g).load());
    struct Case {
      uint64_t rs;
      const Grouped* row;  // null: absent
      uint64_t version_number;
    };
    const Case cases[] = {{3, nullptr, 0},   {4, &fourth, 40},     {6, &fourth, 40},    {7, &seventh, 70},
                          {9, &seventh, 70}, {10, &kNew, newest}, {11, &kNew, newest}};
    for (const Case& each : cases) {
      Grouped expected = kUntouched;
      if (each.row != nullptr) copy_image(layout_.all(), g, bytes_of(expected), bytes_of(*each.row));
      image_ = kUntouched;
      const bool there = read_cell_at(cell(g), layout_.group(g), layout_.all(), g, each.rs, bytes_of(image_), &version_number_);
      EXPECT_EQ(there, each.row != nullptr) << "group " << g << " at " << each.rs;
      EXPECT_EQ(version_number_, each.version_number) << "group " << g << " at " << each.rs;
      EXPECT_EQ(image_, expected) << "group " << g << " at " << each.rs;
      if (each.rs >= 10) continue;
      image_ = kUntouched;
      EXPECT_EQ(read_version_at(at_7, layout_.all(), g, each.rs, bytes_of(image_), &version_number_), there);
      EXPECT_EQ(version_number_, each.version_number);
      EXPECT_EQ(image_, expected);
    }
  }
}

TEST_F(RecordTest, AVersionThatIsAbsentHidesTheOnesBelow) {
  Version* const at_4 = version(1, 4, 40, nullptr, &kOld);
  Version* const removed_at_7 = version(1, 7, 70, at_4, nullptr);
  EXPECT_FALSE(read_version_at(removed_at_7, layout_.all(), 1, 8, bytes_of(image_), &version_number_));
  EXPECT_EQ(version_number_, 70u);
  EXPECT_EQ(image_, kUntouched);
  EXPECT_TRUE(read_version_at(removed_at_7, layout_.all(), 1, 6, bytes_of(image_), &version_number_));
  EXPECT_EQ(version_number_, 40u);
  EXPECT_EQ(image_.b, kOld.b);
  EXPECT_FALSE(read_version_at(nullptr, layout_.all(), 1, 8, bytes_of(image_), &version_number_));
  EXPECT_EQ(version_number_, 0u);
}

TEST_F(RecordTest, AnAbsentCellShowsItsVersionsToEarlierReaders) {
  cell(1).set_word(word::kStep * 9 | word::kAbsent);
  cell(1).set_snapshot(10);
  cell(1).set_previous(version(1, 4, 8, nullptr, &kOld));
  EXPECT_FALSE(read_cell_at(cell(1), layout_.group(1), layout_.all(), 1, 10, bytes_of(image_), &version_number_));
  EXPECT_EQ(version_number_, 9u);
  EXPECT_TRUE(read_cell_at(cell(1), layout_.group(1), layout_.all(), 1, 9, bytes_of(image_), &version_number_));
  EXPECT_EQ(version_number_, 8u);
  EXPECT_EQ(image_.b, kOld.b);
}

TEST_F(RecordTest, SomeColumnsOfAVersionAreReadWithoutTheOthers) {
  const ColumnSet& a_and_b = layout_.of_columns(kA | kB);
  for (const uint32_t g : {0u, 1u})
    EXPECT_TRUE(read_version_at(version(g, 4, 40, nullptr, &kNew), a_and_b, g, 4, bytes_of(image_), &version_number_));
  Grouped expected = kUntouched;
  expected.a = kNew.a;
  expected.b = kNew.b;
  EXPECT_EQ(image_, expected);
}

}  // namespace
}  // namespace elider::storage
