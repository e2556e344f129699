// Replay: makes tables and rows of what the data folders hold: the newest
// checkpoint, and the log behind it.
//
// The log is taken in windows of snapshot numbers, so that memory is bounded, and what is made of a
// window is still in the processor's caches when it is used: of each window, pieces of segments are
// parsed in several threads, and the entries, divided by key, are brought together by row
// (changed_rows.h) and laid over the rows in several threads. All entries of a row with smaller
// numbers are in earlier windows; so those of a window, by commit group in the order of their
// sequences, are all that matters. A piece whose numbers reach into several windows is read in
// each. Memory is that of a piece a thread, and of a window's entries with 40 bytes more each,
// twice that at the most; and more only where a single number has more log than a window. Secondary
// indexes are built last, from the rows.
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
#include "elider/table.h"
#include "log/checkpoint_file.h"
#include "log/directory.h"
#include "txn/log_entry.h"
#include "recovery/row_loader.h"

namespace elider::recovery {

class RecoveryTarget;

class Replay {
 public:
  struct How {
    size_t skipped = 0;            // checkpoints that were found to be damaged, the newest
    bool without_indexes = false;  // for tools, which have no key functions: tables are made without secondary indexes
  };
  Replay(RecoveryTarget& target, log::Directory& directory, const Options& options, const How& how);

  // Makes all tables and rows. kCorrupt: a file or a record makes no sense.
  // kSchemaMismatch: see Options::schemas.
  Status run(Recovery* report);
  // The failure of run() was the checkpoint's, and there is an older one.
  bool may_skip() const { return may_skip_; }
  // By table id, as the files have them.
  const std::vector<Schema>& schemas() const { return schemas_; }

 private:
  struct Described {
    uint32_t id;
    Schema schema;
    std::string where;
  };
  struct Window;

  Status load_checkpoint(const log::Checkpoint& checkpoint, Recovery* report);
  Status load_tables(const log::Checkpoint& checkpoint);
  Status load_part(RowLoader& loader, log::PartReader& part, uint64_t all_bytes);
  Status load_block(RowLoader& loader, const log::PartReader& part, const log::CheckpointBlock& block);
  Status bring_in_log(Recovery* report);
  Status bring_in(Window& window);
  Status parse(Window& window, uint32_t thread, const log::LogPiece& piece, log::ReadBuffer* buffer);
  Status parse_record(Window& window, uint32_t thread, const std::string& where, uint32_t generation, const log::Record& record);
  Status apply_part(Window& window, uint32_t thread, size_t part);
  Status make_tables(std::vector<Described> described);
  Status make_table(const Described& table);
  Status take_loaders();
  void tell(RecoveryProgress::Step step, uint64_t done, uint64_t all);

  RecoveryTarget& target_;
  log::Directory& directory_;
  const Options& options_;
  const How how_;
  uint32_t threads_;               // one, once there is found to be little to do
  bool may_skip_ = false;
  uint64_t base_ = 0;
  std::vector<TableRef> tables_;   // by id
  std::vector<Schema> schemas_;
  std::vector<std::unique_ptr<RowLoader>> loaders_;  // by thread
  std::mutex mutex_;               // guards done_, and the progress that is told
  uint64_t done_ = 0;
};

}  // namespace elider::recovery
