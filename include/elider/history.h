// History: a record of the reads and writes of all transactions, for checkers of serializability.
//
// A database opened with Options::history passes every transaction to the HistorySink when the
// transaction ends. The versions of a key are numbers that increase with every write, including
// removals and insertions. kReadAbsent means that the key did not exist. Sorting the transactions
// by (snapshot, read-only last, order) gives a serial order; docs/isolation.md explains why.
#pragma once

#include "elider/language.h"

#include <cstdint>
#include <string>
#include <vector>

#include "elider/key.h"
#include "elider/snapshot_number.h"
#include "elider/status.h"
#include "elider/table.h"

namespace elider {

struct HistoryOperation {
  enum class Kind : uint8_t { kRead, kReadAbsent, kWrite, kRemove, kAdd, kScan, kIndexScan, kIndexValue };
  Kind kind = Kind::kRead;
  uint32_t table = 0;       // the position given to HistorySink::on_table
  uint32_t group = 0;       // column group
  Key key = 0;              // unused for scans
  uint64_t version = 0;     // the version read or written; 0 if an absent key does not have a stored version; unused for index kinds
  // The range that a scan by key covered, which is shorter than the requested range if a limit or
  // the visitor ended the scan. `rows` contains the key of each returned row, and the version of
  // the first column group that was read (0 for the transaction's own writes).
  KeyRange range;
  bool reverse = false;
  std::vector<std::pair<Key, uint64_t>> rows;
  // A scan of a secondary index covered the positions from (range.first, first_key) to (range.last,
  // last_key) inclusive; `rows` contains the value and the primary key of each returned row. The
  // columns that the scan read are recorded as separate reads. If a limit or the visitor stopped
  // the scan, the covered range ends at the last row.
  uint32_t index = 0;       // position among the table's secondary indexes
  Key first_key = 0;
  Key last_key = kKeyMax;
  bool stopped = false;
  uint64_t value = 0;       // for kIndexValue: the row's value in this index as of this commit

  // If the table has byte keys, these members replace the number keys above:
  // - key_bytes replaces `key`.
  // - A scan covers the keys from key_bytes up to, but not including, end_bytes. If to_end is true,
  //   it covers all keys from key_bytes on.
  // - A scan through a secondary index covers the positions from (range.first, key_bytes) up to,
  //   but not including, (range.last, end_bytes). If to_end is true, it includes all rows of
  //   range.last.
  // - row_keys contains the key of each element of `rows`.
  std::string key_bytes;
  std::string end_bytes;
  bool to_end = false;
  std::vector<std::string> row_keys;
};

struct HistoryTransaction {
  uint64_t worker = 0;    // the worker that ran the transaction; a worker runs one transaction at a time
  uint64_t begin_ns = 0;  // start of the attempt, on the steady clock
  uint64_t end_ns = 0;    // end of the attempt, after its commit or rollback
  bool committed = false;
  bool read_only = false;
  Cause cause = Cause::kNone;
  SnapshotNumber snapshot = 0;  // the commit's number; for a read-only transaction, the snapshot that it read
  uint64_t order = 0;     // position among the commits with the same snapshot number
  uint32_t attempt = 1;
  std::string procedure;
  std::vector<HistoryOperation> operations;  // first reads in order, then writes
};

class HistorySink {
 public:
  virtual ~HistorySink() = default;
  // Called before the first operation on a table. `position` is the table's number, counted from 0.
  // The engine calls on_table() from one thread at a time, within create_table(), before other
  // threads can find the table. on_table() may read the catalog, but must not create a table.
  virtual void on_table(uint32_t position, const Schema& schema) = 0;
  // Called from all threads concurrently, after the transaction has ended. Exceptions are ignored.
  // If the process runs out of memory, the record of a transaction may be dropped.
  virtual void on_transaction(const HistoryTransaction& transaction) = 0;
};

}  // namespace elider
