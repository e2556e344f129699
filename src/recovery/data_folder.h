// DataFolder: the files of a database. It recovers the database when it is opened. Afterwards it
// owns the log, to which commits append, and the checkpoints, which shorten the log.
//
// Thread safety: open() must be called before all other functions, and log_table() under the
// catalog's lock. Any thread may call checkpoint() and backup(). The log has its own rules.
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
  // Makes all commits durable, and records where the log ends unless the log has failed. No
  // transaction may be running.
  ~DataFolder();
  void close();

  // Recovers the database. Does nothing without Options::data_folders. If *may_skip is true, the
  // newest checkpoint caused the failure, and an older one exists.
  Status open(RecoveryTarget& target, txn::Store& store, const OpenHow& how, bool* may_skip);
  // Must be called before the table can be used, so that the table's rows get the same number or a
  // later one.
  Status log_table(uint32_t id, const Schema& schema);
  const Recovery& recovery() const { return recovery_; }

  // These are described at Database.
  Status checkpoint();
  Status backup(RecoveryTarget& target, const Options& options, const std::string& folder);
  // Returns true if a thread that runs transactions must call checkpoint(). This happens only in a
  // single-threaded engine.
  bool checkpoint_due() const { return checkpoints_ != nullptr && checkpoints_->due(); }
  Statistics::Checkpoints checkpoint_facts() const { return checkpoints_ == nullptr ? Statistics::Checkpoints() : checkpoints_->facts(); }

  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;

 private:
  // Gives the log access to the database's snapshot number.
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
  std::vector<Schema> schemas_;  // the schemas in the files, for tables that are created without their indexes
  std::unique_ptr<log::Directory> directory_;
  std::unique_ptr<Numbers> numbers_;
  std::unique_ptr<log::Log> log_;
  std::unique_ptr<Checkpoints> checkpoints_;  // destroyed first
};

}  // namespace elider::recovery
