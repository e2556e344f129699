// ForwardingFolder: for tests, a folder that passes every call on to another one. A test's folder
// derives from it and overrides what it changes.
// Thread safety: as the other folder's.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/file.h"

namespace elider::io {

class ForwardingFolder : public Folder {
 public:
  explicit ForwardingFolder(std::unique_ptr<Folder> folder) : Folder(folder->path()), folder_(std::move(folder)) {}

  Status open(const std::string& name, OpenMode mode, std::unique_ptr<File>* file) override { return folder_->open(name, mode, file); }
  Status list(std::vector<std::string>* names) override { return folder_->list(names); }
  Status rename(const std::string& from, const std::string& to) override { return folder_->rename(from, to); }
  Status remove(const std::string& name) override { return folder_->remove(name); }
  Status sync() override { return folder_->sync(); }
  Status sync_name() override { return folder_->sync_name(); }
  Status hold(Hold hold) override { return folder_->hold(hold); }
  Status hold_file(const std::string& name, Hold hold, std::unique_ptr<File>* held) override {
    return folder_->hold_file(name, hold, held);
  }
  Status check_place() override { return folder_->check_place(); }
  Status remove_folder() override { return folder_->remove_folder(); }

 protected:
  Folder& folder() { return *folder_; }

 private:
  const std::unique_ptr<Folder> folder_;
};

}  // namespace elider::io
