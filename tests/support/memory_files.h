// MemoryFiles: a file system for tests, in memory. It records every call and can refuse one. What a
// crash leaves of the recorded calls, CrashDisk works out.
// Thread safety: all.
#pragma once

#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "io/file.h"

namespace elider::io {

class MemoryFiles final : public FileSystem {
 public:
  struct Call {
    // kSyncFailed: a sync of a file that was refused. All else that was refused did
    // nothing, and is not recorded.
    enum class Kind : uint8_t { kCreate, kEmpty, kWrite, kSync, kSyncFailed, kRename, kRemove, kSyncFolder };
    Kind kind;
    std::string path, to;
    uint64_t offset = 0;
    std::vector<std::byte> bytes;
  };
  using Contents = std::map<std::string, std::vector<std::byte>>;

  MemoryFiles() = default;
  explicit MemoryFiles(Contents contents) {
    for (auto& [path, bytes] : contents) files_[path] = std::make_shared<Inode>(Inode{std::move(bytes)});
  }

  // A status other than ok refuses a call, which is then not made. Called with the mutex held.
  void refuse_with(std::function<Status(const Call&)> refuse) {
    std::lock_guard lock(mutex_);
    refuse_ = std::move(refuse);
  }
  std::vector<Call> calls() const {
    std::lock_guard lock(mutex_);
    return calls_;
  }
  size_t call_count() const {
    std::lock_guard lock(mutex_);
    return calls_.size();
  }
  Contents contents() const {
    std::lock_guard lock(mutex_);
    Contents all;
    for (const auto& [path, inode] : files_) all[path] = inode->bytes;
    return all;
  }

  Status open_folder(const std::string& path, std::unique_ptr<Folder>* folder) override {
    *folder = std::make_unique<MemoryFolder>(*this, path);
    return {};
  }
  // Every folder is there.
  Status make_folder(const std::string&, bool* made) override {
    *made = false;
    return {};
  }
  Status remove(const std::string& path) {
    std::lock_guard lock(mutex_);
    if (Status status = record({Call::Kind::kRemove, path, {}, 0, {}}); !status.ok()) return status;
    files_.erase(path);
    return {};
  }

 private:
  struct Inode {
    std::vector<std::byte> bytes;
  };

  static void write(std::vector<std::byte>& to, uint64_t offset, const std::vector<std::byte>& bytes) {
    if (to.size() < offset + bytes.size()) to.resize(offset + bytes.size());
    if (!bytes.empty()) std::memcpy(to.data() + offset, bytes.data(), bytes.size());
  }
  class MemoryFile final : public File {
   public:
    MemoryFile(MemoryFiles& files, const std::string& path, std::shared_ptr<Inode> inode)
        : File(path), files_(files), inode_(std::move(inode)) {}
    Status write_at(uint64_t offset, std::span<const std::byte> bytes) override {
      std::lock_guard lock(files_.mutex_);
      Call call{Call::Kind::kWrite, path(), {}, offset, {bytes.begin(), bytes.end()}};
      if (Status status = files_.record(call); !status.ok()) return status;
      MemoryFiles::write(inode_->bytes, offset, call.bytes);
      return {};
    }
    Status sync() override {
      std::lock_guard lock(files_.mutex_);
      Status status = files_.record({Call::Kind::kSync, path(), {}, 0, {}});
      if (!status.ok()) files_.calls_.push_back({Call::Kind::kSyncFailed, path(), {}, 0, {}});
      return status;
    }
    Status read_at(uint64_t offset, std::span<std::byte> bytes, size_t* count) override {
      std::lock_guard lock(files_.mutex_);
      const size_t size = inode_->bytes.size();
      *count = offset >= size ? 0 : std::min(bytes.size(), size - static_cast<size_t>(offset));
      if (*count != 0) std::memcpy(bytes.data(), inode_->bytes.data() + offset, *count);
      return {};
    }
    Status size(uint64_t* bytes) override {
      std::lock_guard lock(files_.mutex_);
      *bytes = inode_->bytes.size();
      return {};
    }

   private:
    MemoryFiles& files_;
    const std::shared_ptr<Inode> inode_;
  };
  class HeldLock final : public File {
   public:
    HeldLock(MemoryFiles& files, const std::string& path) : File(path), files_(files) {}
    ~HeldLock() override { files_.release(path()); }
    Status write_at(uint64_t, std::span<const std::byte>) override { return file_error("write", path(), EBADF); }
    Status sync() override { return {}; }
    Status read_at(uint64_t, std::span<std::byte>, size_t* count) override { *count = 0; return {}; }
    Status size(uint64_t* bytes) override { *bytes = 0; return {}; }

   private:
    MemoryFiles& files_;
  };

  class MemoryFolder final : public Folder {
   public:
    MemoryFolder(MemoryFiles& files, const std::string& path) : Folder(path), files_(files) {}
    ~MemoryFolder() override {
      if (held_) files_.release(path_of("."));
    }
    Status open(const std::string& name, OpenMode mode, std::unique_ptr<File>* file) override {
      return files_.open_path(path_of(name), mode, file);
    }
    Status list(std::vector<std::string>* names) override {
      std::lock_guard lock(files_.mutex_);
      names->clear();
      const std::string before = path_of("");
      for (const auto& [path, inode] : files_.files_)
        if (path.starts_with(before) && path.find('/', before.size()) == std::string::npos) names->push_back(path.substr(before.size()));
      return {};
    }
    Status rename(const std::string& from, const std::string& to) override {
      std::lock_guard lock(files_.mutex_);
      if (Status status = files_.record({Call::Kind::kRename, path_of(from), path_of(to), 0, {}}); !status.ok()) return status;
      files_.files_[path_of(to)] = files_.files_[path_of(from)];
      files_.files_.erase(path_of(from));
      return {};
    }
    Status remove(const std::string& name) override { return files_.remove(path_of(name)); }
    Status sync() override { return sync_folder(path()); }
    Status sync_name() override { return sync_folder(path_of("..")); }
    Status hold(Hold hold) override {
      held_ = files_.hold(path_of("."), hold);
      return held_ ? Status() : Status::invalid_argument("the folder '" + path() + "' is locked: another database has it open");
    }
    Status hold_file(const std::string& name, Hold hold, std::unique_ptr<File>* held) override {
      if (!files_.hold(path_of(name), hold))
        return Status::invalid_argument("the folder '" + path() + "' is locked: another database has it open");
      *held = std::make_unique<HeldLock>(files_, path_of(name));
      return {};
    }
    Status check_place() override { return {}; }
    Status remove_folder() override { return {}; }

   private:
    Status sync_folder(const std::string& path) {
      std::lock_guard lock(files_.mutex_);
      return files_.record({Call::Kind::kSyncFolder, path, {}, 0, {}});
    }

    MemoryFiles& files_;
    bool held_ = false;
  };

  Status open_path(const std::string& path, OpenMode mode, std::unique_ptr<File>* file) {
    std::lock_guard lock(mutex_);
    const auto found = files_.find(path);
    const bool must_be_there = mode == OpenMode::kRead || mode == OpenMode::kWrite;
    if (must_be_there && found == files_.end()) return Status(Code::kNotFound, "the file '" + path + "' does not exist");
    if (mode == OpenMode::kCreate && found != files_.end()) return file_error("create", path, EEXIST);
    if (!must_be_there) {
      const auto kind = found == files_.end() ? Call::Kind::kCreate : Call::Kind::kEmpty;
      if (Status status = record({kind, path, {}, 0, {}}); !status.ok()) return status;
      if (found == files_.end()) files_[path] = std::make_shared<Inode>();
      else found->second->bytes.clear();
    }
    *file = std::make_unique<MemoryFile>(*this, path, files_[path]);
    return {};
  }

  // False: another holder excludes it.
  bool hold(const std::string& path, Hold hold) {
    std::lock_guard lock(mutex_);
    int& holders = holders_[path];
    if (holders == kExclusiveHolder || (holders != 0 && hold == Hold::kExclusive)) return false;
    holders = hold == Hold::kExclusive ? kExclusiveHolder : holders + 1;
    return true;
  }
  void release(const std::string& path) {
    std::lock_guard lock(mutex_);
    int& holders = holders_[path];
    holders = holders == kExclusiveHolder ? 0 : holders - 1;
  }

  Status record(Call call) {
    if (refuse_)
      if (Status status = refuse_(call); !status.ok()) return status;
    calls_.push_back(std::move(call));
    return {};
  }

  mutable std::mutex mutex_;  // guards all of it
  std::map<std::string, std::shared_ptr<Inode>> files_;
  static constexpr int kExclusiveHolder = -1;
  std::map<std::string, int> holders_;  // by path: how many share it, or kExclusiveHolder
  std::vector<Call> calls_;
  std::function<Status(const Call&)> refuse_;
};

}  // namespace elider::io
