// FaultyFiles: files in memory whose calls fail as a test says: none of a call is
// done, or of a write a part.
// Thread safety: all.
#pragma once

#include <cerrno>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "log/memory_files.h"

namespace elider::test {

enum class FileCall : uint8_t { kOpen, kCreate, kRead, kWrite, kSync, kList, kRename, kRemove, kSyncFolder };

struct Fault {
  int error = 0;            // an errno; 0: the call is made as ever
  size_t written_part = 0;  // of kWrite: so many bytes are written all the same
};

class FaultyFiles final : public log::FileSystem {
 public:
  explicit FaultyFiles(log::FileSystem& under) : under_(under) {}

  using Plan = std::function<Fault(FileCall call, const std::string& path)>;
  // From now on; null: all calls are made. It is called by one thread at a time.
  void plan(Plan plan) {
    std::lock_guard lock(mutex_);
    plan_ = std::move(plan);
  }

  Status open(const std::string& path, log::OpenMode mode, std::unique_ptr<log::File>* file) override {
    const bool reads = mode == log::OpenMode::kRead || mode == log::OpenMode::kWrite;
    if (const Fault fault = ask(reads ? FileCall::kOpen : FileCall::kCreate, path); fault.error != 0) {
      if (reads && fault.error == ENOENT) return Status(Code::kNotFound, "there is no file '" + path + "'");  // as of the system's
      return log::file_error(reads ? "open" : "create", path, fault.error);
    }
    std::unique_ptr<log::File> opened;
    if (Status status = under_.open(path, mode, &opened); !status.ok()) return status;
    *file = std::make_unique<FaultyFile>(*this, std::move(opened));
    return {};
  }
  Status list(const std::string& folder, std::vector<std::string>* names) override {
    if (const Fault fault = ask(FileCall::kList, folder); fault.error != 0) {
      if (fault.error == ENOENT) return Status(Code::kNotFound, "there is no folder '" + folder + "'");  // as of the system's
      return log::file_error("list", folder, fault.error);
    }
    return under_.list(folder, names);
  }
  Status make_folder(const std::string& folder) override { return under_.make_folder(folder); }
  Status rename(const std::string& from, const std::string& to) override {
    return faulty(FileCall::kRename, "rename", from, [&] { return under_.rename(from, to); });
  }
  Status remove(const std::string& path) override {
    return faulty(FileCall::kRemove, "remove", path, [&] { return under_.remove(path); });
  }
  Status sync_folder(const std::string& folder) override {
    return faulty(FileCall::kSyncFolder, "sync the folder", folder, [&] { return under_.sync_folder(folder); });
  }
  Status lock(const std::string& path, std::unique_ptr<log::File>* held) override { return under_.lock(path, held); }

 private:
  class FaultyFile final : public log::File {
   public:
    FaultyFile(FaultyFiles& files, std::unique_ptr<log::File> file) : File(file->path()), files_(files), file_(std::move(file)) {}
    Status write_at(uint64_t offset, std::span<const std::byte> bytes) override {
      const Fault fault = files_.ask(FileCall::kWrite, path());
      if (fault.error == 0) return file_->write_at(offset, bytes);
      static_cast<void>(file_->write_at(offset, bytes.first(std::min(bytes.size(), fault.written_part))));
      return log::file_error("write", path(), fault.error);
    }
    Status sync() override {
      return files_.faulty(FileCall::kSync, "sync", path(), [&] { return file_->sync(); });
    }
    Status read_at(uint64_t offset, std::span<std::byte> bytes, size_t* count) override {
      *count = 0;
      return files_.faulty(FileCall::kRead, "read", path(), [&] { return file_->read_at(offset, bytes, count); });
    }
    Status size(uint64_t* bytes) override { return file_->size(bytes); }

   private:
    FaultyFiles& files_;
    const std::unique_ptr<log::File> file_;
  };

  Fault ask(FileCall call, const std::string& path) {
    std::lock_guard lock(mutex_);
    return plan_ ? plan_(call, path) : Fault{};
  }
  template <class F>
  Status faulty(FileCall call, const char* what, const std::string& path, F&& make_call) {
    const Fault fault = ask(call, path);
    return fault.error != 0 ? log::file_error(what, path, fault.error) : make_call();
  }

  log::FileSystem& under_;
  std::mutex mutex_;  // guards plan_
  Plan plan_;
};

}  // namespace elider::test
