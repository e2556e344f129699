// RecordedHistory: a complete history in memory, for check-history. It consists of flat arrays, so
// that millions of transactions fit into memory. It contains exactly what was recorded, and does
// not check it.
//
// An item is the unit that has versions: one column group of the row with a given key in a table.
// An item's writes, sorted by version, are its chain. An item does not exist before the first write
// of its chain. Thread safety: plain values; one thread builds a history, and then all threads may
// read it.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "elider/key.h"

namespace elider::check {

enum class OperationKind : uint8_t { kRead, kReadAbsent, kWrite, kRemove, kAdd };

inline bool is_write(OperationKind kind) { return kind >= OperationKind::kWrite; }

struct RecordedOperation {
  Key key = 0;
  uint64_t version = 0;
  uint32_t table = 0;
  uint16_t group = 0;
  OperationKind kind = OperationKind::kRead;
};

struct RecordedRow {
  Key key = 0;
  uint64_t version = 0;  // version of column group 0, or of the group in the row's recorded read; 0: the transaction's own write
};

struct RecordedScan {
  KeyRange range;
  uint64_t rows_begin = 0;  // position in RecordedHistory::rows
  uint32_t rows_count = 0;
  uint32_t table = 0;
  bool reverse = false;
};

// An entry of a secondary index. Entries are ordered by value, and then by key.
struct IndexEntry {
  uint64_t value = 0;
  Key key = 0;
  friend auto operator<=>(const IndexEntry&, const IndexEntry&) = default;
};

// A scan of a secondary index.
struct RecordedIndexScan {
  IndexEntry first, last;   // inclusive
  uint64_t rows_begin = 0;  // position in RecordedHistory::index_rows
  uint32_t rows_count = 0;
  uint32_t table = 0;
  uint32_t index = 0;
  bool reverse = false;
  bool stopped = false;  // the scan was stopped, so the range that it covered ends at its last row
};

// The value that a row has in a secondary index after a commit.
struct RecordedIndexValue {
  IndexEntry entry;
  uint32_t table = 0;
  uint32_t index = 0;
};

struct RecordedTransaction {
  uint64_t session = 0;
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  uint64_t snapshot = 0;
  uint64_t order = 0;
  uint64_t operations_begin = 0;  // position in RecordedHistory::operations
  uint64_t scans_begin = 0;       // position in RecordedHistory::scans
  uint64_t index_scans_begin = 0;   // positions in the arrays of the same names
  uint64_t index_values_begin = 0;
  uint64_t line = 0;              // line in the file, from 1
  uint32_t operations_count = 0;
  uint32_t scans_count = 0;
  uint32_t index_scans_count = 0;
  uint32_t index_values_count = 0;
  uint32_t attempt = 1;
  uint32_t procedure = 0;  // position in RecordedHistory::procedures
  bool committed = false;
  bool read_only = false;
};

struct RecordedTable {
  std::string name;
  uint32_t groups = 1;  // number of column groups
  // All byte keys and ends of ranges that occur in the history, in ascending order. The number 2 *
  // i + 1 represents the i-th of them, and 2 * i the end of a range that ends before the i-th.
  // Empty if the table has number keys.
  std::vector<std::string> byte_keys;
};

// Returns the key for messages, for example 42 or "user:0000001".
std::string key_text(const RecordedTable& table, Key key);

struct RecordedHistory {
  std::vector<RecordedTable> tables;    // indexed by table
  std::vector<std::string> procedures;  // names
  std::vector<RecordedTransaction> transactions;
  std::vector<RecordedOperation> operations;
  std::vector<RecordedScan> scans;
  std::vector<RecordedRow> rows;
  std::vector<RecordedIndexScan> index_scans;
  std::vector<IndexEntry> index_rows;
  std::vector<RecordedIndexValue> index_values;
  uint64_t committed = 0;
};

// Builds a history one transaction at a time, for the loader and for tests.
class HistoryBuilder {
 public:
  uint32_t table(std::string name, uint32_t groups = 1);
  uint32_t procedure(const std::string& name);
  // Begins a transaction, to which the following operations belong.
  void transaction(RecordedTransaction transaction);
  void operation(OperationKind kind, uint32_t table, uint16_t group, Key key, uint64_t version);
  void scan(uint32_t table, KeyRange range, bool reverse);
  void row(Key key, uint64_t version);  // belongs to the last scan
  void index_scan(uint32_t table, uint32_t index, IndexEntry first, IndexEntry last, bool reverse, bool stopped);
  void index_row(IndexEntry entry);  // belongs to the last index scan
  void index_value(uint32_t table, uint32_t index, IndexEntry entry);

  RecordedHistory& history() { return history_; }

 private:
  RecordedHistory history_;
};

}  // namespace elider::check
