// Directory: manages the folders that contain a database's files. It determines which checkpoints
// and which generations of the log are valid.
//
// Each folder is opened once and locked twice: through the folder itself and through a lock file in
// it, which is the only lock that older programs check. Before a manifest is written, each folder's
// path must still lead to the open folder. Otherwise a program that opens the database later would
// not find the new files, so the log must stop (log_failure()).
//
// Each time a database is opened for writing, it starts a new generation of the log. Older files do
// not change, with one exception: if the previous process was killed, the last frames of its
// generation are written again and synced (make_durable()). The cut of a generation is the last
// number up to which all of its streams are complete. Records with larger numbers are void:
// recovery ignores them. The cut is determined when the generation is closed or, after a crash,
// when it is first recovered. It is stored in the manifest, so that void records cannot become
// valid later. A checkpoint becomes valid when the manifest lists it. The log files that the
// checkpoint replaces are removed only afterwards.
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

// What recovery found.
struct RecoveryFacts {
  SnapshotNumber last_number = 0;  // the largest number of any valid record
  SnapshotNumber closed = 0;       // the files contain all commits up to this number, which itself may be unused
  uint64_t frames = 0, records = 0, bytes = 0;
  uint64_t records_void = 0;  // intact records that are ignored, because their numbers are above their generation's cut
  std::vector<CutTail> cuts;
};

// Consecutive frames of a segment that may contain valid records. Recovery reads the log in these
// pieces.
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
    Hold hold = Hold::kExclusive;  // kShared: the caller only reads, and other programs may read at the same time
  };
  // Opens and locks a database's folders. If `create` and Rules::create_if_missing are true and the
  // database does not exist, creates the folders and the manifest.
  //   kNotFound          the database does not exist, and `create` or Rules::create_if_missing is
  //                      false
  //   kInvalidArgument   a folder is locked, the database was created with another number of
  //                      folders, a folder contains foreign files or files of another database
  //                      (the message names one of them), or the database exists although
  //                      Rules::error_if_exists is true
  //   kCorrupt, kUnsupported, kIoError   the message names the file
  static Status open(FileSystem& files, const std::vector<std::string>& folders, bool create, const Rules& rules,
                     std::unique_ptr<Directory>* directory);
  // Like the other open(), but with the default rules. If `create` is false, the folders are only
  // read, and the locks are shared.
  static Status open(FileSystem& files, const std::vector<std::string>& folders, bool create, std::unique_ptr<Directory>* directory) {
    return open(files, folders, create, {.hold = create ? Hold::kExclusive : Hold::kShared}, directory);
  }

  // -- recovery: call these in this order; they do not change anything on the disk ----------------

  // Reads the complete log with `threads` threads, checks it for damage, and determines the cut of
  // each generation. Calls progress(bytes read, total bytes), if given, from one thread at a time.
  using Progress = std::function<void(uint64_t done, uint64_t all)>;
  Status judge(uint32_t threads, const Progress& progress, RecoveryFacts* facts);
  // Returns the segments of all listed generations, in order, with the facts that judge() found out
  // about them.
  const std::vector<SegmentFacts>& segments() const { return segments_; }
  // Returns the generation's cut, or kNumberMax if the manifest does not list the generation.
  uint64_t cut_of(uint32_t generation) const;
  // Chooses the checkpoint from which recovery starts. Of the checkpoints with numbers up to
  // `to_number`, skips the newest `skipped`, which are damaged, and chooses the newest of the rest.
  // *base is empty if recovery starts from an empty database.
  //   kInvalidArgument  the state after `to_number` cannot be recovered; the message gives the
  //                     range of possible numbers
  //   kNotFound         fewer checkpoints than `skipped` exist
  Status choose_base(SnapshotNumber to_number, size_t skipped, std::optional<Checkpoint>* base);
  // Returns the pieces that may contain records after the base and up to `to_number`, ordered by
  // their largest record numbers.
  const std::vector<LogPiece>& pieces() const { return pieces_; }
  // Calls visit(record) for each record of the piece, in order. The bytes of a record are valid
  // until the buffer is reused or destroyed. kCorrupt: the piece differs from what judge() found.
  Status read(const LogPiece& piece, ReadBuffer* buffer, const std::function<Status(const Record&)>& visit);

  // Calls judge(), choose_base() and read(): all of recovery except loading the checkpoint. Calls
  // visit(generation, stream, record) for each valid record after the base whose number is at most
  // `to_number`. The records of a segment are visited in order.
  using Visit = std::function<Status(uint32_t generation, uint32_t stream, const Record& record)>;
  Status recover(SnapshotNumber to_number, const Visit& visit, RecoveryFacts* facts);

  // -- writing ------------------------------------------------------------------------------------

  // Must be called after choose_base(). Syncs the records that recovery accepted, writes the cuts
  // to the manifest, and adds a new generation with `streams` streams to it. Records with numbers
  // above the `to_number` that was passed to choose_base() become void. Files without valid data
  // are removed. All numbers in the new generation are at least first_number().
  Status begin_generation(uint32_t streams, uint32_t* generation);
  SnapshotNumber first_number() const { return first_number_; }
  // Must be called last, and only if Log::close() succeeded with this number. Records in the
  // manifest that the generation contains exactly the commits up to `closed`. If a file of the
  // generation is too short later, it is then reported as damaged, because a crash cannot be the
  // cause. If end_generation() fails, the database is in the same state as after a crash.
  Status end_generation(SnapshotNumber closed);
  // Makes a checkpoint valid. Its files must be complete and synced. Then removes all checkpoints
  // except the newest `kept`, and the log files that only the removed checkpoints needed.
  // `finished` lists the segments of this generation that were finished since the last call. If
  // *published is kYes but the status is not ok, the checkpoint is valid, but some of the files may
  // not have been removed.
  Status publish(const Checkpoint& checkpoint, uint32_t kept, const std::vector<FinishedSegment>& finished, Published* published);
  // Returns ok, or the reason why the log must stop: either a folder was moved or replaced, or the
  // sync of a folder failed. After a failed sync it is unknown which file names are on the disk,
  // even if a later sync succeeds.
  const Status& log_failure() const { return log_failure_; }
  static DatabaseId new_database_id();

  const Manifest& manifest() const { return manifest_; }
  // Returns the folder for a stream's files. For checkpoint parts, `stream` is the part number.
  Folder& folder_of(uint32_t stream) const { return *folders_[stream % folders_.size()]; }
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
  std::vector<Checkpoint> damaged_;  // skipped by choose_base(), and removed when the next checkpoint is published
  uint64_t closed_ = 0;
  std::vector<SegmentFacts> segments_;
  std::vector<LogPiece> judged_;  // all pieces that may contain valid records
  std::vector<LogPiece> pieces_;

  // The largest record number in each finished segment, by file name. It is determined when the
  // segment is written or verified. Removals rely on this number instead of reading the file again,
  // because the file may have been damaged since.
  std::map<std::string, uint64_t> finished_;
};

}  // namespace elider::log
