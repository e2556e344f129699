// RowLoader: writes rows without transactions while a database is opened. It loads the rows of a
// checkpoint and applies the changes from the log.
//
// A loader does not keep versions, write a log or maintain secondary indexes, which are built
// afterwards from the rows. Each thread has its own loader. Two threads must not write the same row
// at the same time, and no transaction may run.
//
// Invariant: Options::memory_limit_bytes does not apply during loading. The limit is there to
// reject new data, but the contents of the files have already been accepted. Loading may need more
// memory than the database used before, because each thread allocates from its own chunks, and
// index nodes split at different keys. Memory use is still bounded by the size of the files,
// because they contain each row's bytes.
//
// Thread safety: one thread at a time.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/cache_line.h"
#include "storage/number.h"
#include "txn/counters.h"
#include "txn/log_entry.h"
#include "txn/reclaim.h"
#include "txn/row_change.h"
#include "txn/table.h"
#include "recovery/snapshot_rows.h"

namespace elider::recovery {

class RowLoader {
 public:
  virtual ~RowLoader() = default;
  // Inserts `count` new rows. `rows` contains them in the format of a checkpoint's blocks
  // (snapshot_rows.h). kCorrupt: a row already exists, or the bytes do not match the table.
  // kMemoryLimit: the system cannot provide memory.
  virtual Status load(TableBase& table, std::span<const std::byte> rows, uint32_t count) = 0;
  // Applies changes to rows of one table. Each row occurs only once in `rows`. kCorrupt: a change
  // does not match the table or its row.
  virtual Status apply(TableBase& table, std::span<const ChangedRow> rows) = 0;
};

// The snapshot number that recovered rows get. Commits after recovery get larger numbers.
inline constexpr uint64_t kRecoveredNumber = 1;

template <class Sync>
class RowLoaderOf : public RowLoader {
 public:
  RowLoaderOf(Worker& worker, Counters& counters) : worker_(worker), counters_(counters) {}

  Status load(TableBase& base, std::span<const std::byte> rows, uint32_t count) override {
    auto& table = static_cast<TableType&>(base);
    const BeyondLimit beyond;
    if (table.byte_keys()) return load_keyed(table, rows, count);
    if (table.layout().sized_rows()) return load_sized(table, rows, count);
    const size_t row_bytes = stored_row_bytes(table.layout());
    if (rows.size() != row_bytes * count)
      return Status(Code::kCorrupt, std::to_string(count) + " rows of table '" + table.schema().name + "' are stored in " +
                                        std::to_string(rows.size()) + " bytes, but each row has " + std::to_string(row_bytes));
    const Inside inside(worker_);
    PrimaryHint hint;
    Status status;
    for (const std::byte* at = rows.data(); count > 0 && status.ok(); --count, at += row_bytes) {
      if (count > kAhead) prefetch(table, get<Key>(at + kAhead * row_bytes));
      status = load_row(table, get<Key>(at), at + sizeof(Key), at + stored_header_bytes(table.layout()), table.layout().row_bytes(), hint);
    }
    return status;
  }

  Status apply(TableBase& base, std::span<const ChangedRow> rows) override {
    auto& table = static_cast<TableType&>(base);
    const BeyondLimit beyond;
    const Inside inside(worker_);
    PrimaryHint hint;
    Status status;
    while (!rows.empty() && status.ok()) {
      const std::span<const ChangedRow> batch = rows.first(std::min(rows.size(), kBatch));
      rows = rows.subspan(batch.size());
      status = apply_batch(table, batch, hint);
    }
    return status;
  }

 private:
  using TableType = Table<Sync>;
  static constexpr size_t kAhead = 8;
  static constexpr size_t kBatch = 16;  // number of rows whose cache misses overlap

  static Status no_memory(TableType& table, KeyRef key) { return table.error(Code::kMemoryLimit, Cause::kMemoryLimit, key); }
  static Status wrong(TableType& table, KeyRef key, const std::string& words) {
    return Status(Code::kCorrupt, "key " + table.key_text(key) + " of table '" + table.schema().name + "' " + words);
  }

  void free_row(TableType& table, Row* row) { storage::free_row(worker_, table.layout(), row); }
  // Prefetches the memory in which the table's index stores the key, if the index can compute its
  // address.
  static void prefetch(TableType& table, Key key) {
    table.keys().visit([&](const auto& index) {
      if constexpr (requires { index.prefetch(key); }) index.prefetch(key);
    });
  }

  // Returns the address of the row's bytes for column group `g`, after allocating a block for them
  // if necessary. Returns null if memory is exhausted. If the row has a variable size, `bytes` is
  // its size.
  std::byte* payload(TableType& table, Row* row, uint32_t g, size_t bytes) {
    const storage::Group& group = table.layout().group(g);
    Cell& cell = row->cell(table.layout(), g);
    if (!group.block) return cell.payload_inside();
    if (!table.layout().sized_rows()) bytes = group.payload_bytes;
    if (storage::Block* const block = cell.block(); block != nullptr && block->size != bytes) {
      storage::free_block(worker_, table.layout(), block);  // freed immediately, because no other thread reads it
      cell.set_block(nullptr);
    }
    if (cell.block() == nullptr) cell.set_block(storage::allocate_block(worker_, table.layout(), bytes));
    return cell.block() == nullptr ? nullptr : cell.block()->payload();
  }

  Status load_sized(TableType& table, std::span<const std::byte> rows, uint32_t count) {
    const Layout& layout = table.layout();
    const size_t header = stored_header_bytes(layout);
    const Inside inside(worker_);
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
  Status load_keyed(TableType& table, std::span<const std::byte> rows, uint32_t count) {
    const Layout& layout = table.layout();
    const size_t sequences = sizeof(uint64_t) * layout.group_count();
    const size_t fixed = sequences + (layout.sized_rows() ? sizeof(uint64_t) : 0);
    const Inside inside(worker_);
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
      const uint64_t size = layout.sized_rows() ? get<uint64_t>(stored + sequences) : layout.row_bytes();
      rows = rows.subspan(key_size + fixed);
      if (size > rows.size() || !layout.fits(size)) return does_not_hold(table, count);
      status = load_row(table, key.ref(), stored, rows.data(), size, hint);
      rows = rows.subspan(size);
    }
    return status.ok() && !rows.empty() ? does_not_hold(table, 0) : status;
  }
  static Status does_not_hold(TableType& table, uint32_t count) {
    return Status(Code::kCorrupt, "the row sizes in a block of table '" + table.schema().name +
                                      "' do not match the block's length (rows left to read: " + std::to_string(count) + ")");
  }

  Status load_row(TableType& table, KeyRef key, const std::byte* sequences, const std::byte* image, size_t bytes, PrimaryHint& hint) {
    const Layout& layout = table.layout();
    Row* row = new_row<Sync>(worker_, table.layout(), key, table.sequence_floor() * word::kStep | word::kAbsent);
    if (row == nullptr) return no_memory(table, key);
    for (uint32_t g = 0; g < layout.group_count(); ++g) {
      std::byte* to = payload(table, row, g, bytes);
      if (to == nullptr) {
        free_row(table, row);
        return no_memory(table, key);
      }
      if (layout.sized_rows()) guarded_copy(to, image, bytes);
      else storage::copy_to_payload(layout.all(), g, to, image);
      const auto sequence = get<uint64_t>(sequences + sizeof(uint64_t) * g);
      row->cell(layout, g).set_snapshot(kRecoveredNumber);
      row->cell(layout, g).set_word(sequence * word::kStep);
    }
    const index::InsertResult inserted = table.find_or_insert(worker_, key, row, hint);
    if (inserted.inserted) {
      counters_.tables[table.id()].rows.add(1);
      return {};
    }
    free_row(table, row);
    return inserted.handle == index::kNoHandle ? no_memory(table, key) : wrong(table, key, "occurs twice");
  }

  // -- the log ------------------------------------------------------------------------------------

  Status apply_batch(TableType& table, std::span<const ChangedRow> rows, PrimaryHint& hint) {
    KeyRef keys[kBatch];
    index::Handle handles[kBatch];
    own_sets_.clear();
    for (size_t i = 0; i < rows.size(); ++i) {
      keys[i] = rows[i].key;
      if (rows[i].changes[0]->byte_key != table.byte_keys()) [[unlikely]] return wrong_kind(table);
    }
    table.find_many(keys, rows.size(), table.layout().none(), handles, nullptr);
    for (size_t i = 0; i < rows.size(); ++i)
      if (handles[i] != index::kNoHandle) prefetch(table, TableType::as_row(handles[i]), *rows[i].changes[0]);
    for (size_t i = 0; i < rows.size(); ++i)
      if (Status status = apply_row(table, rows[i], TableType::as_row(handles[i]), hint); !status.ok()) return status;
    return {};
  }

  static Status wrong_kind(TableType& table) {
    return Status(Code::kCorrupt, "table '" + table.schema().name + "' is changed with keys of the wrong kind (numbers or bytes)");
  }

  // Returns the columns that the change writes, or null if the table lacks one of them.
  const ColumnSet* columns_of(const TableType& table, const RowChange& change) {
    if (change.kind == EntryKind::kWhole) return &table.layout().all();
    const size_t count = table.schema().columns.size();
    return count < kColumnsMax && change.columns >> count != 0 ? nullptr : &table.layout().of_union(change.columns, own_sets_);
  }
  // Prefetches only the columns that the change writes, because a change to a large row rarely
  // writes all of them.
  void prefetch(const TableType& table, const Row* row, const RowChange& change) {
    if (change.kind != EntryKind::kWhole && change.kind != EntryKind::kColumns) return;
    const ColumnSet* set = columns_of(table, change);
    if (set == nullptr) return;
    for (const uint32_t offset : set->lines) __builtin_prefetch(reinterpret_cast<const std::byte*>(row) + offset, 1);
  }

  Status apply_row(TableType& table, const ChangedRow& changed, Row* row, PrimaryHint& hint) {
    const Layout& layout = table.layout();
    const KeyRef key = changed.key;
    const bool found = row != nullptr;
    if (!found) row = new_row<Sync>(worker_, table.layout(), key, table.sequence_floor() * word::kStep | word::kAbsent);
    if (row == nullptr) return no_memory(table, key);
    const bool before = !word::absent(row->cell(layout, 0).load());
    Status status;
    for (uint32_t i = 0; i < changed.count && status.ok(); ++i) status = apply_change(table, row, *changed.changes[i]);
    const uint64_t w = row->cell(layout, 0).load();
    for (uint32_t g = 1; g < layout.group_count() && status.ok(); ++g)
      if (word::absent(row->cell(layout, g).load()) != word::absent(w)) status = wrong(table, key, "is incomplete");
    if (status.ok() && before == word::absent(w)) counters_.tables[table.id()].rows.add(before ? -1 : 1);
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

  Status apply_change(TableType& table, Row* row, const RowChange& change) {
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
    std::byte* const to = payload(table, row, change.group, change.size);
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

  Status add(TableType& table, std::byte* to, const RowChange& change) {
    for (const Column& column : table.schema().columns) {
      if (column.offset != change.columns || column.group != change.group) continue;
      const storage::Number* number = table.layout().number_at(column.offset, column.type);
      if (number == nullptr || change.size != sizeof(uint64_t)) break;
      storage::add_to_payload(number->type, to + number->payload_offset, change.bytes());
      return {};
    }
    return wrong(table, change.key_ref(), "is added to at an offset where no column begins");
  }

  Worker& worker_;
  Counters& counters_;
  storage::OwnColumnSets own_sets_;
};

// Inserts the rows of `entries` into the table's secondary indexes. Other threads must not write
// these rows during the call. kProcedureThrew: a key function threw. kMemoryLimit: memory is
// exhausted.
template <class Sync>
Status index_rows(Worker& worker, Table<Sync>& table, const TableCursor::Entries& entries) {
  struct Found {
    uint64_t value;
    KeyRef key;
    index::Handle handle;
  };
  const Layout& layout = table.layout();
  std::vector<Found> found;
  found.reserve(entries.size());  // so only the key function can throw below
  std::vector<std::byte> image(layout.column_image_bytes());
  for (uint32_t i = 0; i < table.secondary_count(); ++i) {
    found.clear();
    for (const auto& [key, handle] : entries) {
      Row* row = Table<Sync>::as_row(handle);
      if (word::absent(row->cell(layout, 0).load())) continue;
      reclaim::copy_locked(layout, row, layout.index_columns(i), image.data());
      try {
        found.push_back({table.index_value(i, image.data()), key, handle});
      } catch (...) {
        return Status(Code::kProcedureThrew, "the key function of index '" + table.schema().indexes[i].name + "' of table '" +
                                                 table.schema().name + "' threw for key " + table.key_text(key));
      }
    }
    // Sorts the entries, so that entries that are adjacent in the index are inserted one after the
    // other.
    std::sort(found.begin(), found.end(), [&](const Found& a, const Found& b) {
      if (a.value != b.value) return a.value < b.value;
      return table.byte_keys() ? detail::bytes_of(a.key) < detail::bytes_of(b.key) : a.key.number() < b.key.number();
    });
    SecondaryHint hint;
    const BeyondLimit beyond;
    const Inside inside(worker);
    for (const Found& entry : found)
      if (table.secondary(i).get_or_insert(worker, entry.value, entry.key, entry.handle, hint).handle == index::kNoHandle)
        return table.error(Code::kMemoryLimit, Cause::kMemoryLimit, entry.key);
  }
  return {};
}

}  // namespace elider::recovery
