// Directory: the folders of one database's files: the manifest, the checkpoints and the generations
// of the log, and what of them counts.
//
// Each folder is opened once and held: by a lock of the folder itself, and by one of its lock file,
// which is what older programs look at. Before a manifest is written, the path of each folder must
// still lead to the folder that is open. Otherwise a later program would not find what is written,
// so the log must end (log_failure()).
//
// Each opening writes a generation of its own and changes no older file: of one that a killed
// process left it only brings to the disk what it accepts. What an older generation may hold
// beyond the last number that is whole in all of its streams is void: its cut, found when it
// is closed, or after a crash when it is read for the first time, is kept in the manifest, so
// that it cannot come to life later. A checkpoint is one once the manifest says so; only then
// does what it stands for go.
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
#include "log/file.h"
#include "log/format.h"
#include "log/manifest_file.h"
#include "log/reader.h"

namespace elider::log {

// What recovery found.
struct RecoveryFacts {
  SnapshotNumber last_number = 0;  // the largest number of a record that counts
  SnapshotNumber closed = 0;       // the files hold all commits up to this number, whether there are any or not
  uint64_t frames = 0, records = 0, bytes = 0;
  uint64_t records_void = 0;  // whole, but behind the last number that is whole in every stream
  std::vector<CutTail> cuts;
};

// Frames of a segment with records that may count.
struct LogPiece {
  Folder* folder = nullptr;  // the directory's
  SegmentName name;
  SnapshotNumber cut = 0;  // records with larger numbers are void
  FrameRange range;
};

class Directory {
 public:
  struct Rules {
    bool create_if_missing = true;
    bool error_if_exists = false;
    Hold hold = Hold::kExclusive;  // kShared: the caller only reads, and others may do so meanwhile
  };
  // Makes the folders and the manifest where there are none, nor any other file. `create`: false,
  // likewise Rules::create_if_missing, refuses to make anything, with kNotFound. kInvalidArgument:
  // another database holds one, or the folders are not those it was made with, or there is a
  // database that should not be there, or there are files of somebody else's; then the message
  // names one. kCorrupt, kUnsupported, kIoError: the message names the file.
  static Status open(FileSystem& files, const std::vector<std::string>& folders, bool create, const Rules& rules,
                     std::unique_ptr<Directory>* directory);
  // Without rules; a directory that is not to be created is only read.
  static Status open(FileSystem& files, const std::vector<std::string>& folders, bool create, std::unique_ptr<Directory>* directory) {
    return open(files, folders, create, {.hold = create ? Hold::kExclusive : Hold::kShared}, directory);
  }

  // -- recovery: these in this order; they change nothing on the disk -----------------------------

  // Reads all of the log: whether it is whole, and where each generation is cut. Calls
  // progress(bytes read, bytes in all), if there is one, by one thread at a time.
  using Progress = std::function<void(uint64_t done, uint64_t all)>;
  Status judge(uint32_t threads, const Progress& progress, RecoveryFacts* facts);
  // All segments that are listed, in order, as judge() found them; and
  // where their generation is cut.
  const std::vector<SegmentFacts>& segments() const { return segments_; }
  uint64_t cut_of(uint32_t generation) const;
  // What to begin with: the newest checkpoint up to `to_number` but for the `skipped` newest of
  // these; none: with an empty database. kInvalidArgument: the state after that number is not in
  // the files; says which are. kNotFound: so many cannot be skipped.
  Status choose_base(SnapshotNumber to_number, size_t skipped, std::optional<Checkpoint>* base);
  // The pieces with records behind the base, in the order of their last numbers.
  const std::vector<LogPiece>& pieces() const { return pieces_; }
  // Calls visit(record) for each record of the piece, in order; its bytes live as long as the
  // buffer. kCorrupt: the piece is not what judge() found.
  Status read(const LogPiece& piece, ReadBuffer* buffer, const std::function<Status(const Record&)>& visit);

  // All of it but the checkpoint: calls visit(generation, stream, record) for each
  // record that counts, is behind the base, and whose number is at most `to_number`; a
  // segment's records in order.
  using Visit = std::function<Status(uint32_t generation, uint32_t stream, const Record& record)>;
  Status recover(SnapshotNumber to_number, const Visit& visit, RecoveryFacts* facts);

  // -- writing ------------------------------------------------------------------------------------

  // After choose_base(): brings what recovery accepted to the disk, puts the cuts down and makes
  // the next generation, with `streams` streams. What is behind the `to_number` of choose_base()
  // is gone with it. Files that hold nothing that counts go. The numbers of the new generation
  // are at least first_number().
  Status begin_generation(uint32_t streams, uint32_t* generation);
  SnapshotNumber first_number() const { return first_number_; }
  // The new generation's log has ended well and holds all commits up to this number, and no others:
  // the manifest says so, and a file of it that is found to be shorter is damage from now on, no
  // crash. Last of all. Not ok: all is as after a crash.
  Status end_generation(SnapshotNumber closed);
  // The checkpoint's files are whole and synced: from now on it counts. Afterwards checkpoints
  // go but for the newest `kept`, and so does the log that only they needed. `finished`:
  // segments of this generation that were finished since the last call. kYes, but not ok: what
  // should go may not have gone.
  Status publish(const Checkpoint& checkpoint, uint32_t kept, const std::vector<FinishedSegment>& finished, Published* published);
  // Ok, or why the log must end: the sync of a folder failed, after which it is unknown which names
  // are on the disk, whatever a later sync reports; or a folder was moved or replaced.
  const Status& log_failure() const { return log_failure_; }
  static DatabaseId new_database_id();

  const Manifest& manifest() const { return manifest_; }
  Folder& folder_of(uint32_t stream) const { return *folders_[stream % folders_.size()]; }  // also that of a part
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
  const std::vector<std::string> paths_;           // of the folders, absolute
  std::vector<std::unique_ptr<Folder>> folders_;   // null: it is not there yet
  std::vector<std::unique_ptr<File>> lock_files_;  // by folder
  Manifest manifest_;
  SnapshotNumber first_number_ = 1;
  Status log_failure_;

  // Of recovery.
  SnapshotNumber to_number_ = kNumberMax;
  uint64_t base_ = 0;
  std::vector<uint64_t> cuts_;  // by position in the manifest
  std::vector<Checkpoint> damaged_;  // that were skipped: they stay until the next one is there, and count for nothing
  uint64_t closed_ = 0;
  std::vector<SegmentFacts> segments_;
  std::vector<LogPiece> judged_;  // all with records that may count
  std::vector<LogPiece> pieces_;

  // The largest numbers of finished segments, by file name: as all of each was read and verified,
  // or as it was written. What a file says later may be damage, upon which nothing is removed.
  std::map<std::string, uint64_t> finished_;
};

}  // namespace elider::log
