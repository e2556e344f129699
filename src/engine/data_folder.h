// DataFolder: a database's files: recovers them when it is opened, then owns the log that commits append to.
//
// Thread safety: open() before all else; log_table() under the catalog's lock; the log's own otherwise.
#pragma once

#include <memory>
#include <string>

#include "elider/database.h"
#include "log/directory.h"
#include "log/log.h"
#include "txn/store.h"

namespace elider::detail {

class Engine;

class DataFolder {
 public:
  DataFolder() = default;
  // Brings everything committed to the disk, unless the log has failed. No transaction is running.
  ~DataFolder();

  // Nothing without Options::data_folders.
  Status open(Engine& engine, txn::Store& store);
  // Before the table can be used: what is written to it has the same number or a later one.
  Status log_table(uint32_t id, const Schema& schema);
  const Recovery& recovery() const { return recovery_; }
  LogIo log_io() const { return log_io_; }  // kSystemCalls or kIoUring

  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;

 private:
  // The database's snapshot number, as the log sees it.
  class Numbers final : public log::NumberSource {
   public:
    explicit Numbers(storage::Snapshots& snapshots) : snapshots_(snapshots) {}
    uint64_t current() const override { return snapshots_.current(); }
    uint64_t advance() override { return snapshots_.advance(); }

   private:
    storage::Snapshots& snapshots_;
  };

  Status choose_files(LogIo io);
  Status recover(Engine& engine, const txn::Store& store);
  Status start_log(txn::Store& store);

  txn::Store* store_ = nullptr;
  log::FileSystem* files_ = nullptr;  // that the log is written to
  LogIo log_io_ = LogIo::kSystemCalls;
  Recovery recovery_;
  std::unique_ptr<log::Directory> directory_;
  std::unique_ptr<Numbers> numbers_;
  std::unique_ptr<log::Log> log_;
};

}  // namespace elider::detail
