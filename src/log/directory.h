// Directory: the folders that hold one database's files. It decides which manifest, checkpoints and
// generations of the log are valid.
//
// Each folder is opened once and locked twice. One lock is on the folder itself. The other is on
// its lock file, which is the lock that older programs check. Before a manifest is written, the
// path of each folder must still lead to the open folder. Otherwise a later program would not find
// the new files, so the log must end (log_failure()).
//
// Each time a database is opened, it writes a new generation of the log and does not change older
// files. The exception is the generation of a killed process, whose accepted records are synced.
// The cut of a generation is the last number that is whole in all of its streams. Records with
// larger numbers are void. The cut is determined when the generation is closed or, after a crash,
// when it is first read. The manifest stores it, so that void records cannot become valid later. A
// checkpoint is valid once the manifest names it, and only then is the log that it replaces
// removed.
//
// Thread safety: one thread at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "elider/snapshot_number.h"
#include "log/files.h"
#include "log/format.h"
#include "log/manifest_file.h"
#include "log/reader.h"

namespace elider::log {

// The result of recovery.
struct RecoveryFacts {
  SnapshotNumber last_number = 0;  // the largest number of a valid record
  SnapshotNumber closed = 0;       // the files hold all commits up to this number, even if some numbers were not used
  uint64_t frames = 0, records = 0, bytes = 0;
  uint64_t records_void = 0;  // whole records after the last number that is whole in every stream
  std::vector<CutTail> cuts;
};

// Frames of a segment that may contain valid records.
struct LogPiece {
  Folder* folder = nullptr;  // owned by the directory
  SegmentName name;
  SnapshotNumber cut = 0;  // records with larger numbers are void
  FrameRange range;
};

class Directory {
 public:
  struct Rules {
    bool create_if_missing = true;
    bool error_if_exists = false;
    Hold hold = Hold::kExclusive;  // kShared: the caller only reads, and other programs may also read meanwhile
  };
  // Opens the folders. Creates them and the manifest if neither they nor any other file exist.
  //   kNotFound          nothing exists, and `create` or Rules::create_if_missing is false
  //   kInvalidArgument   another database holds a folder, the folders are not those that the
  //                      database was created with, a database exists that should not, or there
  //                      are foreign files; the message then names one
  //   kCorrupt, kUnsupported, kIoError   the message names the file
  static Status open(FileSystem& files, const std::vector<std::string>& folders, bool create, const Rules& rules,
                     std::unique_ptr<Directory>* directory);
  // Like the other open(), without rules. If `create` is false, the directory is only read.
  static Status open(FileSystem& files, const std::vector<std::string>& folders, bool create, std::unique_ptr<Directory>* directory) {
    return open(files, folders, create, {.hold = create ? Hold::kExclusive : Hold::kShared}, directory);
  }

  // -- recovery: call these in this order; they do not change anything on the disk ----------------

  // Reads all of the log, checks whether it is whole, and finds the cut of each generation. Calls
  // progress(bytes read, all bytes), if given, from one thread at a time.
  using Progress = std::function<void(uint64_t done, uint64_t all)>;
  Status judge(uint32_t threads, const Progress& progress, RecoveryFacts* facts);
  // Return all listed segments in order, as judge() found them, and the cut of a generation.
  const std::vector<SegmentFacts>& segments() const { return segments_; }
  uint64_t cut_of(uint32_t generation) const;
  // Chooses where recovery starts. This is the newest checkpoint up to `to_number`, after skipping
  // the `skipped` newest of them. *base is empty if recovery starts from an empty database.
  //   kInvalidArgument  the files do not contain the state after that number; the message lists
  //                     those that they contain
  //   kNotFound         fewer checkpoints than `skipped` exist
  Status choose_base(SnapshotNumber to_number, size_t skipped, std::optional<Checkpoint>* base);
  // Returns the pieces with records after the base, in the order of their last numbers.
  const std::vector<LogPiece>& pieces() const { return pieces_; }
  // Calls visit(record) for each record of the piece, in order. The bytes of a record are valid
  // until the buffer is reused or destroyed. kCorrupt: the piece differs from what judge() found.
  Status read(const LogPiece& piece, ReadBuffer* buffer, const std::function<Status(const Record&)>& visit);

  // Performs all of recovery except the checkpoint. Calls visit(generation, stream, record) for
  // each valid record after the base whose number is at most `to_number`. The records of a segment
  // are visited in order.
  using Visit = std::function<Status(uint32_t generation, uint32_t stream, const Record& record)>;
  Status recover(SnapshotNumber to_number, const Visit& visit, RecoveryFacts* facts);

  // -- writing ------------------------------------------------------------------------------------

  // Must be called after choose_base(). Syncs the records that recovery accepted, writes the cuts
  // to the manifest, and creates the next generation, with `streams` streams. Records with numbers
  // above choose_base()'s `to_number` become void. Files without valid data are removed. All
  // numbers in the new generation are at least first_number().
  Status begin_generation(uint32_t streams, uint32_t* generation);
  SnapshotNumber first_number() const { return first_number_; }
  // Call this last, if the new generation's log has ended well and holds exactly the commits up to
  // this number. Records that in the manifest. From then on, if a file of the generation is shorter
  // than expected, the file is damaged, because a crash cannot be the cause. If the status is not
  // ok, the state is the same as after a crash.
  Status end_generation(SnapshotNumber closed);
  // Makes a checkpoint valid, whose files are whole and synced. Then removes all checkpoints except
  // the newest `kept`, and the log that only the removed checkpoints need. `finished` lists the
  // segments of this generation that were finished since the last call. If *published is kYes but
  // the status is not ok, some of the files to remove may remain.
  Status publish(const Checkpoint& checkpoint, uint32_t kept, const std::vector<FinishedSegment>& finished, Published* published);
  // Returns ok, or the reason why the log must end. One reason is that the sync of a folder failed.
  // Then it is unknown which names are on the disk, even if a later sync succeeds. The other reason
  // is that a folder was moved or replaced.
  const Status& log_failure() const { return log_failure_; }
  static DatabaseId new_database_id();

  const Manifest& manifest() const { return manifest_; }
  Folder& folder_of(uint32_t stream) const { return *folders_[stream % folders_.size()]; }  // also the folder of a checkpoint's part
  std::vector<Folder*> folders() const;
  FileSystem& files() { return files_; }

  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

 private:
  Directory(FileSystem& files, std::vector<std::string> paths) : files_(files), paths_(std::move(paths)), folders_(paths_.size()) {}
  Status open_folders(const std::vector<std::string>& names);
  Status make_folders(const std::vector<std::string>& names);
  Status hold_folders(Hold hold);
  Status find_database(bool makes, bool* there);
  Status load(bool create, const Rules& rules);
  Status make_manifest();
  Status refuse_files_of_ours();
  Status refuse_files_of_others();
  Status write_manifest(const Manifest& manifest, Published* published);
  Status sync(Folder& folder);
  Status check_places();
  Status check_files() const;
  Status for_each_unlisted(const std::function<Status(Folder& folder, const std::string& name)>& visit) const;
  std::string manifest_path() const;
  Status remove_unlisted();
  Status list_segments(std::vector<SegmentName>* segments) const;
  Status judge_generation(size_t position, const std::vector<SegmentFacts>& segments, RecoveryFacts* facts);
  Status check_stream(const Generation& generation, uint32_t stream, uint64_t cut, const std::vector<StreamFacts>& streams) const;
  Status make_durable(const Generation& generation);
  void drop_log(Manifest* manifest);
  bool needed(const Generation& generation) const;
  SnapshotNumber oldest_base() const;

  FileSystem& files_;
  const std::vector<std::string> paths_;           // absolute paths of the folders
  std::vector<std::unique_ptr<Folder>> folders_;   // null: the folder does not exist yet
  std::vector<std::unique_ptr<File>> lock_files_;  // one for each folder
  Manifest manifest_;
  SnapshotNumber first_number_ = 1;
  Status log_failure_;

  // The state of recovery.
  SnapshotNumber to_number_ = kNumberMax;
  uint64_t base_ = 0;
  std::vector<uint64_t> cuts_;  // indexed by position in the manifest
  std::vector<Checkpoint> damaged_;  // damaged checkpoints that were skipped. They are not valid, but are kept until the next one exists
  uint64_t closed_ = 0;
  std::vector<SegmentFacts> segments_;
  std::vector<LogPiece> judged_;  // all pieces that may contain valid records
  std::vector<LogPiece> pieces_;

  // The largest number of each finished segment, by file name. It is determined when the segment is
  // written, or read and verified. The file may be damaged later, so removals rely on this number
  // and not on the file.
  std::map<std::string, uint64_t> finished_;
};

}  // namespace elider::log
