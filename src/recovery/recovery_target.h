// RecoveryTarget: the interface through which recovery and checkpoints create tables, write rows
// without transactions, and read the rows of a snapshot. The engine implements the interface. The
// engine is a higher layer, so recovery must not depend on it.
//
// Thread safety: make_loader(), create_table() and build_indexes() may be called only while no
// other thread uses the engine. All threads may call the other functions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "elider/statistics.h"
#include "elider/table.h"
#include "recovery/row_loader.h"
#include "recovery/snapshot_rows.h"

namespace elider::recovery {

// Describes how the data folders of an engine are opened.
struct OpenHow {
  std::vector<std::string> skipped;  // for each of the newest checkpoints that are skipped, the reason
  // Set by command-line tools, which lack the key functions of secondary indexes. Tables are then
  // created without these indexes, and files are not created.
  bool for_tools = false;
  bool read_only = false;            // the files are not changed
};

class RecoveryTarget {
 public:
  virtual ~RecoveryTarget() = default;

  virtual SyncPolicy sync() const = 0;
  virtual Result<TableRef> create_table(const Schema& schema) = 0;
  // Returns null if all Options::workers_max workers are in use.
  virtual std::unique_ptr<RowLoader> make_loader() = 0;
  // Builds the secondary indexes of all tables from the rows. Calls progress(rows done, total
  // rows), if given.
  virtual Status build_indexes(uint32_t threads, const std::function<void(uint64_t, uint64_t)>& progress) = 0;
  // Begins to read a snapshot, whose rows a checkpoint writes. Returns null if all
  // Options::workers_max workers are in use.
  virtual std::unique_ptr<SnapshotRows> read_snapshot() = 0;
  virtual Statistics statistics() const = 0;
  // Returns an error if the database has stopped because a chopped procedure failed after some of
  // its pieces had committed. Then the rows of read_snapshot() must not be used for a backup.
  virtual Status half_done() const { return {}; }
};

}  // namespace elider::recovery
