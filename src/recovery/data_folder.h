// DataFolder: manages the files of a database. open() recovers the database. Afterwards the
// DataFolder owns the log, takes checkpoints, and removes the parts of the log that a checkpoint
// has made unnecessary.
//
// Thread safety: open() must be called before all other functions. Any thread may call checkpoint()
// and backup(). For the log, see log/log.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "elider/database.h"
#include "elider/snapshot_number.h"
#include "log/directory.h"
#include "log/log.h"
#include "recovery/checkpoint.h"
#include "recovery/open_how.h"
#include "txn/catalog.h"
#include "txn/store.h"

namespace elider::recovery {

class DataFolder {
 public:
  // `one_thread`: only the thread that runs transactions may use the rows.
  DataFolder(txn::Catalog& catalog, txn::Store& store, bool one_thread) : source_{catalog, store, one_thread} {}
  // Makes all commits durable and, unless the log has failed, records in the manifest where the log
  // ends. No transaction may be running.
  ~DataFolder();
  void close();

  // Recovers the database. Does nothing if Options::data_folders is empty. Sets *may_skip if
  // recovery failed because the checkpoint is damaged and an older one exists.
  Status open(const OpenHow& how, bool* may_skip);
  const Recovery& recovery() const { return recovery_; }

  // See the functions of class Database with these names.
  Status checkpoint();
  Status backup(const std::string& folder);
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

  Status start_log();
  SchemaOfTable schema_of() const;

  const CheckpointSource source_;
  Recovery recovery_;
  std::vector<Schema> schemas_;  // the schemas stored in the files, by table id; the tables may lack their indexes
  std::unique_ptr<log::Directory> directory_;
  std::unique_ptr<Numbers> numbers_;
  std::unique_ptr<log::Log> log_;
  std::unique_ptr<Checkpoints> checkpoints_;  // destroyed first
};

}  // namespace elider::recovery
