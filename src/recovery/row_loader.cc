#include "recovery/row_loader.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status_words.h"
#include "elider/key_field.h"
#include "storage/number.h"
#include "txn/log_entry.h"
#include "txn/reclaim.h"

namespace elider::recovery {

namespace {

Status no_memory(const AnyTable& table, KeyRef key) { return table.error(Code::kMemoryLimit, Cause::kMemoryLimit, key); }
Status wrong(const AnyTable& table, KeyRef key, const std::string& words) {
  return Status(Code::kCorrupt, "key " + table.key_text(key) + " of table '" + table.schema().name + "' " + words);
}
Status does_not_hold(const AnyTable& table, uint32_t count) {
  return Status(Code::kCorrupt, "the row sizes in a block of table '" + table.schema().name +
                                    "' do not match the block's length (rows left to read: " + std::to_string(count) + ")");
}
Status wrong_kind(const AnyTable& table) {
  return Status(Code::kCorrupt, "table '" + table.schema().name + "' is changed with keys of the wrong kind (numbers or bytes)");
}

// Checks a tuple key. Typed calls decode the keys of a table without a check, so a wrong key must
// not enter the table.
Status check_key(const AnyTable& table, KeyRef key) {
  const std::vector<KeyField>& fields = table.schema().key_fields;
  if (fields.empty()) [[likely]] return {};
  const Status status = check_tuple_key(fields, detail::bytes_of(key).span());
  return status.ok() ? Status() : wrong(table, key, "is not a key " + text_of(fields) + ": " + words_of(status));
}

Status add(const AnyTable& table, std::byte* to, const RowChange& change) {
  for (const Column& column : table.schema().columns) {
    if (column.offset != change.columns || column.group != change.group) continue;
    const storage::Number* number = table.layout().number_at(column.offset, column.type);
    if (number == nullptr || change.size != sizeof(uint64_t)) break;
    storage::add_to_payload(number->type, to + number->payload_offset, change.bytes());
    return {};
  }
  return wrong(table, change.key_ref(), "is added to at an offset where no column begins");
}

}  // namespace

Status RowLoader::load(AnyTable& table, std::span<const std::byte> rows, uint32_t count) {
  const BeyondLimit beyond;
  const Inside inside(worker_);
  rows_ = 0;
  Status status;
  if (table.byte_keys()) status = load_keyed(table, rows, count);
  else if (table.layout().sized_rows()) status = load_sized(table, rows, count);
  else status = load_fixed(table, rows, count);
  table.add_recovered_rows(rows_);
  return status;
}

Status RowLoader::load_fixed(AnyTable& table, std::span<const std::byte> rows, uint32_t count) {
  constexpr uint32_t kAhead = 8;
  const Layout& layout = table.layout();
  const size_t row_bytes = stored_row_bytes(layout), header_bytes = stored_header_bytes(layout);
  if (rows.size() != row_bytes * count)
    return Status(Code::kCorrupt, std::to_string(count) + " rows of table '" + table.schema().name + "' are stored in " +
                                      std::to_string(rows.size()) + " bytes, but each row has " + std::to_string(row_bytes));
  PrimaryHint hint;
  Status status;
  const std::byte* at = rows.data();
  for (uint32_t i = 0; i < count && status.ok(); ++i, at += row_bytes) {
    if (i % kAhead == 0 && i + kAhead < count) {
      Key ahead[kAhead];
      const uint32_t keys = std::min(kAhead, count - i - kAhead);
      for (uint32_t k = 0; k < keys; ++k) ahead[k] = get<Key>(at + (kAhead + k) * row_bytes);
      table.prefetch({ahead, keys});
    }
    status = load_row(table, get<Key>(at), at + sizeof(Key), at + header_bytes, layout.row_bytes(), hint);
  }
  return status;
}

Status RowLoader::load_sized(AnyTable& table, std::span<const std::byte> rows, uint32_t count) {
  const Layout& layout = table.layout();
  const size_t header = stored_header_bytes(layout);
  PrimaryHint hint;
  Status status;
  for (; count > 0 && status.ok(); --count) {
    if (rows.size() < header) return does_not_hold(table, count);
    const auto size = get<uint64_t>(rows.data() + header - sizeof(uint64_t));
    if (size > rows.size() - header || !layout.fits(size)) return does_not_hold(table, count);
    status = load_row(table, get<Key>(rows.data()), rows.data() + sizeof(Key), rows.data() + header, size, hint);
    rows = rows.subspan(header + size);
  }
  return status.ok() && !rows.empty() ? does_not_hold(table, 0) : status;
}

// Loads rows with byte keys, of fixed or variable size.
Status RowLoader::load_keyed(AnyTable& table, std::span<const std::byte> rows, uint32_t count) {
  const Layout& layout = table.layout();
  const size_t version_numbers = sizeof(uint64_t) * layout.group_count();
  const size_t fixed = version_numbers + (layout.sized_rows() ? sizeof(uint64_t) : 0);
  PrimaryHint hint;
  Status status;
  detail::KeyBuffer key;
  for (; count > 0 && status.ok(); --count) {
    if (rows.size() < sizeof(uint16_t)) return does_not_hold(table, count);
    const size_t key_size = get<uint16_t>(rows.data());
    rows = rows.subspan(sizeof(uint16_t));
    if (key_size > kKeyBytesMax || rows.size() < key_size + fixed) return does_not_hold(table, count);
    key.set(elider::Bytes(rows.data(), key_size));
    const std::byte* const stored = rows.data() + key_size;
    const uint64_t size = layout.sized_rows() ? get<uint64_t>(stored + version_numbers) : layout.row_bytes();
    rows = rows.subspan(key_size + fixed);
    if (size > rows.size() || !layout.fits(size)) return does_not_hold(table, count);
    status = check_key(table, key.ref());
    if (status.ok()) status = load_row(table, key.ref(), stored, rows.data(), size, hint);
    rows = rows.subspan(size);
  }
  return status.ok() && !rows.empty() ? does_not_hold(table, 0) : status;
}

Status RowLoader::load_row(AnyTable& table, KeyRef key, const std::byte* version_numbers, const std::byte* image, size_t bytes,
                           PrimaryHint& hint) {
  const Layout& layout = table.layout();
  Row* row = new_row(worker_, layout, key, bytes, table.version_floor() * word::kStep | word::kAbsent, table.regions());
  if (row == nullptr) return no_memory(table, key);
  for (uint32_t g = 0; g < layout.group_count(); ++g) {
    std::byte* to = payload(layout, row, g, bytes);
    if (to == nullptr) {
      free_row(table, row);
      return no_memory(table, key);
    }
    if (layout.sized_rows()) guarded_copy(to, image, bytes);
    else storage::copy_to_payload(layout.all(), g, to, image);
    const auto version_number = get<uint64_t>(version_numbers + sizeof(uint64_t) * g);
    row->cell(layout, g).set_snapshot(kRecoveredNumber);
    row->cell(layout, g).set_word(version_number * word::kStep);
  }
  const index::InsertResult inserted = table.find_or_insert(worker_, key, row, hint);
  if (inserted.inserted) {
    ++rows_;
    return {};
  }
  free_row(table, row);
  return inserted.handle == index::kNoHandle ? no_memory(table, key) : wrong(table, key, "occurs twice");
}

std::byte* RowLoader::payload_outside(const Layout& layout, Row* row, uint32_t g, size_t bytes) {
  Cell& cell = row->cell(layout, g);
  if (!layout.sized_rows()) bytes = layout.group(g).payload_bytes;
  const bool inside = layout.sized_rows() && bytes <= cell.contents().capacity_bytes();
  if (storage::Block* const block = cell.block(); block != nullptr && (inside || block->size != bytes)) {
    storage::free_block(worker_, layout, block);  // freed immediately, because no other thread reads it
    cell.set_block(nullptr);
  }
  if (inside) {
    cell.set_contents(storage::contents_inside(layout, row, bytes));
    return cell.payload_at(cell.contents().inside_offset());
  }
  if (cell.block() == nullptr) cell.set_block(storage::allocate_block(worker_, layout, bytes));
  return cell.block() == nullptr ? nullptr : cell.block()->payload();
}

// -- the log --------------------------------------------------------------------------------------

Status RowLoader::apply(AnyTable& table, std::span<const ChangedRow> rows) {
  const BeyondLimit beyond;
  const Inside inside(worker_);
  rows_ = 0;
  PrimaryHint hint;
  Status status;
  while (!rows.empty() && status.ok()) {
    const std::span<const ChangedRow> batch = rows.first(std::min(rows.size(), kBatch));
    rows = rows.subspan(batch.size());
    status = apply_batch(table, batch, hint);
  }
  table.add_recovered_rows(rows_);
  return status;
}

Status RowLoader::apply_batch(AnyTable& table, std::span<const ChangedRow> rows, PrimaryHint& hint) {
  KeyRef keys[kBatch];
  index::Handle handles[kBatch];
  own_sets_.clear();
  for (size_t i = 0; i < rows.size(); ++i) {
    keys[i] = rows[i].key;
    if (rows[i].changes[0]->byte_key != table.byte_keys()) [[unlikely]] return wrong_kind(table);
  }
  table.find_many(keys, rows.size(), table.layout().none(), handles, nullptr);
  for (size_t i = 0; i < rows.size(); ++i)
    if (handles[i] != index::kNoHandle) prefetch(table, AnyTable::as_row(handles[i]), *rows[i].changes[0]);
  for (size_t i = 0; i < rows.size(); ++i)
    if (Status status = apply_row(table, rows[i], AnyTable::as_row(handles[i]), hint); !status.ok()) return status;
  return {};
}

// Returns the columns that the change writes, or null if the table lacks one of them.
const ColumnSet* RowLoader::columns_of(const AnyTable& table, const RowChange& change) {
  if (change.kind == EntryKind::kWhole) return &table.layout().all();
  const size_t count = table.schema().columns.size();
  return count < kColumnsMax && change.columns >> count != 0 ? nullptr : &table.layout().of_union(change.columns, own_sets_);
}
// Prefetches only the columns that the change writes, because a change to a large row rarely writes
// all of them.
void RowLoader::prefetch(const AnyTable& table, const Row* row, const RowChange& change) {
  if (change.kind != EntryKind::kWhole && change.kind != EntryKind::kColumns) return;
  const ColumnSet* set = columns_of(table, change);
  if (set == nullptr) return;
  for (const uint32_t offset : set->lines) __builtin_prefetch(reinterpret_cast<const std::byte*>(row) + offset, 1);
}

Status RowLoader::apply_row(AnyTable& table, const ChangedRow& changed, Row* row, PrimaryHint& hint) {
  const Layout& layout = table.layout();
  const KeyRef key = changed.key;
  const bool found = row != nullptr;
  if (Status status = found ? Status() : check_key(table, key); !status.ok()) return status;
  if (!found) {
    const uint64_t absent = table.version_floor() * word::kStep | word::kAbsent;
    row = new_row(worker_, layout, key, changed.changes[changed.count - 1]->size, absent, table.regions());
  }
  if (row == nullptr) return no_memory(table, key);
  const bool before = !word::absent(row->cell(layout, 0).load());
  Status status;
  for (uint32_t i = 0; i < changed.count && status.ok(); ++i) status = apply_change(table, row, *changed.changes[i]);
  const uint64_t w = row->cell(layout, 0).load();
  for (uint32_t g = 1; g < layout.group_count() && status.ok(); ++g)
    if (word::absent(row->cell(layout, g).load()) != word::absent(w)) status = wrong(table, key, "is incomplete");
  if (status.ok() && before == word::absent(w)) rows_ += before ? -1 : 1;
  if (found) {
    if (status.ok() && word::absent(w)) unlink_row_now(worker_, table, row, key, w);
    return status;
  }
  if (!status.ok() || word::absent(w)) {
    free_row(table, row);
    return status;
  }
  if (table.find_or_insert(worker_, key, row, hint).inserted) return {};
  free_row(table, row);
  return no_memory(table, key);
}

Status RowLoader::apply_change(AnyTable& table, Row* row, const RowChange& change) {
  const Layout& layout = table.layout();
  if (change.group >= layout.group_count())
    return wrong(table, change.key_ref(), "is changed in a column group that the table does not have");
  Cell& cell = row->cell(layout, change.group);
  const uint64_t w = cell.load();
  if (change.kind == EntryKind::kRemove) {
    cell.set_word(word::next(w, true));
    return {};
  }
  if (change.kind != EntryKind::kWhole && word::absent(w)) return wrong(table, change.key_ref(), "is changed but does not exist");
  const bool sized = layout.sized_rows();
  if (sized && (change.kind != EntryKind::kWhole || !layout.fits(change.size)))
    return wrong(table, change.key_ref(), "is changed to " + std::to_string(change.size) + " bytes, which is not a possible row size");
  std::byte* const to = payload(layout, row, change.group, change.size);
  if (to == nullptr) return no_memory(table, change.key_ref());
  if (sized) {
    guarded_copy(to, change.bytes(), change.size);
  } else if (change.kind == EntryKind::kAdd) {
    if (Status status = add(table, to, change); !status.ok()) return status;
  } else {
    const ColumnSet* const columns = columns_of(table, change);
    if (columns == nullptr) return wrong(table, change.key_ref(), "is changed in columns that the table does not have");
    const ColumnSet& set = *columns;
    if (set.bytes[change.group] != change.size)
      return wrong(table, change.key_ref(),
                   "is changed with " + std::to_string(change.size) + " bytes instead of " + std::to_string(set.bytes[change.group]));
    const std::byte* from = change.bytes();
    for (uint32_t s = set.begin[change.group]; s < set.begin[change.group + 1]; ++s) {
      racy_copy_out(to + set.spans[s].payload_offset, from, set.spans[s].size);
      from += set.spans[s].size;
    }
  }
  cell.set_snapshot(kRecoveredNumber);
  cell.set_word(word::next(w, false));
  return {};
}

}  // namespace elider::recovery
