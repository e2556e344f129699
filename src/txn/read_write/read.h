// How TrackedReads reads a row (DBX, Algorithm 2), including the transaction's own writes. The
// callers are in txn/reads.h.
#pragma once

#include "base/bits.h"
#include "txn/read_write/tracked_reads.h"

#include <bit>
#include <cstring>

#include "storage/number.h"

namespace elider::txn {

template <class Sync, class Claims>
[[gnu::always_inline]] inline Status TrackedReads<Sync, Claims>::read_group(TableType& table, Row* row, KeyRef key,
                                                                                    const ColumnSet& set, uint32_t g, std::byte* image) {
  const Layout& layout = table.layout();
  Cell& cell = row->cell(layout, g);
  return note_read(table, cell, key, g, copy_cell(cell, layout.group(g), set, g, image));
}

template <class Sync, class Claims>
[[gnu::always_inline]] inline Status TrackedReads<Sync, Claims>::note_read(TableType& table, Cell& cell, KeyRef key, uint32_t g,
                                                                                   uint64_t w) {
  if (word::absent(w)) [[unlikely]] return note_absent(table, cell, key, g, w);
  tracking_.read({&cell, w, key, &table});
  recorder_.read(table, key, g, true, word::version_number(w));
  return {};
}

// Records that the row does not exist. If the row block has been removed, it has left its index
// since the lookup, and at some instant in between, the key did not have a row. In this case, the
// recorded commit word is one that the block will never have again. So the validation at the commit
// fails, and the repair looks up the key again (repair.h).
template <class Sync, class Claims>
Status TrackedReads<Sync, Claims>::note_absent(TableType& table, Cell& cell, KeyRef key, uint32_t g, uint64_t w) {
  const bool removed = word::removed(w);
  tracking_.read_unclaimed({&cell, w & ~word::kRemoved, key, &table});
  recorder_.read(table, key, removed ? 0 : g, false, removed ? 0 : word::version_number(w));
  return table.error(Code::kNotFound, Cause::kNone, key);
}

template <class Sync, class Claims>
void TrackedReads<Sync, Claims>::track_absent(TableType& table, const index::Witness& witness, KeyRef key) {
  recorder_.read(table, key, 0, false, 0);
  if (RunsInRegion<Claims> || ELIDER_MUTANT(kSkipAbsentRead)) return;
  claim_leaf_read(table, witness, key);
  tracking_.track_key(table, witness, key);
}

// Reads a column group that this transaction has written.
template <class Sync, class Claims>
Status TrackedReads<Sync, Claims>::read_own(TableType& table, WriteEntry& write, const ColumnSet& set, std::byte* image) {
  if (write.leaves_none()) return table.error(Code::kNotFound, Cause::kNone, write.key);
  const uint32_t g = write.group;
  const bool covered = (set.columns & ~write.columns->columns) == 0 && (!set.whole || write.columns->whole);
  if (write.kind == WriteKind::kPresent || (covered && write.additions == nullptr)) {
    copy_image(set, g, image, write.image);
    return {};
  }
  const uint64_t w = copy_cell(*write.cell, table.layout().group(g), set, g, image);
  if (word::absent(w) || (write.expected != word::kUnknown && write.expected != w)) [[unlikely]]
    return doom(table, Code::kConflict, Cause::kReadChanged, write.key);
  write.expected = w;
  recorder_.read(table, write.key, g, true, word::version_number(w));
  copy_image(*write.columns, g, image, write.image);
  if (write.additions != nullptr) {
    // If the caller has not requested the column of an addition, that column's bytes in the image
    // are not used.
    apply_additions(*write.additions, image);
  }
  return {};
}

template <class Sync, class Claims>
[[gnu::always_inline]] inline Status TrackedReads<Sync, Claims>::read_row(TableType& table, Row* row, KeyRef key,
                                                                                  const ColumnSet& set, std::byte* image,
                                                                                  detail::ImageHeader* header) {
  const uint32_t groups = set.read_groups;
  *header = {row, key, read_index_of(table), static_cast<uint8_t>(groups), 0, table.layout().row_bytes(), this->generation()};
  if constexpr (Claims::kViewsNameTables) header->table = table.id() + 1;
  if constexpr (!kClaimsInRegions<Purpose::kRead>)
    if (groups == 1 && writes_.empty()) [[likely]] {
      if (Status status = claim_groups<Purpose::kRead>(table, row, key, groups); !status.ok()) [[unlikely]] return status;
      return read_group(table, row, key, set, 0, image);
    }
  return read_groups(table, row, key, set, groups, image, header);
}

template <class Sync, class Claims>
[[gnu::noinline]] Status TrackedReads<Sync, Claims>::read_groups(TableType& table, Row* row, KeyRef key, const ColumnSet& set,
                                                                         uint32_t groups, std::byte* image, detail::ImageHeader* header) {
  ReadTogether together;
  if (Status status = claim_and_read_together<Purpose::kRead>(table, row, key, set, groups, image, &together); !status.ok()) [[unlikely]]
    return status;
  // Within a region, version_read() returns the version that was recorded last. Therefore read the
  // groups from the last to the first, so that it returns the version of the first group.
  for (uint32_t rest = groups; rest != 0;) {
    const auto g = static_cast<uint32_t>(RunsInRegion<Claims> ? 31 - std::countl_zero(rest) : std::countr_zero(rest));
    rest &= ~(1u << g);
    if (!writes_.empty()) {
      if (WriteEntry* write = writes_.find(row, table.layout(), g)) {
        header->read_index = ~0u;
        if (Status status = read_own(table, *write, set, image); !status.ok()) return status;
        continue;
      }
    }
    Status status = together.has(g) ? note_read(table, row->cell(table.layout(), g), key, g, together.words[g])
                                    : read_group(table, row, key, set, g, image);
    if (!status.ok()) [[unlikely]] return status;
  }
  return {};
}

// Points the view at the row itself if the row is stored as one block. The block remains valid
// until the grace period ends. Returns false if the caller must copy the row. This is the case if
// the row is not stored as one block, or if it has a fixed size and this transaction has written
// it.
template <class Sync, class Claims>
template <class Allocate>
bool TrackedReads<Sync, Claims>::view_block(TableType& table, Row* row, detail::ImageHeader* header, RawView* view,
                                                    Status* status, Allocate&& allocate) {
  const Layout& layout = table.layout();
  if (layout.group_count() != 1) return false;
  if (const WriteEntry* write = writes_.find(row, layout, 0)) {
    if (!layout.sized_rows()) return false;
    *status = view_own(table, *write, header, view);
    return true;
  }
  *status = claim_groups<Purpose::kRead>(table, row, header->key, 1);
  if (!status->ok()) [[unlikely]] return true;
  // A read of zero columns copies nothing; it only adds the commit word to the read set. If the
  // word is unchanged after the block pointer was read, or after the row was copied from its row
  // block, the bytes belong to that version.
  for (;;) {
    header->read_index = read_index_of(table);
    const size_t recorded = recorder_.count();
    *status = read_group(table, row, header->key, layout.none(), 0, nullptr);
    if (!status->ok()) return true;
    const storage::SizedRow found = storage::sized_row(row->cell(layout, 0), allocate);
    if (RunsInRegion<Claims> || row->cell(layout, 0).unchanged(tracking_.reads().newest().word) || ELIDER_MUTANT(kTrustSmallCopy)) {
      header->groups = 1;
      header->bytes = static_cast<uint32_t>(found.size);
      *view = RawView(found.bytes, header);
      return true;
    }
    tracking_.forget_reads_after(tracking_.reads().size() - 1);
    recorder_.take_back_to(recorded);
  }
}

// Points the view at a copy of a variable-size row that this transaction has written. A copy is
// needed because later writes must not change what the view shows.
template <class Sync, class Claims>
Status TrackedReads<Sync, Claims>::view_own(TableType& table, const WriteEntry& write, detail::ImageHeader* header, RawView* view) {
  if (write.leaves_none()) return table.error(Code::kNotFound, Cause::kNone, write.key);
  const size_t bytes = WriteSet::image_bytes(table.layout(), write.image);
  std::byte* const copy = arena_.allocate(bytes);
  std::memcpy(copy, write.image, bytes);
  header->read_index = ~0u;
  header->groups = 1;
  header->bytes = static_cast<uint32_t>(bytes);
  *view = RawView(copy, header);
  return {};
}

// Returns true if the view shows a row of this table that this transaction has read or written. The
// header may belong to another transaction, or may have been overwritten since its transaction
// ended, so the pointers in the header are not followed. Another transaction's view of the same row
// is accepted. This is harmless, because the update reads the row itself.
template <class Sync, class Claims>
bool TrackedReads<Sync, Claims>::has_read(const detail::TableBase& table, const detail::ImageHeader& view) {
  const Layout& layout = table.layout();
  const uint32_t groups = view.groups & layout.all_groups();
  if (groups == 0) return false;
  if constexpr (RunsInRegion<Claims>)  // only this transaction creates views in its arena
    if (arena_.holds(&view) && view.read_index == read_index_of(table)) return true;
  if (view.read_index < tracking_.reads().size()) {
    const ReadEntry& read = tracking_.reads()[view.read_index];
    const auto g = static_cast<uint32_t>(std::countr_zero(groups));
    if (read.cell == Row::cell_address(view.row, layout, g) && read.table == &table && read.key == view.key) [[likely]] return true;
  }
  // A write of the row shows that this transaction has written the row, or that an update has taken
  // over the validation of the read.
  for (const uint32_t g : Bits(groups)) {
    const WriteEntry* write = writes_.find(view.row, layout, g);
    if (write != nullptr && write->table == &table && write->key == view.key) return true;
  }
  return false;
}

// Reads the versions after the row itself. If a commit has changed one of them in between, the
// transaction's reads are not valid, and it cannot commit.
template <class Sync, class Claims>
Status TrackedReads<Sync, Claims>::version_of(TableType& table, Row* row, KeyRef key, uint64_t* version) const {
  const Layout& layout = table.layout();
  for (uint32_t g = 0; g < layout.group_count(); ++g) {
    if (writes_.find(row, layout, g) != nullptr) return refuse_version_of_written(table, key);
    *version += word::version_number(unlocked_word(row->cell(layout, g)));
  }
  return {};
}

// Calls the key function of secondary index i. If the function throws, the operation is incomplete,
// so the transaction is doomed.
template <class Sync, class Claims>
uint64_t TrackedReads<Sync, Claims>::index_number(TableType& table, uint32_t i, KeyRef key, const std::byte* image) {
  try {
    return table.index_number(i, image);
  } catch (...) {
    static_cast<void>(doom(table, Code::kProcedureThrew, Cause::kException, key));
    throw;
  }
}

}  // namespace elider::txn
