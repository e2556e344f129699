// FaultyFiles: files in memory whose calls fail as a test specifies. A failed call does nothing. A
// failed write may write a part.
// Thread safety: all.
#pragma once

#include <cerrno>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "tests/support/forwarding_folder.h"
#include "tests/support/memory_files.h"

namespace elider::test {

enum class FileCall : uint8_t { kOpenFolder, kOpen, kCreate, kRead, kWrite, kSync, kList, kRename, kRemove, kSyncFolder };

struct Fault {
  int error = 0;            // an errno; 0: the call is made as ever
  size_t written_part = 0;  // of kWrite: this many bytes are written nevertheless
};

class FaultyFiles final : public io::FileSystem {
 public:
  explicit FaultyFiles(io::FileSystem& under) : under_(under) {}

  using Plan = std::function<Fault(FileCall call, const std::string& path)>;
  // Sets the plan for all following calls; null: all calls are made. It is called by one thread at
  // a time.
  void plan(Plan plan) {
    std::lock_guard lock(mutex_);
    plan_ = std::move(plan);
  }

  Status open_folder(const std::string& path, std::unique_ptr<io::Folder>* folder) override {
    if (const Fault fault = ask(FileCall::kOpenFolder, path); fault.error != 0) {
      if (fault.error == ENOENT) return Status(Code::kNotFound, "the folder '" + path + "' does not exist");  // as of the system's
      return io::file_error("open the folder", path, fault.error);
    }
    std::unique_ptr<io::Folder> opened;
    if (Status status = under_.open_folder(path, &opened); !status.ok()) return status;
    *folder = std::make_unique<FaultyFolder>(*this, std::move(opened));
    return {};
  }
  Status make_folder(const std::string& path, bool* made) override { return under_.make_folder(path, made); }
  std::string absolute(const std::string& path) const override { return under_.absolute(path); }

 private:
  class FaultyFile final : public io::File {
   public:
    FaultyFile(FaultyFiles& files, std::unique_ptr<io::File> file) : File(file->path()), files_(files), file_(std::move(file)) {}
    Status write_at(uint64_t offset, std::span<const std::byte> bytes) override {
      const Fault fault = files_.ask(FileCall::kWrite, path());
      if (fault.error == 0) return file_->write_at(offset, bytes);
      static_cast<void>(file_->write_at(offset, bytes.first(std::min(bytes.size(), fault.written_part))));
      return io::file_error("write", path(), fault.error);
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
    const std::unique_ptr<io::File> file_;
  };

  class FaultyFolder final : public io::ForwardingFolder {
   public:
    FaultyFolder(FaultyFiles& files, std::unique_ptr<io::Folder> folder) : ForwardingFolder(std::move(folder)), files_(files) {}
    Status open(const std::string& name, io::OpenMode mode, std::unique_ptr<io::File>* file) override {
      const bool reads = mode == io::OpenMode::kRead || mode == io::OpenMode::kWrite;
      if (const Fault fault = files_.ask(reads ? FileCall::kOpen : FileCall::kCreate, path_of(name)); fault.error != 0) {
        if (reads && fault.error == ENOENT) return Status(Code::kNotFound, "the file '" + path_of(name) + "' does not exist");
        return io::file_error(reads ? "open" : "create", path_of(name), fault.error);
      }
      std::unique_ptr<io::File> opened;
      if (Status status = folder().open(name, mode, &opened); !status.ok()) return status;
      *file = std::make_unique<FaultyFile>(files_, std::move(opened));
      return {};
    }
    Status list(std::vector<std::string>* names) override {
      return files_.faulty(FileCall::kList, "list", path(), [&] { return folder().list(names); });
    }
    Status rename(const std::string& from, const std::string& to) override {
      return files_.faulty(FileCall::kRename, "rename", path_of(from), [&] { return folder().rename(from, to); });
    }
    Status remove(const std::string& name) override {
      return files_.faulty(FileCall::kRemove, "remove", path_of(name), [&] { return folder().remove(name); });
    }
    Status sync() override {
      return files_.faulty(FileCall::kSyncFolder, "sync the folder", path(), [&] { return folder().sync(); });
    }
    Status sync_name() override {
      return files_.faulty(FileCall::kSyncFolder, "sync the folder", path_of(".."), [&] { return folder().sync_name(); });
    }

   private:
    FaultyFiles& files_;
  };

  Fault ask(FileCall call, const std::string& path) {
    std::lock_guard lock(mutex_);
    return plan_ ? plan_(call, path) : Fault{};
  }
  template <class F>
  Status faulty(FileCall call, const char* what, const std::string& path, F&& make_call) {
    const Fault fault = ask(call, path);
    return fault.error != 0 ? io::file_error(what, path, fault.error) : make_call();
  }

  io::FileSystem& under_;
  std::mutex mutex_;  // guards plan_
  Plan plan_;
};

}  // namespace elider::test
