// BufferedWrites: the writes of a transaction. They are buffered in the write set until the commit
// (DBX, section 5.2). An insert puts an absent row block into the indexes at once, and a changed
// index value puts a new entry into its secondary index at once.
//
// The class does not change rows, except in a piece that runs within one hardware transaction and
// may write in place. ReadWriteTransaction, which derives from it, commits the writes.
//
// Thread safety: none. A transaction belongs to one worker.
#pragma once

#include <cstdint>

#include "txn/claims.h"
#include "txn/install.h"
#include "txn/kept_key.h"
#include "txn/read_write/index_entries.h"
#include "txn/read_write/tracked_reads.h"
#include "txn/reclaim.h"
#include "txn/write_set.h"

namespace elider::txn {

template <class Sync, class Claims>
class BufferedWrites : public TrackedReads<Sync, Claims> {
  using Base = TrackedReads<Sync, Claims>;

 protected:
  using typename Base::ReadTogether;
  using typename Base::State;
  using typename Base::TableType;
  using Base::Base;

  Status do_insert(const TableRef& table, KeyRef key, const void* row, size_t bytes) override;
  Status do_put(const TableRef& table, KeyRef key, const void* row, size_t bytes) override;
  Status do_edit(const TableRef& table, KeyRef key, const ColumnsRef& columns, void** image) override;
  Status do_edit_view(const TableRef& table, const RawView& view, const ColumnsRef& columns, void** image) override;
  Status do_edited(const TableRef& table, void* image) override;
  void do_edit_threw(const TableRef& table, KeyRef key) override;
  Status do_write(const TableRef& table, KeyRef key, const ColumnsRef& columns, const void* row) override;
  Status do_add(const TableRef& table, KeyRef key, uint32_t offset, ColumnType type, const void* delta) override;
  Status do_remove(const TableRef& table, KeyRef key) override;

  // -- write.h ------------------------------------------------------------------------------------
  Status edit_row(TableType& table, Row* row, KeyRef key, const ColumnSet& set, const detail::ImageHeader* read, void** image);
  Status edit_group(TableType& table, Row* row, KeyRef key, const ColumnSet& set, uint32_t g, uint64_t w,
                    uint64_t expected, std::byte* image);
  void copy_edited(std::byte* to, const std::byte* from) const;
  Status widen(TableType& table, WriteEntry& write, const ColumnSet& set);
  Status edit_view_of_call(const TableRef& ref, const ColumnSet& set, const detail::ImageHeader& view, void** image);
  Status write_row(const TableRef& ref, TableType& table, KeyRef key, const ColumnSet& set, const std::byte* source);
  bool may_add_to_some(const TableRef& ref) const;
  Status add_to_row(TableType& table, KeyRef key, const storage::Number& number, const void* delta);
  uint64_t expected_by(const detail::ImageHeader* read, const Cell& cell, uint32_t g);
  Status copy_to_edit(TableType& table, Row* row, KeyRef key, const ColumnSet& set, const detail::ImageHeader* read, std::byte** image);
  Status copy_sized_to_edit(TableType& table, Row* row, KeyRef key, const detail::ImageHeader* read, std::byte** image);
  Status write_sized_row(const TableRef& ref, TableType& table, Row* row, KeyRef key, const ColumnSet& set, const std::byte* source);
  Status present_word(TableType& table, Row* row, KeyRef key, uint32_t g, uint64_t* w);

  // -- write_rows.h -------------------------------------------------------------------------------
  // A complete row that the application has passed.
  struct GivenRow {
    const void* bytes;
    size_t size;
  };
  // The state of a row block before its row is replaced: whether the row exists, and the commit
  // word that the new write of each group must expect.
  struct RowState {
    uint64_t words[kColumnGroupsMax] = {};
    bool present = false;
  };
  Status insert_row(TableType& table, KeyRef key, GivenRow row, bool replace);
  Status fill_inserted(TableType& table, Row* row, KeyRef key, GivenRow source, const index::InsertResult& result);
  [[gnu::noinline]] Status replace_without_block(TableType& table, KeyRef key, GivenRow source, bool replace);
  Status replace_row(TableType& table, Row* row, KeyRef key, GivenRow source, bool replace);
  Status replace_indexed_row(TableType& table, Row* row, KeyRef key, GivenRow source, const RowState& before);
  Status state_of_written(TableType& table, Row* row, KeyRef key, RowState* state);
  Status state_of_unwritten(TableType& table, Row* row, KeyRef key, bool replace, RowState* state);
  Status expect_written(TableType& table, Row* row, KeyRef key, uint32_t g, uint64_t* w);
  bool updates_other_groups(Row* row, const Layout& layout) const;
  Status remove_row(TableType& table, KeyRef key);
  Status remove_groups(TableType& table, Row* row, KeyRef key, WriteKind kind, uint64_t w);
  Status remove_group(TableType& table, Row* row, KeyRef key, uint32_t g, WriteKind kind, uint64_t w);

  // -- in_place.h: pieces that run in a region ----------------------------------------------------
  bool may_write_in_place(TableType& table, Row* row) const;
  Status edit_in_place(TableType& table, Row* row, KeyRef key, const ColumnSet& set, void** image);
  bool end_edit_in_place(const void* image);
  bool insert_in_place(TableType& table, Row* row, GivenRow source, uint64_t w);
  void write_in_place(Cell& cell, const ColumnSet& set, uint32_t g, const std::byte* image, uint64_t w);

  // -- secondary.h: secondary indexes -------------------------------------------------------------
  Status index_value(TableType& table, uint32_t i, KeyRef key, RowImage row, IndexValue* value);
  Status index_entry(TableType& table, uint32_t i, KeyRef key, RowImage row, IndexValue* value);
  enum class Values : uint8_t { kOld, kNew };
  Status value_or_none(TableType& table, uint32_t i, KeyRef key, RowImage row, Values which, IndexValue* value);
  Status own_index_values(TableType& table, Row* row, KeyRef key, uint64_t affected, Values which, IndexValue* values);
  Status described_index_values(TableType& table, Row* row, KeyRef key, uint64_t affected, Values which, IndexValue* values);
  Status former_index_values(TableType& table, Row* row, KeyRef key, uint64_t indexes, IndexValue* values, bool* had_row);
  Status index_insert(TableType& table, Row* row, KeyRef key, RowImage image, uint64_t indexes);
  Status index_update(TableType& table, Row* row, KeyRef key, const IndexValue* old_values, uint64_t affected);
  Status index_add(TableType& table, Row* row, KeyRef key, uint32_t i, const IndexValue* old_value, IndexValue new_value);
  Status index_check_unique(TableType& table, Row* row, KeyRef key, uint32_t i, IndexValue value);
  Status index_check_range(TableType& table, Row* row, KeyRef key, uint32_t i, const detail::EntryRange& range, IndexValue value);

  // -- ranks.h: the counts of ranked indexes ------------------------------------------------------
  Status add_to_ranks(TableType& table, KeyRef key, RowImage image, uint64_t ranked);
  Status remove_ranked_row(TableType& table, Row* row, KeyRef key, WriteKind kind, uint64_t w);
  Status change_ranks(TableType& table, KeyRef key, uint64_t indexes, const IndexValue* removed, const IndexValue* added);

  using Base::arena_;
  using Base::claim_leaves_written;
  using Base::claim_new;
  using Base::claims_;
  using Base::copy_cell;
  using Base::doom;
  using Base::edited_table_;
  using Base::failed;
  using Base::find;
  using Base::guarded;
  using Base::has_read;
  using Base::hints_;
  using Base::index_number;
  using Base::keep_claims_of_new;
  using Base::note_absent;
  using Base::read_own;
  using Base::read_row;
  using Base::recorder_;
  using Base::refuse;
  using Base::scan_secondary;
  using Base::state_;
  using Base::tracking_;
  using Base::unlocked_word;
  using Base::worker_;
  using Base::writes_;

  IndexEntries<Sync> index_entries_{worker_, hints_};
  struct PendingEdit {                      // used while kEditing: an edit of columns that a secondary index reads
    TableType* table = nullptr;
    Row* row = nullptr;
    KeyRef key;
    uint64_t affected = 0;                  // one bit for each affected secondary index
    IndexValue old_values[kSecondaryIndexesMax] = {};
    const ColumnSet* set = nullptr;
    std::byte* before = nullptr;            // the columns before the edit
  } edit_;
  // The image of an unfinished edit in place, or null. edit_ contains the row and the columns.
  std::byte* image_in_place_ = nullptr;
};

}  // namespace elider::txn

#include "txn/read_write/in_place.h"
#include "txn/read_write/ranks.h"
#include "txn/read_write/secondary.h"
#include "txn/read_write/write.h"
#include "txn/read_write/write_rows.h"
