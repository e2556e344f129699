// A file as a heap's medium. Stores are written to the file immediately, and fdatasync makes them
// durable. Threads share calls to fdatasync: if a call is running when a thread arrives, the thread
// waits for the next call.
#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "heap/medium.h"

namespace elider::heap {

namespace {

constexpr uint64_t kPageBytes = kPatchBytesMax;
constexpr size_t kPagesMax = 8192;  // the number of pages that patch() collects before it writes them

class FileMedium final : public Medium {
 public:
  explicit FileMedium(std::unique_ptr<io::File> file) : file_(std::move(file)) {}

  Status store(uint64_t offset, std::span<const std::byte> bytes) override { return file_->write_at(offset, bytes); }

  Status fence() override {
    std::unique_lock lock(mutex_);
    const uint64_t mine = ++asked_;
    while (done_ < mine && failure_.ok()) {
      if (syncing_) {
        synced_.wait(lock);
        continue;
      }
      syncing_ = true;
      const uint64_t covers = asked_;
      lock.unlock();
      Status status;
      try {
        status = file_->sync();
      } catch (const std::bad_alloc&) {  // an error's message needs memory
        status = Status(Code::kIoError, Cause::kNone);
      }
      lock.lock();
      syncing_ = false;
      ++syncs_;
      if (status.ok())
        done_ = std::max(done_, covers);
      else
        failure_ = std::move(status);  // it is unknown what is on the disk now
      synced_.notify_all();
    }
    return done_ >= mine ? Status() : failure_;
  }

  Status patch(uint64_t offset, std::span<const std::byte> bytes) override {
    auto page = pages_.find(offset / kPageBytes);
    if (page == pages_.end()) {
      auto read_page = std::make_unique<Page>();  // added to pages_ only if it was read without an error
      if (Status status = read(offset / kPageBytes * kPageBytes, *read_page); !status.ok()) return status;
      page = pages_.emplace(offset / kPageBytes, std::move(read_page)).first;
    }
    std::copy(bytes.begin(), bytes.end(), page->second->begin() + offset % kPageBytes);
    return pages_.size() < kPagesMax ? Status() : write_pages();
  }
  Status settle() override {
    if (Status status = write_pages(); !status.ok()) return status;
    return fence();
  }

  Status read(uint64_t offset, std::span<std::byte> bytes) override {
    size_t count = 0;
    if (Status status = file_->read_at(offset, bytes, &count); !status.ok()) return status;
    std::fill(bytes.begin() + static_cast<ptrdiff_t>(count), bytes.end(), std::byte{0});
    return {};
  }
  Status size(uint64_t* bytes) override { return file_->size(bytes); }
  Status reserve(uint64_t bytes) override { return file_->reserve(bytes); }
  Status extend(uint64_t bytes) override { return reserve(bytes); }
  Status map_copy_on_write(uint64_t offset, std::span<std::byte> memory) override { return file_->map_copy_on_write(offset, memory); }
  Status map_data_copy_on_write(uint64_t offset, std::span<std::byte> memory) override {
    return file_->map_data_copy_on_write(offset, memory);
  }

  std::string_view promise() const override { return "power failures, once fdatasync has written the data"; }
  uint64_t syncs() const override {
    std::lock_guard lock(mutex_);
    return syncs_;
  }

 private:
  using Page = std::array<std::byte, kPageBytes>;

  // Writes all pages in pages_, with one call for each sequence of up to 256 adjacent pages.
  Status write_pages() {
    for (auto page = pages_.begin(); page != pages_.end();) {
      const uint64_t first = page->first;
      together_.clear();
      for (; page != pages_.end() && page->first == first + together_.size() / kPageBytes && together_.size() < 256 * kPageBytes; ++page)
        together_.insert(together_.end(), page->second->begin(), page->second->end());
      if (Status status = file_->write_at(first * kPageBytes, together_); !status.ok()) return status;
    }
    pages_.clear();
    return {};
  }

  const std::unique_ptr<io::File> file_;
  std::map<uint64_t, std::unique_ptr<Page>> pages_;  // changed by patch(), but not written yet
  std::vector<std::byte> together_;

  mutable std::mutex mutex_;
  std::condition_variable synced_;
  uint64_t asked_ = 0, done_ = 0, syncs_ = 0;
  bool syncing_ = false;
  Status failure_;
};

}  // namespace

Status find(const std::string& path, HeldFile* found) {
  return io::system_files().open_folder_of(path, &found->folder, &found->name);
}

Status hold(io::Hold how, HeldFile* found) {
  const Status status = found->folder->hold_file(found->name, how, &found->lock);
  if (status.code() != Code::kInvalidArgument) return status;
  return Status::invalid_argument("'" + found->folder->path_of(found->name) +
                                  "' is in use: it is open in another process, or in another Heap of this process");
}

namespace {
std::atomic<const SubstituteMedium*> substitute{nullptr};
}  // namespace

SubstituteMedium::SubstituteMedium(Make make) : make_(std::move(make)) { substitute.store(this, std::memory_order_release); }
SubstituteMedium::~SubstituteMedium() { substitute.store(nullptr, std::memory_order_release); }

std::unique_ptr<Medium> make_file_medium(std::unique_ptr<io::File> file) { return std::make_unique<FileMedium>(std::move(file)); }

Status open_medium(const HeapOptions& options, std::unique_ptr<io::File> file, std::unique_ptr<Medium>* medium) {
  const SubstituteMedium* const other = substitute.load(std::memory_order_acquire);
  if (options.medium == HeapMedium::kFile)
    *medium = make_file_medium(std::move(file));
  else if (options.medium == HeapMedium::kDax && other != nullptr)
    *medium = other->make_(std::move(file));
  else
    return open_mapped_medium(options, std::move(file), medium);
  return {};
}

}  // namespace elider::heap
