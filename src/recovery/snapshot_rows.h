// SnapshotRows: reads all rows of one snapshot of a database, to write a checkpoint while
// transactions run.
//
// It reads like a read-only transaction, but several threads can read the same snapshot. Until the
// object is destroyed, old versions are kept for it, and memory is not reclaimed. However, after
// all rows of a table have been read, rows that are removed from this table are not kept. next()
// returns the payload of a checkpoint's block, which contains rows of one table. A row consists of
// its key (8 bytes; for a byte key, its size in 2 bytes, and its bytes), the version number of
// each column group (8 bytes each), its size if it is a variable-size row (8 bytes), and its bytes.
//
// Thread safety: all threads may call next(). Only one thread may call the other functions.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/worker.h"
#include "elider/snapshot_number.h"
#include "log/checkpoint_file.h"
#include "txn/any_table.h"
#include "txn/catalog.h"
#include "txn/store.h"
#include "txn/table_cursor.h"

namespace elider::recovery {

using namespace txn;  // recovery reads and writes the rows and tables of txn

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
// byte keys are assumed to be small.
inline size_t rows_in(const Layout& layout, size_t bytes) {
  constexpr size_t kSizedGuess = 256;
  return bytes / (layout.sized_rows() || layout.byte_keys() ? kSizedGuess : stored_row_bytes(layout)) + 1;
}

// Rows of one table in the format of a checkpoint's block, after some free bytes for the block's
// header. The memory is reused for the next rows.
struct StoredRows {
  const AnyTable* table = nullptr;
  uint32_t count = 0;
  std::vector<std::byte> bytes;  // may be larger than necessary
  // The entries that were taken from the table's cursor, and the next one to store.
  index::Entries entries;
  size_t at = 0;
  void* passage = nullptr;
  size_t used = 0;
};

class SnapshotRows {
 public:
  // Begins to read the newest snapshot. Returns null if all workers are in use.
  static std::unique_ptr<SnapshotRows> begin(Catalog& catalog, Store& store);
  ~SnapshotRows();
  SnapshotRows(const SnapshotRows&) = delete;
  SnapshotRows& operator=(const SnapshotRows&) = delete;

  SnapshotNumber number() const { return number_; }
  // Returns the tables that existed at the snapshot, ordered by id. Of the tables that had been
  // dropped, it returns the ids.
  const std::vector<Catalog::TableAt>& tables() const { return tables_; }
  // Reads the next rows of one table, about `bytes` bytes in total, and stores them after `room`
  // free bytes. Returns false if all tables have been read.
  bool next(size_t bytes, size_t room, StoredRows* rows);

 private:
  // The state of reading one table.
  struct Passage {
    explicit Passage(AnyTable& table) : cursor(table), rows_at_begin(table.row_blocks()) {}
    TableCursor cursor;
    const size_t rows_at_begin;
    std::atomic<uint32_t> threads{0};  // number of threads that are reading the table
    std::atomic<bool> ended{false};
  };

  SnapshotRows(Store& store, WorkerLoan worker);
  void set_tables(std::vector<Catalog::TableAt> tables);
  void leave(Passage& passage);
  void store_rows(size_t bytes, size_t room, StoredRows* rows) const;

  Store& store_;
  const WorkerLoan worker_;
  SnapshotNumber number_ = 0;
  std::vector<Catalog::TableAt> tables_;
  std::vector<std::unique_ptr<Passage>> passages_;  // one per table, in the order of reading
  std::atomic<size_t> table_{0};                    // all passages before this one have ended
};

}  // namespace elider::recovery
