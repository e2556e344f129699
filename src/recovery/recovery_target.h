// RecoveryTarget: what recovery and checkpoints require of the engine, which is a layer above them:
// creating tables, writing rows without transactions, reading rows as of one number. So they do
// not depend on an upper layer.
//
// Thread safety: make_loader, create_table and build_indexes while nothing else runs; the others
// from any thread.
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

// How an engine's data folders are opened.
struct OpenHow {
  std::vector<std::string> skipped;  // what is wrong with checkpoints that are left out, the newest ones
  // Set by tools, which lack key functions: tables are created without secondary indexes, and no
  // file is created.
  bool for_tools = false;
  bool read_only = false;            // nothing in the folders changes
};

class RecoveryTarget {
 public:
  virtual ~RecoveryTarget() = default;

  virtual SyncPolicy sync() const = 0;
  virtual Result<TableRef> create_table(const Schema& schema) = 0;
  // Null: all Options::workers_max workers are in use.
  virtual std::unique_ptr<RowLoader> make_loader() = 0;
  // Builds the secondary indexes of all tables from their rows. Calls progress(rows done, all
  // rows), if given.
  virtual Status build_indexes(uint32_t threads, const std::function<void(uint64_t, uint64_t)>& progress) = 0;
  // The rows that a checkpoint writes. Null: too many snapshots are being read.
  virtual std::unique_ptr<SnapshotRows> read_snapshot() = 0;
  virtual Statistics statistics() const = 0;
  // Ok, or why the rows of read_snapshot() must not be kept: a transaction remained half done.
  virtual Status half_done() const { return {}; }
};

}  // namespace elider::recovery
