// Checkpoints: writes all rows of a database to files while transactions run. A checkpoint is taken
// on request, after an amount of log, or periodically. A backup is a checkpoint in a folder of its
// own.
//
// A checkpoint is a snapshot: it holds the commits up to its number, and recovery reads the later
// ones from the log (docs/durability.md). Rows are streamed: one block per thread is in memory. The
// checkpoint counts once the manifest names it. That happens after all of it is synced and the log
// is durable up to its number; an earlier failure leaves everything as it was.
//
// Thread safety: all.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "elider/snapshot_number.h"
#include "elider/statistics.h"
#include "log/checkpoint_file.h"
#include "log/directory.h"
#include "log/log.h"
#include "recovery/snapshot_rows.h"

namespace elider::recovery {

class RecoveryTarget;

// The table's schema as the files must have it.
using SchemaOfTable = std::function<const Schema&(const TableBase& table)>;

// Writes a snapshot's rows into parts. For one use.
class CheckpointWriter {
 public:
  struct How {
    std::vector<io::Folder*> folders;  // part i goes to folder i modulo their count
    log::DatabaseId database{};
    uint32_t threads = 1;
    uint64_t bytes_per_second = 0;     // 0: no limit
    const std::atomic<bool>* stop = nullptr;
  };
  explicit CheckpointWriter(How how) : how_(std::move(how)) {}

  // Writes all rows and syncs the files, but not their names in the folders. Ends the snapshot as
  // soon as it has been read. kFinished: *stop was set.
  Status write(std::unique_ptr<SnapshotRows> rows, const SchemaOfTable& schema_of);
  // Removes what was written, as far as the disk permits.
  void remove();

  log::Checkpoint checkpoint() const { return {number_, next_part_.load()}; }
  uint64_t rows() const { return rows_.load(); }
  uint64_t bytes() const { return bytes_.load(); }

 private:
  Status begin_part(std::unique_ptr<log::PartWriter>* part);
  Status end_part(std::unique_ptr<log::PartWriter>* part);
  Status write_tables(const SnapshotRows& rows, const SchemaOfTable& schema_of, log::PartWriter& part);
  Status write_rows(SnapshotRows& rows, std::unique_ptr<log::PartWriter>* part);
  Status pace(size_t bytes);

  const How how_;
  SnapshotNumber number_ = 0;
  uint64_t begin_ns_ = 0;
  std::atomic<uint32_t> next_part_{0};
  std::atomic<uint64_t> paced_bytes_{0};
  std::atomic<uint64_t> rows_{0}, bytes_{0};
  std::atomic<bool> failed_{false};
};

// How much log may be written after a checkpoint of this size before the next one. This log takes
// about as long to recover as the checkpoint, since a byte of log takes as long as four bytes of a
// checkpoint.
inline uint64_t automatic_log_limit(uint64_t checkpoint_bytes) {
  constexpr uint64_t kLeast = 64u << 20;  // avoids frequent checkpoints of a small database
  return std::max(kLeast, checkpoint_bytes / 4);
}

// What the data folders held when the database was opened.
struct FoundInFolders {
  uint64_t log_bytes = 0;
  uint64_t checkpoint_bytes = 0;  // of the newest checkpoint
  size_t generations = 0;         // of the log, that the newest checkpoint does not cover
};

// Each opening leaves a generation of the log, with a file for each stream and a line in the
// manifest, until a checkpoint covers it. So this many cause a checkpoint, however small they are.
inline constexpr size_t kGenerationsWanted = 16;
// A process may end before it has taken one. If this many exist, opening itself takes a checkpoint.
inline constexpr size_t kGenerationsMax = 64;

class Checkpoints {
 public:
  // Takes checkpoints by itself, according to the options. A single-threaded engine must check
  // due() instead.
  Checkpoints(RecoveryTarget& target, const Options& options, log::Directory& directory, log::Log& log, SchemaOfTable schema_of,
              const FoundInFolders& found);
  ~Checkpoints();  // one that is being taken is given up

  Status take();
  // Takes a checkpoint, as fast as possible, if the folders held kGenerationsMax: open() waits for
  // it. A failure is reported in the statistics.
  void take_at_opening();
  // A checkpoint is due; a thread that runs transactions must take it.
  bool due() const { return due_.load(std::memory_order_relaxed); }  // relaxed: a hint
  Statistics::Checkpoints facts() const;

  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

 private:
  void run();
  bool wanted();
  uint64_t log_bytes_allowed() const;
  Status take_at(uint64_t bytes_per_second);  // 0: no limit
  Status take_one(uint64_t bytes_per_second);
  Status write_and_publish(CheckpointWriter& writer, log::Published* published);

  RecoveryTarget& target_;
  const Options& options_;
  log::Directory& directory_;
  log::Log& log_;
  const SchemaOfTable schema_of_;
  const FoundInFolders found_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> due_{false};

  std::mutex taking_mutex_;    // one at a time, and guards directory_; before mutex_
  mutable std::mutex mutex_;   // guards what follows; a leaf lock
  std::condition_variable wake_;
  Statistics::Checkpoints facts_;
  uint64_t log_bytes_at_last_ = 0;  // that had been written when the last one was begun
  uint64_t last_ns_ = 0;            // when that was
  uint64_t not_before_ns_ = 0;      // after a failure

  std::thread thread_;
};

// Writes a backup into `folder`, as described at Database::backup.
Status back_up(RecoveryTarget& target, io::FileSystem& files, const std::string& folder, const Options& options,
               const SchemaOfTable& schema_of);

}  // namespace elider::recovery
