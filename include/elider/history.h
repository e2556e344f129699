// History: every transaction's reads and writes, for checkers of serializability.
//
// A database opened with Options::history gives each ended transaction to the sink. Versions are
// numbers that rise with every write of a key, across removal and insertion; kind kAbsent says that
// the key had no row. Commit order: transactions sorted by (snapshot, read-only last, order) are a
// serial order of what the engine did; docs/isolation.md says why.
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
  uint32_t table = 0;       // position in HistorySink::on_table calls
  uint32_t group = 0;       // commit group
  Key key = 0;              // of a scan: unused
  uint64_t version = 0;     // read, or written; 0: absent, and the engine has no row block for the key; unused for index kinds
  // A scan: the range that was covered (shortened where a limit or the visitor ended it)
  // and the rows that were returned, each with the version of the first commit group
  // read (own writes: version 0).
  KeyRange range;
  bool reverse = false;
  std::vector<std::pair<Key, uint64_t>> rows;
  // A scan through a secondary index: the range of positions from (range.first, first_key) to
  // (range.last, last_key), both included, and in `rows` the value and the primary key of each row
  // that was returned. The columns that it read come as reads of their own. If a limit or the
  // visitor stopped it, what was covered ends at the last of the rows.
  uint32_t index = 0;       // position among the table's secondary indexes
  Key first_key = 0;
  Key last_key = kKeyMax;
  bool stopped = false;
  uint64_t value = 0;       // kIndexValue: what the row has in this index from this commit on
};

struct HistoryTransaction {
  uint64_t worker = 0;    // which ran it: of one worker, one after the other
  uint64_t begin_ns = 0;  // steady clock; begin of the attempt
  uint64_t end_ns = 0;    // when it answers, after its commit or rollback
  bool committed = false;
  bool read_only = false;
  Cause cause = Cause::kNone;
  SnapshotNumber snapshot = 0;  // its number; of a read-only one: what it read
  uint64_t order = 0;     // among commits of one snapshot number
  uint32_t attempt = 1;
  std::string procedure;
  std::vector<HistoryOperation> operations;  // reads first seen in order, then writes
};

class HistorySink {
 public:
  virtual ~HistorySink() = default;
  // Before any operation on the table; `position` counts from 0. Called by one thread at a
  // time, within create_table, before the table can be found; it may look into the
  // catalog, but not create a table.
  virtual void on_table(uint32_t position, const Schema& schema) = 0;
  // Called by all threads at once. The transaction has ended: what this throws is dropped, and so
  // is the record of a transaction for which the process has no memory.
  virtual void on_transaction(const HistoryTransaction& transaction) = 0;
};

}  // namespace elider
