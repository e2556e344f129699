// DataFolder: a database's files: recovers them when it is opened, then owns the log that commits
// append to and the checkpoints that make the log short again.
//
// Thread safety: open() before all else; log_table() under the catalog's lock; checkpoint() and
// backup() by all; the log's own otherwise.
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
  // Brings everything committed to the disk and puts down where the log ends, unless it has failed.
  // No transaction is running.
  ~DataFolder();
  void close();

  // Nothing without Options::data_folders. *may_skip: it failed for the checkpoint,
  // and there is an older one.
  Status open(RecoveryTarget& target, txn::Store& store, const OpenHow& how, bool* may_skip);
  // Before the table can be used: what is written to it has the same number or a later one.
  Status log_table(uint32_t id, const Schema& schema);
  const Recovery& recovery() const { return recovery_; }

  // As Database's.
  Status checkpoint();
  Status backup(RecoveryTarget& target, const Options& options, const std::string& folder);
  // Whether who runs transactions is to call checkpoint(); only where one thread does.
  bool checkpoint_due() const { return checkpoints_ != nullptr && checkpoints_->due(); }
  Statistics::Checkpoints checkpoint_facts() const { return checkpoints_ == nullptr ? Statistics::Checkpoints() : checkpoints_->facts(); }

  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;

 private:
  // The database's snapshot number, as the log sees it.
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
