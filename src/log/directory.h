// Directory: the folders of one database's log, held by a lock file: the manifest, the generations, and what
// of them counts.
//
// Each opening writes a generation of its own and never touches an older file. What an older generation may
// hold beyond the last number that is whole in all of its streams is void: its cut, found when it is read
// for the first time, is kept in the manifest, so that it cannot come to life later.
//
// Thread safety: one thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "log/file.h"
#include "log/format.h"
#include "log/reader.h"

namespace elider::log {

// What recovery found.
struct RecoveryFacts {
  uint64_t last_number = 0;  // the state is that after all commits up to this number
  uint64_t frames = 0, records = 0, bytes = 0;
  uint64_t records_void = 0;  // whole, but behind the last number that is whole in every stream
  std::vector<CutTail> cuts;
};

class Directory {
 public:
  // Makes the folders and the manifest where there are none. `create`: false refuses to make anything, with
  // kNotFound. kInvalidArgument: another database holds it, or the folders are not those it was made with.
  // kCorrupt, kUnsupported, kIoError: the message names the file.
  static Status open(FileSystem& files, const std::vector<std::string>& folders, bool create, std::unique_ptr<Directory>* directory);

  // Finds the cut of the last generation, then calls visit(generation, stream, record) for each record that
  // counts and whose number is at most `to_number`: generations in order, a stream's records in order, its
  // streams one after the other. Changes nothing on the disk.
  using Visit = std::function<Status(uint32_t generation, uint32_t stream, const Record& record)>;
  Status recover(uint64_t to_number, const Visit& visit, RecoveryFacts* facts);

  // After recover() to the end: puts the cut down and makes the next generation, with `streams` streams. Files
  // of generations in which nothing counts go. The numbers of the new generation are at least first_number().
  Status begin_generation(uint32_t streams, uint32_t* generation);
  uint64_t first_number() const { return first_number_; }

  const Manifest& manifest() const { return manifest_; }
  const std::string& folder_of(uint32_t stream) const { return folders_[stream % folders_.size()]; }

  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

 private:
  Directory(FileSystem& files, std::vector<std::string> folders) : files_(files), folders_(std::move(folders)) {}
  Status load(bool create);
  Status make_manifest();
  Status write_manifest(const Manifest& manifest);
  Status check_files() const;
  Status remove_unlisted();
  Status scan(size_t position, uint64_t* cut, RecoveryFacts* facts);
  Status replay(size_t position, uint64_t to_number, const Visit& visit, RecoveryFacts* facts);

  FileSystem& files_;
  const std::vector<std::string> folders_;
  std::unique_ptr<File> lock_;
  Manifest manifest_;
  std::vector<uint64_t> cuts_;     // by position in the manifest, since recover()
  std::vector<uint64_t> counted_;  // records that count, likewise
  uint64_t first_number_ = 1;
};

}  // namespace elider::log
