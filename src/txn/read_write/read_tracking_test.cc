#include "txn/read_write/read_tracking.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>

#include "elider/schema.h"
#include "storage/record.h"
#include "storage/table.h"

namespace elider::txn {
namespace {

namespace word = storage::word;

constexpr uint64_t kWord = 4 * word::kStep;

Schema items() {
  Schema schema;
  schema.name = "items";
  schema.row_bytes = 8;
  schema.columns = {{"value", ColumnType::kInt64, 0, 8, 0}};
  return schema;
}

// A tracking and one row, which is not in an index.
template <Recording kRecording>
class Tracked {
 public:
  Tracked() { cell().set_word(kWord); }

  storage::Row* row() { return reinterpret_cast<storage::Row*>(block_); }
  storage::Cell& cell() { return row()->cell(table_.layout(), 0); }
  ReadEntry entry() { return {&cell(), kWord, 1, &table_}; }
  void write_row() {
    writes_.add(table_, row(), 1, 0, WriteKind::kUpdate, table_.layout().all(), kWord, arena_.allocate(table_.layout().row_bytes()));
  }
  Cause cause_of_rows() {
    Conflict conflict{};
    return tracking_.template rows_hold<true>(OwnWrites(writes_), &conflict) ? Cause::kNone : conflict.cause;
  }
  Cause cause_of_leaves() {
    Conflict conflict{};
    return tracking_.leaves_hold(&conflict) ? Cause::kNone : conflict.cause;
  }

  detail::TableBase table_{items(), 0, 1, 1 << 20};
  alignas(64) std::byte block_[256]{};
  Arena arena_{false};
  WriteSet writes_{arena_};
  ReadTracking<kRecording> tracking_{arena_};
};
using Validated = Tracked<Recording::kValidated>;
using Claimed = Tracked<Recording::kClaimed>;

TEST(ReadTracking, AReadHoldsUntilItsWordChanges) {
  Validated its;
  its.tracking_.read(its.entry());
  EXPECT_EQ(its.cause_of_rows(), Cause::kNone);
  its.cell().set_word(kWord + word::kStep);
  EXPECT_EQ(its.cause_of_rows(), Cause::kReadChanged);
  its.cell().set_word(kWord | word::kRemoved);
  EXPECT_EQ(its.cause_of_rows(), Cause::kRowRemoved);
  its.cell().set_word(kWord | word::kLocked);
  EXPECT_EQ(its.cause_of_rows(), Cause::kReadLocked);
}

TEST(ReadTracking, ALockOfTheCommitItselfIsNoConflict) {
  Validated its;
  its.tracking_.read(its.entry());
  its.write_row();
  its.cell().set_word(kWord | word::kLocked);
  EXPECT_EQ(its.cause_of_rows(), Cause::kNone);
  its.cell().set_word((kWord + word::kStep) | word::kLocked);  // another commit wrote the row before the lock
  EXPECT_EQ(its.cause_of_rows(), Cause::kReadChanged);
}

TEST(ReadTracking, OnlyUnclaimedReadsAreValidatedIfClaimsCoverTheOthers) {
  Claimed its;
  its.tracking_.read(its.entry());
  its.cell().set_word(kWord + word::kStep);
  EXPECT_EQ(its.cause_of_rows(), Cause::kNone);
  its.tracking_.read_unclaimed(its.entry());
  EXPECT_EQ(its.cause_of_rows(), Cause::kReadChanged);
  its.tracking_.clear();
  EXPECT_EQ(its.cause_of_rows(), Cause::kNone);
}

TEST(ReadTracking, AReadThatIsLeftToAWriteIsNotValidated) {
  Validated its;
  its.tracking_.read(its.entry());
  Validated other;
  EXPECT_EQ(its.tracking_.leave_to_write(0, other.cell()), word::kUnknown);
  EXPECT_EQ(its.tracking_.leave_to_write(1, its.cell()), word::kUnknown);
  EXPECT_EQ(its.tracking_.leave_to_write(0, its.cell()), kWord);
  its.cell().set_word(kWord + word::kStep);
  EXPECT_EQ(its.cause_of_rows(), Cause::kNone);
}

TEST(ReadTracking, AnAbsentKeyIsTrackedOnceAndHoldsUntilItsLeafChanges) {
  Validated its;
  std::atomic<uint64_t> version{7};
  its.tracking_.track_key(its.table_, {&version, 7}, 1);
  its.tracking_.track_key(its.table_, {&version, 7}, 1);
  EXPECT_EQ(its.tracking_.leaves(), 1u);
  its.tracking_.track_key(its.table_, {&version, 7}, 2);
  EXPECT_EQ(its.tracking_.leaves(), 2u);
  EXPECT_EQ(its.cause_of_leaves(), Cause::kNone);
  version = 8;
  EXPECT_EQ(its.cause_of_leaves(), Cause::kPhantom);
  its.tracking_.clear();
  EXPECT_EQ(its.cause_of_leaves(), Cause::kNone);
}

TEST(ReadTracking, AnOwnInsertIsNoPhantomInAnyEntryOfItsLeaf) {
  Validated its;
  std::atomic<uint64_t> version{7}, sibling{3};
  its.tracking_.track_key(its.table_, {&version, 7}, 1);
  its.tracking_.track_key(its.table_, {&version, 7}, 2);
  version = 8;
  its.tracking_.track_own_insert({.handle = 1, .inserted = true, .before = {&version, 7}, .after = {&version, 8}, .split_off = {}});
  EXPECT_EQ(its.cause_of_leaves(), Cause::kNone);
  version = 9;
  its.tracking_.track_own_insert(
      {.handle = 1, .inserted = true, .before = {&version, 8}, .after = {&version, 9}, .split_off = {&sibling, 3}});
  EXPECT_EQ(its.cause_of_leaves(), Cause::kNone);
  sibling = 4;  // another transaction has inserted into the half that was split off
  EXPECT_EQ(its.cause_of_leaves(), Cause::kPhantom);
}

}  // namespace
}  // namespace elider::txn
