// How BufferedWrites updates secondary indexes. The updates are part of the same transaction.
// IndexEntries inserts and retires the entries (index_entries.h).
#pragma once

#include "base/bits.h"
#include "txn/read_write/buffered_writes.h"

namespace elider::txn {

// Computes the value in secondary index i of the row with this key. If the index is by columns, the
// value is valid until the transaction ends.
//   kInvalidArgument  the row cannot be indexed
template <class Sync, class Claims>
[[gnu::always_inline]] inline Status BufferedWrites<Sync, Claims>::index_value(TableType& table, uint32_t i, KeyRef key, RowImage row,
                                                                               IndexValue* value) {
  if (table.column_index(i) != nullptr) [[unlikely]] return index_entry(table, i, key, row, value);
  *value = IndexValue(index_number(table, i, key, row.bytes));
  return {};
}

template <class Sync, class Claims>
[[gnu::noinline]] Status BufferedWrites<Sync, Claims>::index_entry(TableType& table, uint32_t i, KeyRef key, RowImage row,
                                                                   IndexValue* value) {
  EntryBuffer buffer;
  const KeyBytes* const entry = table.column_index(i)->encode(row, key, buffer);
  if (entry == nullptr) [[unlikely]] return table.column_index(i)->refuse(table, row, key);
  *value = kept_value(arena_, entry);
  return {};
}

// Computes the row's index values as this transaction sees them, including its own writes. `which`
// says whether these are the old values or the new ones.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::own_index_values(TableType& table, Row* row, KeyRef key, uint64_t affected, Values which,
                                                      IndexValue* values) {
  if (affected != 0 && table.layout().described_rows()) [[unlikely]]
    return described_index_values(table, row, key, affected, which, values);
  std::byte* image = arena_.allocate(table.layout().column_image_bytes());
  detail::ImageHeader header;
  for (const uint32_t i : Bits(affected)) {
    if (Status status = read_row(table, row, key, table.index_columns(i), image, &header); !status.ok()) return status;
    if (Status status = value_or_none(table, i, key, {image, 0}, which, &values[i]); !status.ok()) [[unlikely]] return status;
  }
  return {};
}

// Computes the value in secondary index i of a row. While an index is being created, a row that has
// not been visited yet may have an old value that cannot be indexed. Then *value is not a value,
// and index_add() does not make an entry stale.
template <class Sync, class Claims>
[[gnu::always_inline]] inline Status BufferedWrites<Sync, Claims>::value_or_none(TableType& table, uint32_t i, KeyRef key, RowImage row,
                                                                                 Values which, IndexValue* value) {
  Status status = index_value(table, i, key, row, value);
  if (status.ok() || which == Values::kNew || table.is_usable(i)) [[likely]] return status;
  *value = IndexValue(static_cast<const KeyBytes*>(nullptr));
  return {};
}

// Like own_index_values(), for a described row.
template <class Sync, class Claims>
[[gnu::noinline]] Status BufferedWrites<Sync, Claims>::described_index_values(TableType& table, Row* row, KeyRef key, uint64_t affected,
                                                                              Values which, IndexValue* values) {
  RowImage image;
  if (const WriteEntry* const write = writes_.find(row, table.layout(), 0)) {
    if (write->leaves_none()) return table.error(Code::kNotFound, Cause::kNone, key);
    image = {write->image, WriteSet::image_bytes(table.layout(), write->image)};
  } else {
    RawView view;
    if (Status status = this->view_row(table, row, key, table.layout().all(), &view); !status.ok()) return status;
    image = {view.bytes(), view.size()};
  }
  for (const uint32_t i : Bits(affected))
    if (Status status = value_or_none(table, i, key, image, which, &values[i]); !status.ok()) [[unlikely]] return status;
  return {};
}

// Returns kDuplicateKey if the index is unique and another row has this value.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::index_check_unique(TableType& table, Row* row, KeyRef key, uint32_t i, IndexValue value) {
  if (!table.index_definition(i).unique) return {};
  if (const ColumnIndex* const columns = table.column_index(i)) [[unlikely]] {
    if (columns->has_null(*value.entry(), key)) return {};  // as in SQL
    const Bytes tuple = columns->tuple_of(*value.entry(), key);
    const detail::KeyBuffer from(tuple);
    detail::KeyBuffer to;
    const bool to_end = !to.set_after_prefix(tuple);
    const detail::KeyRefRange entries(from.ref(), to.ref(), to_end);
    return index_check_range(table, row, key, i, detail::EntryRange(entries), value);
  }
  return index_check_range(table, row, key, i, IndexRange(value.number(), value.number()), value);
}

// Returns kDuplicateKey if a row other than `row` is in this range, which contains the entries of
// `value`.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::index_check_range(TableType& table, Row* row, KeyRef key, uint32_t i,
                                                       const detail::EntryRange& range, IndexValue value) {
  bool taken = false;
  KeyRef holder;
  const size_t looked_at = tracking_.leaves();
  const auto visit = [&](KeyRef found, uint64_t, const RawView& view) {
    taken = view.header()->row != row;
    holder = found;
    return !taken;
  };
  Status status = scan_secondary(table, i, range, {}, table.index_columns(i), visit);
  if (ELIDER_MUTANT(kForgetUniqueCheck)) tracking_.ignore_leaves_after(looked_at);
  if (status.ok() && taken)
    return refuse_taken(table.error(Code::kDuplicateKey, Cause::kNone, key), table.index_definition(i), table.value_text(i, value, key),
                        table.key_text(holder));
  return status;
}

// Computes the index values of the row that this transaction replaces in this row block. The
// entries of these values still exist, and must be removed when the new row is committed. If the
// row has changed, the transaction is doomed. Waits while the row is locked, because skipping a row
// that turns out to be unchanged would leave its entries in the indexes forever.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::former_index_values(TableType& table, Row* row, KeyRef key, uint64_t indexes, IndexValue* values,
                                                         bool* had_row) {
  const Layout& layout = table.layout();
  *had_row = !writes_.find(row, layout, 0)->created && row->cell(layout, 0).snapshot() != 0;
  if (!*had_row) return {};
  const bool described = layout.described_rows();
  RowImage former;
  std::byte* image = arena_.allocate(layout.column_image_bytes());
  for (uint32_t g = 0; g < layout.group_count(); ++g) {
    const Cell& cell = row->cell(layout, g);
    const uint64_t expected = writes_.find(row, layout, g)->expected;
    do {
      const uint64_t w = unlocked_word(cell);
      if (w != expected) return doom(table, Code::kConflict, word::removed(w) ? Cause::kRowRemoved : Cause::kReadChanged, key);
      if (described) {
        const storage::SizedRow found = storage::sized_row(cell, [&](size_t) { return image; });
        former = {found.bytes, found.size};
        continue;
      }
      for (const uint32_t i : Bits(indexes))
        storage::copy_to_image(table.index_columns(i), g, image, cell.payload(layout.group(g)));
    } while (!cell.unchanged(expected));
  }
  if (!described) former = {image, 0};
  for (const uint32_t i : Bits(indexes))
    if (Status status = value_or_none(table, i, key, former, Values::kOld, &values[i]); !status.ok()) [[unlikely]] return status;
  return {};
}

// Adds the entries of a row that is inserted into an absent row block. Uniqueness has already been
// checked, unless the block is new.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::index_insert(TableType& table, Row* row, KeyRef key, RowImage image, uint64_t indexes) {
  IndexValue former[kSecondaryIndexesMax];
  bool had_row = false;
  if (Status status = former_index_values(table, row, key, indexes, former, &had_row); !status.ok()) return status;
  for (const uint32_t i : Bits(indexes)) {
    IndexValue value;
    Status status = index_value(table, i, key, image, &value);
    if (status.ok()) status = index_check_unique(table, row, key, i, value);
    if (status.ok())
      status = index_add(table, row, key, i, had_row && !table.same_value(i, former[i], value) ? &former[i] : nullptr, value);
    if (status.ok()) continue;
    // The insert failed. The row block stays absent, and the commit must find it absent.
    if (state_ == State::kActive)
      for (uint32_t g = 0; g < table.layout().group_count(); ++g) writes_.find(row, table.layout(), g)->kind = WriteKind::kNone;
    return status;
  }
  const uint64_t ranked = indexes & table.ranked_indexes();
  return ranked == 0 ? Status() : add_to_ranks(table, key, image, ranked);
}

// Updates the entries of a row whose index values have changed from `old_values` to its current
// values.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::index_update(TableType& table, Row* row, KeyRef key, const IndexValue* old_values,
                                                  uint64_t affected) {
  IndexValue new_values[kSecondaryIndexesMax];
  if (Status status = own_index_values(table, row, key, affected, Values::kNew, new_values); !status.ok()) return status;
  for (const uint32_t i : Bits(affected)) {
    if (table.same_value(i, new_values[i], old_values[i])) continue;
    if (Status status = index_check_unique(table, row, key, i, new_values[i]); !status.ok()) return status;
  }
  for (const uint32_t i : Bits(affected)) {
    if (table.same_value(i, new_values[i], old_values[i])) continue;
    if (Status status = index_add(table, row, key, i, &old_values[i], new_values[i]); !status.ok()) return status;
  }
  if (const uint64_t ranked = affected & table.ranked_indexes(); ranked != 0) [[unlikely]]
    return change_ranks(table, key, ranked, old_values, new_values);
  return {};
}

// Adds the entry of a new value. `old_value` is the value whose entry becomes stale, or null.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::index_add(TableType& table, Row* row, KeyRef key, uint32_t i, const IndexValue* old_value,
                                               IndexValue new_value) {
  const bool has_old = old_value != nullptr && (table.column_index(i) == nullptr || old_value->entry() != nullptr);
  const index::InsertResult result = index_entries_.insert(
      {row, &table, key, i, has_old, has_old ? *old_value : IndexValue(uint64_t{0}), new_value, false, false}, claims_);
  if (result.handle == index::kNoHandle) [[unlikely]] return doom(table, Code::kMemoryLimit, Cause::kMemoryLimit, key);
  if (result.handle != reinterpret_cast<index::Handle>(row)) return doom(table, Code::kConflict, Cause::kRowRemoved, key);
  if (result.inserted) tracking_.track_own_insert(result);
  index_entries_.settle();
  return result.inserted ? claim_leaves_written(table, result, key) : Status();
}

}  // namespace elider::txn
