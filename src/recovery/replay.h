// Replay: restores tables and rows from the data folders, first from the newest checkpoint, and
// then from the log after it.
//
// The log is processed in windows, which are ranges of snapshot numbers. Windows limit the memory
// used, and a window's changes are still in the processor's caches when they are applied. First,
// several threads parse a window's pieces of the log (log::LogPiece) and partition the entries by
// key. Then several threads group the entries by row (changed_rows.h) and apply them. All entries
// with smaller numbers are in earlier windows, so for each column group of a row it suffices to
// sort the window's entries by version number. A piece whose numbers are in several windows is read
// once per window. Secondary indexes are built last, from the rows.
//
// Replay needs memory for one piece per thread, and for at most two copies of a window's entries,
// with 40 more bytes for each entry. It needs more only if the records with the same number are
// larger than a window.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "elider/options.h"
#include "log/checkpoint_file.h"
#include "log/directory.h"
#include "recovery/row_loader.h"
#include "txn/catalog.h"
#include "txn/log_entry.h"
#include "txn/table_record.h"

namespace elider::recovery {

class Replay {
 public:
  struct How {
    bool one_thread = false;       // because the indexes do not support several threads
    size_t skipped = 0;            // how many of the newest checkpoints are damaged and must be skipped
    bool read_only = false;        // the files are not changed
    bool without_indexes = false;  // for tools, which lack key functions: tables are created without secondary indexes
  };
  // Creates the tables in `catalog`. Its threads borrow workers.
  Replay(txn::Catalog& catalog, Workers& workers, log::Directory& directory, const Options& options, const How& how);

  // Restores all tables and rows.
  //   kCorrupt         a file or a record is malformed
  //   kSchemaMismatch  see Options::schemas
  Status run(Recovery* report);
  // Returns true if run() failed because the checkpoint is damaged, and an older checkpoint exists.
  bool may_skip() const { return may_skip_; }
  // Returns the schemas in the files, by table id.
  const std::vector<Schema>& schemas() const { return schemas_; }

 private:
  struct Described {
    txn::TableRecord record;
    std::string where;
  };
  struct Window;

  Status load_checkpoint(const log::Checkpoint& checkpoint, Recovery* report);
  Status load_tables(const log::Checkpoint& checkpoint);
  Status load_part(RowLoader& loader, log::PartReader& part, uint64_t all_bytes);
  Status load_block(RowLoader& loader, const log::PartReader& part, const log::CheckpointBlock& block);
  Status bring_in_log(Recovery* report);
  Status bring_in(Window& window);
  Status parse(Window& window, uint32_t thread, const log::LogPiece& piece, io::ReadBuffer* buffer);
  Status parse_record(Window& window, uint32_t thread, const std::string& where, uint32_t generation, const log::Record& record);
  Status apply_part(Window& window, uint32_t thread, size_t part);
  Status make_tables(std::vector<Described> described);
  Status make_table(const Described& table);
  Status change_table(const Described& table);
  Status complete_tables();
  Status complete_table(uint32_t id);
  const Schema* given(const Schema& described) const;
  Status take_loaders();
  void tell(RecoveryProgress::Step step, uint64_t done, uint64_t all);

  txn::Catalog& catalog_;
  Workers& workers_;
  log::Directory& directory_;
  const Options& options_;
  const How how_;
  uint32_t threads_;               // set to 1 if there is little to recover
  bool may_skip_ = false;
  uint64_t base_ = 0;
  // Indexed by table id: the table, which is null if it has been dropped, and the contents of the
  // newest record that was found.
  std::vector<AnyTable*> tables_;
  std::vector<uint32_t> versions_;
  std::vector<Schema> schemas_;
  std::vector<std::unique_ptr<RowLoader>> loaders_;  // one per thread
  std::mutex mutex_;               // guards done_ and members of Window, and serializes progress reports
  uint64_t done_ = 0;
};

}  // namespace elider::recovery
