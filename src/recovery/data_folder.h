// DataFolder: a database's files. It recovers them when the database is opened, then owns the log
// that commits append to, and the checkpoints that shorten the log.
//
// Thread safety: open() before all others; log_table() under the catalog's lock; checkpoint() and
// backup() from any thread; the log's own otherwise.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "elider/database.h"
#include "elider/snapshot_number.h"
#include "recovery/checkpoint.h"
#include "recovery/recovery_target.h"
#include "log/directory.h"
#include "log/log.h"
#include "txn/store.h"

namespace elider::recovery {

class DataFolder {
 public:
  DataFolder() = default;
  // Makes everything committed durable and records where the log ends, unless the log has failed.
  // No transaction may be running.
  ~DataFolder();
  void close();

  // Does nothing without Options::data_folders. *may_skip: the checkpoint caused the failure, and
  // an older one exists.
  Status open(RecoveryTarget& target, txn::Store& store, const OpenHow& how, bool* may_skip);
  // Called before the table can be used: its rows get the same number or a later one.
  Status log_table(uint32_t id, const Schema& schema);
  const Recovery& recovery() const { return recovery_; }

  // As in Database.
  Status checkpoint();
  Status backup(RecoveryTarget& target, const Options& options, const std::string& folder);
  // Whether a thread that runs transactions must call checkpoint(); only in a single-threaded
  // engine.
  bool checkpoint_due() const { return checkpoints_ != nullptr && checkpoints_->due(); }
  Statistics::Checkpoints checkpoint_facts() const { return checkpoints_ == nullptr ? Statistics::Checkpoints() : checkpoints_->facts(); }

  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;

 private:
  // The database's snapshot number, for the log.
  class Numbers final : public log::NumberSource {
   public:
    explicit Numbers(storage::Snapshots& snapshots) : snapshots_(snapshots) {}
    SnapshotNumber current() const override { return snapshots_.current(); }
    SnapshotNumber advance() override { return snapshots_.advance(); }

   private:
    storage::Snapshots& snapshots_;
  };

  Status start_log(RecoveryTarget& target, txn::Store& store);
  SchemaOfTable schema_of() const;

  txn::Store* store_ = nullptr;
  Recovery recovery_;
  std::vector<Schema> schemas_;  // as the files have them, where tables are made without their indexes
  std::unique_ptr<log::Directory> directory_;
  std::unique_ptr<Numbers> numbers_;
  std::unique_ptr<log::Log> log_;
  std::unique_ptr<Checkpoints> checkpoints_;  // goes first
};

}  // namespace elider::recovery
