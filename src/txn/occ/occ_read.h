// OccTransaction: reads of single rows (DBX, Algorithm 2), own writes included.
#pragma once

#include "txn/occ/occ_transaction.h"

#include <bit>

#include "storage/number.h"

namespace elider::txn {

// Prefetches what reading these columns of a row touches.
inline void prefetch_row(const Row* row, const ColumnSet& set) {
  for (uint32_t line : set.lines) __builtin_prefetch(reinterpret_cast<const std::byte*>(row) + line);
}

inline void apply_additions(const std::vector<Addition>& additions, std::byte* image) {
  for (const Addition& a : additions) storage::add_numbers(a.type, image + a.row_offset, image + a.row_offset, &a.delta);
}

template <class Sync>
[[gnu::always_inline]] inline Row* OccTransaction<Sync>::find(TableType& table, Key key, const ColumnSet& set) {
  index::Witness witness;
  Row* row = table.find(key, hints_.primary(table), witness, set.lines);
  if (row == nullptr) [[unlikely]] track_absent(table, witness, key);
  return row;
}

template <class Sync>
[[gnu::always_inline]] inline Status OccTransaction<Sync>::read_group(TableType& table, Row* row, Key key, const ColumnSet& set, uint32_t g,
                                                                      std::byte* image) {
  const Layout& layout = table.layout();
  Cell& cell = row->cell(layout, g);
  return note_read(table, cell, key, g, copy_cell(cell, layout.group(g), set, g, image));
}

template <class Sync>
[[gnu::always_inline]] inline Status OccTransaction<Sync>::note_read(TableType& table, Cell& cell, Key key, uint32_t g, uint64_t w) {
  if (word::removed(w)) [[unlikely]] return read_removed(table, cell, key, w);
  reads_.push_back({&cell, w, key, &table});
  if (recording()) [[unlikely]] record_read(table, key, g, !word::absent(w), word::sequence(w));
  if (word::absent(w)) [[unlikely]] return table.error(Code::kNotFound, Cause::kNone, key);
  return {};
}

// The row block has left its index since it was found there: in between the key had no row. The word that
// is kept is none the block will ever have again, so that the commit looks for the key (occ_repair.h).
template <class Sync>
Status OccTransaction<Sync>::read_removed(TableType& table, Cell& cell, Key key, uint64_t w) {
  reads_.push_back({&cell, w & ~word::kRemoved, key, &table});
  if (recording()) record_read(table, key, 0, false, 0);
  return table.error(Code::kNotFound, Cause::kNone, key);
}

// A group that this transaction has written.
template <class Sync>
Status OccTransaction<Sync>::read_own(TableType& table, WriteEntry& write, const ColumnSet& set, std::byte* image) {
  if (write.kind == WriteKind::kRemove || write.kind == WriteKind::kNone) return table.error(Code::kNotFound, Cause::kNone, write.key);
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
  if (recording()) [[unlikely]] record_read(table, write.key, g, true, word::sequence(w));
  copy_image(*write.columns, g, image, write.image);
  if (write.additions != nullptr) {
    // An addition's column may not have been asked for: then its bytes here mean nothing to anybody.
    apply_additions(*write.additions, image);
  }
  return {};
}

template <class Sync>
[[gnu::always_inline]] inline Status OccTransaction<Sync>::read_row(TableType& table, Row* row, Key key, const ColumnSet& set,
                                                                    std::byte* image, detail::ImageHeader* header) {
  const uint32_t groups = set.groups != 0 ? set.groups : 1;  // no columns: whether the row is there
  *header = {row, key, static_cast<uint32_t>(reads_.size()), groups};
  if (groups == 1 && writes_.empty()) [[likely]] return read_group(table, row, key, set, 0, image);
  return read_groups(table, row, key, set, groups, image, header);
}

template <class Sync>
[[gnu::noinline]] Status OccTransaction<Sync>::read_groups(TableType& table, Row* row, Key key, const ColumnSet& set, uint32_t groups,
                                                           std::byte* image, detail::ImageHeader* header) {
  const ReadTogether together = read_together(table, row, set, groups, image);
  for (uint32_t rest = groups; rest != 0; rest &= rest - 1) {
    const uint32_t g = static_cast<uint32_t>(std::countr_zero(rest));
    if (!writes_.empty()) {
      if (WriteEntry* write = write_of(row, table.layout(), g)) {
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

// A row kept as one block is viewed where it is: the grace period keeps it. False: it is not so kept.
template <class Sync>
bool OccTransaction<Sync>::view_block(TableType& table, Row* row, detail::ImageHeader* header, RawView* view, Status* status) {
  const Layout& layout = table.layout();
  if (layout.group_count() != 1 || write_of(row, layout, 0) != nullptr) return false;
  // Reading no columns gives the word; a block seen while the word stays the same is that version's.
  for (;;) {
    header->read_index = static_cast<uint32_t>(reads_.size());
    *status = read_group(table, row, header->key, layout.none(), 0, nullptr);
    if (!status->ok()) return true;
    const std::byte* block = row->cell(layout, 0).block();
    if (row->cell(layout, 0).unchanged(reads_.back().word)) {
      header->groups = 1;
      *view = RawView(block, header);
      return true;
    }
    reads_.pop_back();
    if (recording()) operations_.pop_back();
  }
}

template <class Sync>
[[gnu::always_inline]] inline Status OccTransaction<Sync>::view_row(TableType& table, Row* row, Key key, const ColumnSet& set,
                                                                    RawView* view) {
  static_assert(sizeof(detail::ImageHeader) % 8 == 0);
  constexpr size_t kHeaderBytes = (sizeof(detail::ImageHeader) + 15) / 16 * 16;
  std::byte* memory = arena_.allocate(kHeaderBytes + table.layout().row_bytes());
  auto* header = new (memory) detail::ImageHeader{row, key, 0, 0};
  if (table.layout().group(0).block) [[unlikely]] {
    Status status;
    if (view_block(table, row, header, view, &status)) return status;
  }
  if (Status status = read_row(table, row, key, set, memory + kHeaderBytes, header); !status.ok()) [[unlikely]] return status;
  *view = RawView(memory + kHeaderBytes, header);
  return {};
}

template <class Sync>
Status OccTransaction<Sync>::do_get(const TableRef& ref, Key key, const ColumnsRef& columns, RawView* view) {
  const ColumnSet* set = check<Access::kRead>(ref, columns);
  if (set == nullptr) [[unlikely]] return refuse(ref, columns);
  auto& table = static_cast<TableType&>(*ref.base());
  Row* row = find(table, key, *set);
  if (row == nullptr) [[unlikely]] return table.error(Code::kNotFound, Cause::kNone, key);
  return view_row(table, row, key, *set, view);
}

template <class Sync>
Status OccTransaction<Sync>::do_multi_get(const TableRef& ref, const Key* keys, size_t count, const ColumnsRef& columns, RawView* views) {
  const ColumnSet* set = check<Access::kRead>(ref, columns);
  if (set == nullptr) [[unlikely]] return refuse(ref, columns);
  auto& table = static_cast<TableType&>(*ref.base());
  constexpr size_t kBatch = 32;
  index::Handle rows[kBatch];
  index::Witness witnesses[kBatch];
  for (size_t begin = 0; begin < count; begin += kBatch) {
    const size_t size = count - begin < kBatch ? count - begin : kBatch;
    table.find_many(keys + begin, size, *set, rows, witnesses);
    for (size_t i = 0; i < size; ++i) {
      views[begin + i] = {};
      if (rows[i] == index::kNoHandle) {
        track_absent(table, witnesses[i], keys[begin + i]);
        continue;
      }
      Status status = view_row(table, TableType::as_row(rows[i]), keys[begin + i], *set, &views[begin + i]);
      if (!status.ok() && !status.not_found()) [[unlikely]] return status;
    }
  }
  return {};
}

}  // namespace elider::txn
