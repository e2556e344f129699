// RecoveryTarget: what recovery and checkpoints need of the engine above them: tables made, rows
// written without transactions, rows read as of one number. So no arrow runs back up.
//
// Thread safety: make_loader, create_table and build_indexes while nothing
// else runs; the rest by all.
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
  // Null: Options::workers_max are in use.
  virtual std::unique_ptr<RowLoader> make_loader() = 0;
  // The secondary indexes of all tables, from their rows. progress(rows done, all
  // of them), if there is one.
  virtual Status build_indexes(uint32_t threads, const std::function<void(uint64_t, uint64_t)>& progress) = 0;
  // The rows that a checkpoint writes. Null: too many snapshots are being read.
  virtual std::unique_ptr<SnapshotRows> read_snapshot() = 0;
  virtual Statistics statistics() const = 0;
  // Ok, or why what read_snapshot() gives must not be kept: a transaction has stayed half done.
  virtual Status half_done() const { return {}; }
};

}  // namespace elider::recovery
