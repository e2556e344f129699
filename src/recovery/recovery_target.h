// RecoveryTarget: the interface of the engine for recovery and checkpoints. The engine is a layer
// above them, so this interface keeps them independent of it. Through the interface they create
// tables, write rows without transactions, and read rows as of one number.
//
// Thread safety: make_loader(), create_table() and build_indexes() may be called only while nothing
// else runs. Any thread may call the other functions.
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
  std::vector<std::string> skipped;  // the reasons why the newest checkpoints are skipped, one for each
  // Set by tools, which lack key functions. Tables are then created without secondary indexes, and
  // no file is created.
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
  // Builds the secondary indexes of all tables from the rows. Calls progress(rows done, all rows),
  // if given.
  virtual Status build_indexes(uint32_t threads, const std::function<void(uint64_t, uint64_t)>& progress) = 0;
  // Returns the rows that a checkpoint writes, or null if too many snapshots are being read.
  virtual std::unique_ptr<SnapshotRows> read_snapshot() = 0;
  virtual Statistics statistics() const = 0;
  // Returns ok, or the reason why the rows of read_snapshot() must not be kept, which is that a
  // transaction remained half done.
  virtual Status half_done() const { return {}; }
};

}  // namespace elider::recovery
