// DataFolder: manages the files of a database. It recovers the database when it is opened.
// Afterwards it owns the log, to which commits append, and takes checkpoints, after which older
// parts of the log are removed.
//
// Thread safety: open() must be called before all other functions, and log_table() under the
// catalog's lock. Any thread may call checkpoint() and backup(). For the log, see log/log.h.
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
  // Makes all commits durable and, unless the log has failed, records in the manifest where the log
  // ends. No transaction may be running.
  ~DataFolder();
  void close();

  // Recovers the database. Does nothing if Options::data_folders is empty. Sets *may_skip if
  // recovery failed because the checkpoint is damaged and an older one exists.
  Status open(RecoveryTarget& target, txn::Store& store, const OpenHow& how, bool* may_skip);
  // Appends the creation of a table to the log. Must be called before the table can be used, so
  // that commits to the table cannot get a smaller number than its creation.
  Status log_table(uint32_t id, const Schema& schema);
  const Recovery& recovery() const { return recovery_; }

  // See the functions of class Database with these names.
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
  std::vector<Schema> schemas_;  // the schemas stored in the files, by table id; the tables may lack their indexes
  std::unique_ptr<log::Directory> directory_;
  std::unique_ptr<Numbers> numbers_;
  std::unique_ptr<log::Log> log_;
  std::unique_ptr<Checkpoints> checkpoints_;  // destroyed first
};

}  // namespace elider::recovery
