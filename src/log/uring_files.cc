#include "log/uring_files.h"

#if ELIDER_HAVE_LIBURING

#include <liburing.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>

#include "log/system_file.h"

namespace elider::log {

namespace {

constexpr unsigned kEntries = 2;                 // a write and its sync
constexpr size_t kWriteBytesMax = size_t{1} << 30;  // of one call

class UringFile final : public SystemFile {
 public:
  using SystemFile::SystemFile;
  ~UringFile() override {
    if (ready_) io_uring_queue_exit(&ring_);
  }
  // A negative errno: there is no ring.
  int start() {
    const int result = io_uring_queue_init(kEntries, &ring_, 0);
    ready_ = result == 0;
    return result;
  }

  Status write_and_sync(uint64_t offset, std::span<const std::byte> bytes) override {
    if (bytes.empty()) return sync();
    for (;;) {
      int results[kEntries] = {0, 0};
      bool linked = false;
      if (const int failed = submit(offset, bytes, results, &linked); failed != 0) return file_error("write", path(), -failed);
      if (Status status = wrote(results[0], &offset, &bytes); !status.ok()) return status;
      // Else the sync was not begun.
      if (bytes.empty()) return linked || results[1] < 0 ? synced(-results[1]) : sync();
    }
  }

 private:
  // Zero, or the negative errno of the submission itself. The results are the two calls' own. *linked: the kernel took both at
  // once, so that the sync began when the write had ended; a link ends with the submission.
  int submit(uint64_t offset, std::span<const std::byte> bytes, int* results, bool* linked) {
    io_uring_sqe* write = io_uring_get_sqe(&ring_);
    io_uring_prep_write(write, descriptor(), bytes.data(), static_cast<unsigned>(std::min(bytes.size(), kWriteBytesMax)), offset);
    io_uring_sqe_set_flags(write, IOSQE_IO_LINK);
    io_uring_sqe_set_data64(write, 0);
    io_uring_sqe* sync = io_uring_get_sqe(&ring_);
    io_uring_prep_fsync(sync, descriptor(), IORING_FSYNC_DATASYNC);
    io_uring_sqe_set_data64(sync, 1);
    unsigned begun = 0;
    int failed = 0;
    while (begun < kEntries && failed == 0) {
      const int result = io_uring_submit(&ring_);
      *linked = result == static_cast<int>(kEntries);
      if (result > 0) begun += static_cast<unsigned>(result);
      else if (result != -EINTR && result != -EAGAIN) failed = result;
    }
    const int waited = wait(begun, results);
    return failed != 0 ? failed : waited;
  }
  // Until so many calls have ended, whatever happens: until then the kernel may read their bytes. Where it refuses to wait,
  // the negative errno of that, once they have.
  int wait(unsigned count, int* results) {
    int failed = 0;
    while (count != 0) {
      io_uring_cqe* done = nullptr;
      const int result = failed == 0 ? io_uring_wait_cqe(&ring_, &done) : io_uring_peek_cqe(&ring_, &done);
      if (result == 0) {
        results[io_uring_cqe_get_data64(done)] = done->res;
        io_uring_cqe_seen(&ring_, done);
        --count;
      } else if (failed != 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      } else if (result != -EINTR && result != -EAGAIN) {
        failed = result;
      }
    }
    return failed;
  }

  io_uring ring_{};
  bool ready_ = false;
};

class UringFiles final : public FileSystem {
 public:
  Status open(const std::string& path, OpenMode mode, std::unique_ptr<File>* file) override {
    if (mode == OpenMode::kRead) return system_files().open(path, mode, file);
    int descriptor = -1;
    if (Status status = open_descriptor(path, mode, &descriptor); !status.ok()) return status;
    auto opened = std::make_unique<UringFile>(path, descriptor);
    if (const int failed = opened->start(); failed != 0) return file_error("make an io_uring for", path, -failed);
    *file = std::move(opened);
    return {};
  }
  Status list(const std::string& folder, std::vector<std::string>* names) override { return system_files().list(folder, names); }
  Status make_folder(const std::string& folder) override { return system_files().make_folder(folder); }
  Status rename(const std::string& from, const std::string& to) override { return system_files().rename(from, to); }
  Status remove(const std::string& path) override { return system_files().remove(path); }
  Status sync_folder(const std::string& folder) override { return system_files().sync_folder(folder); }
  Status lock(const std::string& path, std::unique_ptr<File>* held) override { return system_files().lock(path, held); }
};

}  // namespace

Status uring_files(FileSystem** files) {
  static UringFiles* const instance = new UringFiles;  // never destroyed: a database may outlive statics
  // Asked anew each time: a process may lose the right.
  io_uring ring;
  if (const int failed = io_uring_queue_init(kEntries, &ring, 0); failed != 0)
    return Status(Code::kUnsupported, "this kernel allows no io_uring: " + std::generic_category().message(-failed));
  io_uring_queue_exit(&ring);
  *files = instance;
  return {};
}

}  // namespace elider::log

#else

namespace elider::log {

Status uring_files(FileSystem**) { return Status(Code::kUnsupported, "elider was built without liburing"); }

}  // namespace elider::log

#endif
