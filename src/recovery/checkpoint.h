// Checkpoints: writes all rows of a database to files while transactions run. A checkpoint is taken
// on request, periodically, or when the log has grown by a certain amount. A backup is a checkpoint
// in a separate folder.
//
// A checkpoint contains the rows of one snapshot, that is, all commits up to the snapshot's number.
// Recovery reads the later commits from the log (docs/durability.md). Rows are streamed, so each
// thread has only one block in memory. A checkpoint becomes valid when the manifest lists it. This
// happens after its files were synced and the log is durable up to its number. If taking a
// checkpoint fails earlier, the older checkpoints and the log remain valid.
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
#include "txn/catalog.h"
#include "txn/store.h"

namespace elider::recovery {

// The database whose rows a checkpoint writes.
struct CheckpointSource {
  txn::Catalog& catalog;
  txn::Store& store;
  bool one_thread = false;  // only the thread that runs transactions may read rows

  uint32_t threads() const { return one_thread ? 1 : store.options.checkpoint_threads; }
};

// Returns the schema that a checkpoint must store for a table. `version` is the table's version as
// of the snapshot.
using SchemaOfTable = std::function<const Schema&(const AnyTable& table, const storage::SchemaVersions::Version& version)>;

// Writes the rows of one snapshot to the parts of a checkpoint. Each object can be used only once.
class CheckpointWriter {
 public:
  struct How {
    std::vector<io::Folder*> folders;  // part i is written to folders[i % folders.size()]
    log::DatabaseId database{};
    uint32_t threads = 1;
    uint64_t bytes_per_second = 0;     // 0: no limit
    const std::atomic<bool>* stop = nullptr;
  };
  explicit CheckpointWriter(How how) : how_(std::move(how)) {}

  // Writes all rows and syncs the files, but does not sync the folders. Ends the snapshot as soon
  // as all rows have been read. kFinished: *stop was set.
  Status write(std::unique_ptr<SnapshotRows> rows, const SchemaOfTable& schema_of);
  // Removes the files that were written. Ignores errors, because the next checkpoint or opening
  // removes files that remain.
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

// After a checkpoint of the given size, the next one should be taken when the log has grown by the
// returned number of bytes. Recovering this much log takes about as long as loading the checkpoint,
// because a byte of log takes as long as four bytes of a checkpoint.
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

// Each opening of the database creates a generation of the log. Its files, at least one per stream,
// and its entry in the manifest remain until a checkpoint covers the generation. So a checkpoint is
// taken when this many generations exist, even if they are small.
inline constexpr size_t kGenerationsWanted = 16;
// Processes may repeatedly end before they have taken that checkpoint. If this many generations
// exist, Database::open() takes a checkpoint before it returns.
inline constexpr size_t kGenerationsMax = 64;

class Checkpoints {
 public:
  // Starts a thread that takes checkpoints in the background if the store's options request them.
  // If only one thread may read rows (CheckpointSource::one_thread), that thread only sets due().
  Checkpoints(const CheckpointSource& source, log::Directory& directory, log::Log& log, SchemaOfTable schema_of,
              const FoundInFolders& found);
  ~Checkpoints();  // cancels a checkpoint that is being taken

  Status take();
  // Takes a checkpoint without a rate limit if the folders contained at least kGenerationsMax
  // generations. Called by Database::open(). A failure is reported only in the statistics.
  void take_at_opening();
  // Returns true if a checkpoint is due in a single-threaded engine. The thread that runs
  // transactions must then call take().
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

  const CheckpointSource source_;
  const Options& options_;
  log::Directory& directory_;
  log::Log& log_;
  const SchemaOfTable schema_of_;
  const FoundInFolders found_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> due_{false};

  std::mutex taking_mutex_;    // held while a checkpoint is taken; guards directory_; acquired before mutex_
  mutable std::mutex mutex_;   // guards the members below; a leaf lock
  std::condition_variable wake_;
  Statistics::Checkpoints facts_;
  uint64_t log_bytes_at_last_ = 0;  // bytes of log when the last checkpoint started
  uint64_t last_ns_ = 0;            // when the last checkpoint started
  uint64_t not_before_ns_ = 0;      // the earliest time of the next attempt after a failure

  std::thread thread_;
};

// Implements Database::backup(), which describes the effect and the errors.
Status back_up(const CheckpointSource& source, io::FileSystem& files, const std::string& folder, const SchemaOfTable& schema_of);

}  // namespace elider::recovery
