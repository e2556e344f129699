// Checkpoints: write all rows of a database to files while transactions run. A checkpoint is taken
// on request, after a certain amount of log, or periodically. A backup is a checkpoint in a
// separate folder.
//
// A checkpoint is a snapshot. It holds the commits up to its number, and recovery reads the later
// commits from the log (docs/durability.md). Rows are streamed, so only one block per thread is in
// memory. The checkpoint is valid once the manifest names it. That happens after all of the
// checkpoint is synced and the log is durable up to the checkpoint's number. An earlier failure
// leaves everything as it was.
//
// Thread safety: all threads may call all functions.
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

// Returns the schema of the table that the files must contain.
using SchemaOfTable = std::function<const Schema&(const TableBase& table)>;

// Writes the rows of one snapshot into parts. Use each object once.
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
  // soon as all rows have been read. kFinished: *stop was set.
  Status write(std::unique_ptr<SnapshotRows> rows, const SchemaOfTable& schema_of);
  // Removes the files that were written, as far as the disk permits.
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

// Returns how much log may be written after a checkpoint of this size before the next checkpoint.
// This amount of log takes about as long to recover as the checkpoint, because a byte of log takes
// as long as four bytes of a checkpoint.
inline uint64_t automatic_log_limit(uint64_t checkpoint_bytes) {
  constexpr uint64_t kLeast = 64u << 20;  // avoids frequent checkpoints of a small database
  return std::max(kLeast, checkpoint_bytes / 4);
}

// The contents of the data folders when the database was opened.
struct FoundInFolders {
  uint64_t log_bytes = 0;
  uint64_t checkpoint_bytes = 0;  // of the newest checkpoint
  size_t generations = 0;         // generations of the log that the newest checkpoint does not cover
};

// Each opening of the database creates a generation of the log, which has a file for each stream
// and an entry in the manifest until a checkpoint covers it. So a checkpoint is taken when this
// many generations exist, however small they are.
inline constexpr size_t kGenerationsWanted = 16;
// A process may end before it has taken that checkpoint. If this many generations exist, the
// opening of the database takes a checkpoint.
inline constexpr size_t kGenerationsMax = 64;

class Checkpoints {
 public:
  // Takes checkpoints in the background, according to the options. A single-threaded engine must
  // check due() instead.
  Checkpoints(RecoveryTarget& target, const Options& options, log::Directory& directory, log::Log& log, SchemaOfTable schema_of,
              const FoundInFolders& found);
  ~Checkpoints();  // gives up a checkpoint that is being taken

  Status take();
  // Takes a checkpoint, as fast as possible, if the folders held kGenerationsMax generations.
  // Database::open() waits for it. The statistics report a failure.
  void take_at_opening();
  // Returns true if a checkpoint is due that a thread that runs transactions must take.
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

  std::mutex taking_mutex_;    // held while a checkpoint is taken; guards directory_; acquired before mutex_
  mutable std::mutex mutex_;   // guards the following; a leaf lock
  std::condition_variable wake_;
  Statistics::Checkpoints facts_;
  uint64_t log_bytes_at_last_ = 0;  // bytes of log at the start of the last checkpoint
  uint64_t last_ns_ = 0;            // the time of that start
  uint64_t not_before_ns_ = 0;      // the earliest time of the next attempt after a failure

  std::thread thread_;
};

// Writes a backup into `folder`, as Database::backup() describes.
Status back_up(RecoveryTarget& target, io::FileSystem& files, const std::string& folder, const Options& options,
               const SchemaOfTable& schema_of);

}  // namespace elider::recovery
