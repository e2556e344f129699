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

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/worker.h"
#include "recovery/snapshot_rows.h"
#include "txn/any_table.h"
#include "txn/row_change.h"

namespace elider::recovery {

// The snapshot number that recovered rows get. Commits after recovery get larger numbers.
inline constexpr uint64_t kRecoveredNumber = 1;

class RowLoader {
 public:
  explicit RowLoader(WorkerLoan worker) : worker_loan_(std::move(worker)), worker_(*worker_loan_) {}

  // Inserts `count` new rows. `rows` contains them in the format of a checkpoint's blocks
  // (snapshot_rows.h). kCorrupt: a row already exists, or the bytes do not match the table.
  // kMemoryLimit: the system cannot provide memory.
  Status load(AnyTable& table, std::span<const std::byte> rows, uint32_t count);
  // Applies changes to rows of one table. Each row occurs only once in `rows`. kCorrupt: a change
  // does not match the table or its row.
  Status apply(AnyTable& table, std::span<const ChangedRow> rows);

 private:
  static constexpr size_t kBatch = 16;  // number of rows whose cache misses overlap

  void free_row(AnyTable& table, Row* row) { storage::free_row(worker_, table.layout(), row); }
  // Returns the address of the row's bytes for column group `g`, after allocating a block for them
  // if necessary. Returns null if memory is exhausted. If the row has a variable size, `bytes` is
  // its size.
  std::byte* payload(const Layout& layout, Row* row, uint32_t g, size_t bytes) {
    return layout.group(g).block ? payload_outside(layout, row, g, bytes) : row->cell(layout, g).payload_inside();
  }
  std::byte* payload_outside(const Layout& layout, Row* row, uint32_t g, size_t bytes);

  Status load_fixed(AnyTable& table, std::span<const std::byte> rows, uint32_t count);
  Status load_sized(AnyTable& table, std::span<const std::byte> rows, uint32_t count);
  Status load_keyed(AnyTable& table, std::span<const std::byte> rows, uint32_t count);
  Status load_row(AnyTable& table, KeyRef key, const std::byte* version_numbers, const std::byte* image, size_t bytes, PrimaryHint& hint);

  Status apply_batch(AnyTable& table, std::span<const ChangedRow> rows, PrimaryHint& hint);
  const ColumnSet* columns_of(const AnyTable& table, const RowChange& change);
  void prefetch(const AnyTable& table, const Row* row, const RowChange& change);
  Status apply_row(AnyTable& table, const ChangedRow& changed, Row* row, PrimaryHint& hint);
  Status apply_change(AnyTable& table, Row* row, const RowChange& change);

  const WorkerLoan worker_loan_;
  Worker& worker_;
  int64_t rows_ = 0;  // how many rows the current call has added to its table
  storage::OwnColumnSets own_sets_;
};

}  // namespace elider::recovery
