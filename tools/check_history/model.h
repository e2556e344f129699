// RecordedHistory: a whole history in memory, as check-history works on it: flat arrays, so that a
// million transactions fit. It is only what was recorded; nothing here judges it.
//
// Words: an item is one commit group of one key of one table: what has versions. An item's writes,
// sorted by version, are its chain. Before the first write of its chain an item is absent.
// Thread safety: plain values; one thread builds one, then all may read it.
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
  uint64_t version = 0;  // of commit group 0, or of another that a read beside it names; 0: the transaction's own write
};

struct RecordedScan {
  KeyRange range;
  uint64_t rows_begin = 0;  // into RecordedHistory::rows
  uint32_t rows_count = 0;
  uint32_t table = 0;
  bool reverse = false;
};

// A row in the order of a secondary index.
struct IndexEntry {
  uint64_t value = 0;
  Key key = 0;
  friend auto operator<=>(const IndexEntry&, const IndexEntry&) = default;
};

// A scan through a secondary index.
struct RecordedIndexScan {
  IndexEntry first, last;   // both included
  uint64_t rows_begin = 0;  // into RecordedHistory::index_rows
  uint32_t rows_count = 0;
  uint32_t table = 0;
  uint32_t index = 0;
  bool reverse = false;
  bool stopped = false;  // it ends at its last row
};

// What a row has in a secondary index from a commit on.
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
  uint64_t operations_begin = 0;  // into RecordedHistory::operations
  uint64_t scans_begin = 0;       // into RecordedHistory::scans
  uint64_t index_scans_begin = 0;   // and so on
  uint64_t index_values_begin = 0;
  uint64_t line = 0;              // in the file, from 1
  uint32_t operations_count = 0;
  uint32_t scans_count = 0;
  uint32_t index_scans_count = 0;
  uint32_t index_values_count = 0;
  uint32_t attempt = 1;
  uint32_t procedure = 0;  // into RecordedHistory::procedures
  bool committed = false;
  bool read_only = false;
};

struct RecordedTable {
  std::string name;
  uint32_t groups = 1;  // commit groups
};

struct RecordedHistory {
  std::vector<RecordedTable> tables;    // by position
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

// Builds a history one transaction at a time: what the loader and the tests use.
class HistoryBuilder {
 public:
  uint32_t table(std::string name, uint32_t groups = 1);
  uint32_t procedure(const std::string& name);
  // Opens a transaction; the operations that follow are its own.
  void transaction(RecordedTransaction transaction);
  void operation(OperationKind kind, uint32_t table, uint16_t group, Key key, uint64_t version);
  void scan(uint32_t table, KeyRange range, bool reverse);
  void row(Key key, uint64_t version);  // of the scan opened last
  void index_scan(uint32_t table, uint32_t index, IndexEntry first, IndexEntry last, bool reverse, bool stopped);
  void index_row(IndexEntry entry);  // of the index scan opened last
  void index_value(uint32_t table, uint32_t index, IndexEntry entry);

  RecordedHistory& history() { return history_; }

 private:
  RecordedHistory history_;
};

}  // namespace elider::check
