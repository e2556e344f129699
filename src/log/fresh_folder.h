// FreshFolder: the folder that a copy of a database is written to: a backup or a restored one.
//
// It must be empty or missing at first, and is held exclusively. It becomes a database when
// publish() succeeds. Otherwise the destructor removes all database files from it, and the folder
// itself if make() created it. Even if that fails, opening the rest finds all of the database or
// refuses it.
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
  // kInvalidArgument: the folder is not empty, or another process holds it. kIoError.
  static Status make(FileSystem& files, const std::string& path, std::unique_ptr<FreshFolder>* fresh);
  ~FreshFolder();

  Folder& folder() { return *folder_; }
  // The files that the manifest lists are in the folder, and synced. Makes the folder a database of
  // its own. kIoError.
  Status publish(Manifest manifest);

  FreshFolder(const FreshFolder&) = delete;
  FreshFolder& operator=(const FreshFolder&) = delete;

 private:
  explicit FreshFolder(bool made) : made_(made) {}
  Status require_empty();
  void remove_all();

  const bool made_;             // by make()
  bool holds_ = false;          // the folder
  bool ours_ = false;           // it was found to be empty, and both locks are held
  bool lock_file_made_ = true;  // by make()
  std::unique_ptr<Folder> folder_;
  std::unique_ptr<File> lock_file_;
  Published published_ = Published::kNo;
};

}  // namespace elider::log
