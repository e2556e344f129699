#include "log/fresh_folder.h"

#include <cerrno>
#include <new>
#include <utility>
#include <vector>

namespace elider::log {

Status FreshFolder::make(FileSystem& files, const std::string& path, std::unique_ptr<FreshFolder>* made) {
  bool is_new = false;
  if (Status status = files.make_folder(path, &is_new); !status.ok()) return status;
  std::unique_ptr<FreshFolder> fresh(new FreshFolder(is_new));
  Status status = files.open_folder(path, &fresh->folder_);
  if (status.not_found()) return file_error("open the folder", files.absolute(path), ENOENT);
  if (!status.ok()) return status;
  Folder& folder = *fresh->folder_;
  if (status = folder.hold(Hold::kExclusive); !status.ok()) return status;
  fresh->holds_ = true;
  if (status = folder.sync_name(); !status.ok()) return status;
  if (status = fresh->require_empty(); !status.ok()) return status;  // checked before a lock file is created in it
  if (status = folder.hold_file(kLockName, Hold::kExclusive, &fresh->lock_file_); !status.ok()) return status;
  if (status = fresh->require_empty(); !status.ok()) return status;  // checked again, because an older program locks only the lock file
  fresh->ours_ = true;
  *made = std::move(fresh);
  return {};
}

Status FreshFolder::require_empty() {
  std::vector<std::string> names;
  if (Status status = folder_->list(&names); !status.ok()) return status;
  for (const std::string& name : names) {
    if (name != kLockName) return Status::invalid_argument("the folder '" + folder_->path() + "' is not empty: it contains '" + name + "'");
    if (lock_file_ == nullptr) lock_file_made_ = false;
  }
  return {};
}

Status FreshFolder::publish(Manifest manifest) {
  manifest.folders = 1;
  if (Status status = folder_->sync(); !status.ok()) return status;
  if (Status status = folder_->check_place(); !status.ok()) return status;
  if (Status status = replace_manifest(*folder_, manifest, &published_); !status.ok()) return status;
  if (Status status = folder_->sync(); !status.ok()) return status;
  published_ = Published::kYes;
  return {};
}

FreshFolder::~FreshFolder() {
  if (published_ == Published::kYes || !holds_) return;
  try {
    remove_all();
  } catch (const std::bad_alloc&) {
    // If a removal fails, some files remain, with the consequences that the comment on the class
    // describes.
  }
}

void FreshFolder::remove_all() {
  if (published_ == Published::kUnknown && !withdraw_manifest(*folder_)) return;
  std::vector<std::string> names;
  if (ours_ && !folder_->list(&names).ok()) return;
  SegmentName segment;
  CheckpointName part;
  for (const std::string& name : names)
    if (parse_file_name(name, &segment) || parse_file_name(name, &part) || name == new_manifest_name() ||
        (name == kLockName && lock_file_made_))
      static_cast<void>(folder_->remove(name));
  if (made_) static_cast<void>(folder_->remove_folder());
}

}  // namespace elider::log
