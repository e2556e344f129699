// SnapshotRows: reads all rows of one snapshot of a database, to write a checkpoint while
// transactions run.
//
// It reads like a read-only transaction, but several threads can read the same snapshot. Until the
// object is destroyed, old versions are kept for it, and memory is not reclaimed. However, after
// all rows of a table have been read, rows that are removed from this table are not kept. next()
// returns the payload of a checkpoint's block, which contains rows of one table. A row consists of
// its key (8 bytes; for a byte key, its size in 2 bytes, and its bytes), the sequence number of
// each column group (8 bytes each), its size if it is a variable-size row (8 bytes), and its bytes.
//
// Thread safety: all threads may call next(). Only one thread may call the other functions.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "elider/snapshot_number.h"
#include "log/checkpoint_file.h"
#include "storage/table.h"
#include "txn/store.h"
#include "txn/table.h"
#include "txn/table_cursor.h"

namespace elider::recovery {

using namespace txn;  // recovery reads and writes the rows and tables of txn
using txn::Table;     // not the public elider::Table
using detail::TableBase;

// Returns the kind of the blocks that contain the rows of a table.
inline log::BlockKind block_kind_of(const Layout& layout) {
  if (layout.byte_keys()) return log::BlockKind::kKeyedRows;
  return layout.sized_rows() ? log::BlockKind::kSizedRows : log::BlockKind::kRows;
}

// Returns how many bytes precede the bytes of a stored row whose key is a number.
inline size_t stored_header_bytes(const Layout& layout) {
  return sizeof(Key) + sizeof(uint64_t) * (layout.group_count() + (layout.sized_rows() ? 1 : 0));
}
// Returns the size of a stored row. For variable-size rows, this is an upper bound.
inline size_t stored_row_bytes(const Layout& layout) { return stored_header_bytes(layout) + layout.row_bytes(); }
// Returns how many stored rows have a total size of about `bytes` bytes. Variable-size rows and
// byte keys are assumed to be small, but even rows of the maximum size fit into a block.
inline size_t rows_in(const Layout& layout, size_t bytes) {
  constexpr size_t kSizedGuess = 256, kBytesMax = 32u << 20;
  if (!layout.sized_rows() && !layout.byte_keys()) return bytes / stored_row_bytes(layout) + 1;
  const size_t row_bytes_max = stored_row_bytes(layout) + (layout.byte_keys() ? sizeof(uint16_t) + kKeyBytesMax : 0);
  return std::clamp<size_t>(kBytesMax / row_bytes_max, 1, bytes / kSizedGuess + 1);
}

// Rows of one table in the format of a checkpoint's block, after some free bytes for the block's
// header. The memory is reused for the next rows.
struct StoredRows {
  const TableBase* table = nullptr;
  uint32_t count = 0;
  std::vector<std::byte> bytes;  // may be larger than necessary
  size_t used = 0;
};

class SnapshotRows {
 public:
  virtual ~SnapshotRows() = default;
  SnapshotNumber number() const { return number_; }
  // Returns the tables that existed at the snapshot, and possibly later ones, ordered by id.
  const std::vector<TableBase*>& tables() const { return tables_; }
  // Reads the next rows of one table, about `bytes` bytes in total, and stores them after `room`
  // free bytes. Returns false if all tables have been read.
  virtual bool next(size_t bytes, size_t room, StoredRows* rows) = 0;

 protected:
  SnapshotNumber number_ = 0;
  std::vector<TableBase*> tables_;
};

template <class Sync>
class SnapshotRowsOf final : public SnapshotRows {
 public:
  // The worker must not be used by others until this object is destroyed and releases it.
  SnapshotRowsOf(Store& store, Worker& worker) : store_(store), worker_(worker) {
    worker_.enter();
    number_ = store_.snapshots.begin_reading(worker_.id());
  }
  ~SnapshotRowsOf() override {
    store_.snapshots.end_reading(worker_.id());
    worker_.leave();
    store_.workers.release(&worker_);
  }
  // Sets the tables to read, which must include all tables that were created up to the snapshot.
  // Must be called before next().
  void set_tables(std::vector<TableBase*> tables) {
    tables_ = std::move(tables);
    for (TableBase* table : tables_) passages_.push_back(std::make_unique<Passage>(*static_cast<Table<Sync>*>(table)));
    // Small tables are read first, because this is quick, and because they include queues, whose
    // rows are removed most often and are not kept once the queue has been read.
    std::sort(passages_.begin(), passages_.end(), [](const auto& a, const auto& b) { return a->rows_at_begin < b->rows_at_begin; });
  }

  bool next(size_t bytes, size_t room, StoredRows* rows) override {
    TableCursor::Entries entries;
    for (size_t at; (at = table_.load(std::memory_order_relaxed)) < passages_.size();) {  // relaxed: a hint where to start
      Passage& passage = *passages_[at];
      auto& table = static_cast<Table<Sync>&>(passage.cursor.table());
      passage.threads.fetch_add(1);
      const bool more = passage.cursor.next(rows_in(table.layout(), bytes), &entries);
      if (more) store_rows(table, entries, room, rows);
      else passage.ended.store(true);
      // The last thread to leave the passage sees that it has ended, because a thread sets `ended`
      // before it decrements the count.
      if (passage.threads.fetch_sub(1) == 1 && passage.ended.load()) table.set_passed_by(number_);
      if (!more) table_.compare_exchange_strong(at, at + 1, std::memory_order_relaxed);  // relaxed: a hint
      else if (rows->count != 0) return true;
    }
    return false;
  }

 private:
  void store_rows(Table<Sync>& table, const TableCursor::Entries& entries, size_t room, StoredRows* rows) const {
    constexpr size_t kAhead = 8;
    const Layout& layout = table.layout();
    rows->table = &table;
    rows->count = 0;
    rows->used = room;
    if (!layout.sized_rows() && !layout.byte_keys()) make_room(entries.size() * stored_row_bytes(layout), rows);
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i + kAhead < entries.size())
        for (uint32_t line : layout.all().lines) __builtin_prefetch(reinterpret_cast<const std::byte*>(entries[i + kAhead].second) + line);
      Row& row = *Table<Sync>::as_row(entries[i].second);
      if (layout.byte_keys()) [[unlikely]] {
        rows->count += store_keyed_row(layout, row, rows);
        continue;
      }
      const Key key = entries[i].first.number();
      rows->count += layout.sized_rows() ? store_sized_row(layout, row, key, rows) : store_row(layout, row, key, rows);
    }
  }

  // Returns false if the row did not exist at the snapshot.
  bool store_row(const Layout& layout, Row& row, Key key, StoredRows* rows) const {
    std::byte* const to = rows->bytes.data() + rows->used;
    for (uint32_t g = 0; g < layout.group_count(); ++g) {
      uint64_t sequence = 0;
      if (!storage::read_cell_at(row.cell(layout, g), layout.group(g), layout.all(), g, number_, to + stored_header_bytes(layout),
                                 &sequence))
        return false;
      std::memcpy(to + sizeof(Key) + sizeof(uint64_t) * g, &sequence, sizeof sequence);
    }
    std::memcpy(to, &key, sizeof key);
    rows->used += stored_row_bytes(layout);
    return true;
  }
  // Stores a row with a byte key, of fixed or variable size.
  bool store_keyed_row(const Layout& layout, Row& row, StoredRows* rows) const {
    const detail::KeyBytes& key = *row.key(layout);
    const auto key_size = static_cast<uint16_t>(key.size);
    const size_t before = sizeof key_size + key_size, sequences = sizeof(uint64_t) * layout.group_count();
    uint64_t sequence = 0, size = layout.row_bytes();
    const storage::Block* block = nullptr;
    if (layout.sized_rows()) {
      block = storage::find_block_at(row.cell(layout, 0), number_, &sequence);
      if (block == nullptr) return false;
      size = block->size;
    }
    make_room(before + sequences + sizeof size + size, rows);
    std::byte* const begin = rows->bytes.data() + rows->used;
    std::byte* to = begin + before;
    if (block != nullptr) {
      const uint64_t header[] = {sequence, size};
      std::memcpy(to, header, sizeof header);
      std::memcpy(to += sizeof header, block->payload(), size);
    } else {
      for (uint32_t g = 0; g < layout.group_count(); ++g) {
        if (!storage::read_cell_at(row.cell(layout, g), layout.group(g), layout.all(), g, number_, to + sequences, &sequence)) return false;
        std::memcpy(to + sizeof(uint64_t) * g, &sequence, sizeof sequence);
      }
      to += sequences;
    }
    std::memcpy(begin, &key_size, sizeof key_size);
    if (key_size != 0) std::memcpy(begin + sizeof key_size, key.data(), key_size);
    rows->used = static_cast<size_t>(to + size - rows->bytes.data());
    return true;
  }
  bool store_sized_row(const Layout& layout, Row& row, Key key, StoredRows* rows) const {
    uint64_t sequence = 0;
    const storage::Block* const block = storage::find_block_at(row.cell(layout, 0), number_, &sequence);
    if (block == nullptr) return false;
    make_room(stored_header_bytes(layout) + block->size, rows);
    std::byte* const to = rows->bytes.data() + rows->used;
    const uint64_t header[] = {key, sequence, block->size};
    std::memcpy(to, header, sizeof header);
    std::memcpy(to + sizeof header, block->payload(), block->size);
    rows->used += sizeof header + block->size;
    return true;
  }
  // Ensures that there is space for `bytes` more bytes after the used ones.
  static void make_room(size_t bytes, StoredRows* rows) {
    const size_t needed = rows->used + bytes;
    if (rows->bytes.size() < needed) rows->bytes.resize(std::max(needed, rows->bytes.size() * 5 / 4));
  }

  Store& store_;
  Worker& worker_;
  // The state of reading one table.
  struct Passage {
    explicit Passage(Table<Sync>& table) : cursor(table), rows_at_begin(table.keys().size()) {}
    TableCursor cursor;
    const size_t rows_at_begin;
    std::atomic<uint32_t> threads{0};  // number of threads that are reading the table
    std::atomic<bool> ended{false};
  };
  std::vector<std::unique_ptr<Passage>> passages_;  // one per table, in the order of reading
  std::atomic<size_t> table_{0};                    // all passages before this one have ended
};

}  // namespace elider::recovery
