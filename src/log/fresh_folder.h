// FreshFolder: the folder that a backup or a restored database is written to.
//
// The folder must be empty or must not exist yet. It is locked exclusively. It becomes a database
// when publish() succeeds. Otherwise the destructor removes all database files from the folder, and
// the folder itself if make() created it. Even if the removal fails, a program that opens the
// folder later finds a complete database or refuses to open the folder.
//
// Thread safety: one thread at a time.
#pragma once

#include <memory>
#include <string>

#include "log/files.h"
#include "log/manifest_file.h"

namespace elider::log {

class FreshFolder {
 public:
  // Creates the folder if it does not exist, and locks it. kInvalidArgument: the folder is not
  // empty, or it is already locked. kIoError: the file system reported an error.
  static Status make(FileSystem& files, const std::string& path, std::unique_ptr<FreshFolder>* fresh);
  ~FreshFolder();

  Folder& folder() { return *folder_; }
  // Writes the manifest, which turns the folder into a database. All files that the manifest lists
  // must be in the folder and synced. kIoError: the file system reported an error.
  Status publish(Manifest manifest);

  FreshFolder(const FreshFolder&) = delete;
  FreshFolder& operator=(const FreshFolder&) = delete;

 private:
  explicit FreshFolder(bool made) : made_(made) {}
  Status require_empty();
  void remove_all();

  const bool made_;             // make() created the folder
  bool holds_ = false;          // the folder is locked
  bool ours_ = false;           // the folder was empty, and both locks are held
  bool lock_file_made_ = true;  // make() created the lock file
  std::unique_ptr<Folder> folder_;
  std::unique_ptr<File> lock_file_;
  Published published_ = Published::kNo;
};

}  // namespace elider::log
