// A mapped file as a heap's medium. A store writes back its cache lines, and a fence waits until
// they are written back. On persistent memory (mapped with MAP_SYNC), the fence thus makes the
// stores durable. With HeapMedium::kDelay, cache lines are not written back; a fixed delay per
// cache line simulates the time, as in the paper's measurements (DUMBO, section 4.1).
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "base/cache_line.h"
#include "base/clock.h"
#include "base/spin.h"
#include "base/system_call.h"
#include "heap/format.h"
#include "heap/medium.h"

namespace elider::heap {

namespace {

#if defined(__x86_64__)
[[gnu::target("clwb")]] void write_back(const std::byte* line) { _mm_clwb(const_cast<std::byte*>(line)); }
[[gnu::target("clflushopt")]] void flush_optimized(const std::byte* line) { _mm_clflushopt(const_cast<std::byte*>(line)); }
void flush_plainly(const std::byte* line) { _mm_clflush(line); }
void (*line_flush())(const std::byte*) {  // clang 14's __builtin_cpu_supports does not support these two features
  constexpr unsigned kFeatures = 7, kClflushopt = 1u << 23, kClwb = 1u << 24;
  unsigned eax = 0, features = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(kFeatures, 0, &eax, &features, &ecx, &edx) == 0) return flush_plainly;
  if ((features & kClwb) != 0) return write_back;
  return (features & kClflushopt) != 0 ? flush_optimized : flush_plainly;
}
void store_fence() { _mm_sfence(); }
#else
void (*line_flush())(const std::byte*) { return nullptr; }
void store_fence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
#endif

class MappedMedium final : public Medium {
 public:
  MappedMedium(const HeapOptions& options, std::unique_ptr<io::File> file, int descriptor, std::byte* memory, uint64_t reserved)
      : delays_(options.medium == HeapMedium::kDelay),
        flush_ns_(options.flush_ns),
        file_(std::move(file)),
        path_(file_->path()),
        descriptor_(descriptor),
        memory_(memory),
        reserved_(reserved) {}
  ~MappedMedium() override {
    ::munmap(memory_, reserved_);
    ::close(descriptor_);
  }
  Status map_all() {
    uint64_t bytes = 0;
    if (Status status = size(&bytes); !status.ok()) return status;
    return map_up_to(bytes);
  }

  Status store(uint64_t offset, std::span<const std::byte> bytes) override {
    std::memcpy(memory_ + offset, bytes.data(), bytes.size());
    flush_lines(offset, bytes.size());
    return {};
  }
  Status fence() override {
    if (!delays_) store_fence();
    return {};
  }
  // patch() is never delayed, because studies with a delay measure transactions, not the replay
  // (section 4.1).
  Status patch(uint64_t offset, std::span<const std::byte> bytes) override {
    std::memcpy(memory_ + offset, bytes.data(), bytes.size());
    if (flushes_patched()) flush(offset, bytes.size());
    return {};
  }
  std::byte* memory() override { return memory_; }
  bool flushes_patched() const override { return !delays_; }
  bool fences_for_its_thread() const override { return !delays_; }
  void flush(uint64_t offset, uint64_t bytes) override { flush_lines(offset, bytes); }
  Status settle() override { return fence(); }

  Status read(uint64_t offset, std::span<std::byte> bytes) override {
    const uint64_t there = offset < mapped_ ? std::min<uint64_t>(bytes.size(), mapped_ - offset) : 0;
    if (there != 0) std::memcpy(bytes.data(), memory_ + offset, there);
    std::fill(bytes.begin() + static_cast<ptrdiff_t>(there), bytes.end(), std::byte{0});
    return {};
  }
  Status size(uint64_t* bytes) override { return file_->size(bytes); }
  // Reserves disk space, because a store into a hole kills the process if the disk is full.
  Status reserve(uint64_t bytes) override {
    if (bytes > reserved_) return {Code::kMemoryLimit, "'" + path_ + "' is as large as HeapOptions::capacity_bytes allows"};
    return file_->reserve(bytes);
  }
  Status extend(uint64_t bytes) override {
    if (Status status = reserve(bytes); !status.ok()) return status;
    if (Status status = sync_length(); !status.ok()) return status;
    return map_up_to(bytes);
  }
  Status map_copy_on_write(uint64_t offset, std::span<std::byte> memory) override {
    void* const mapped = ::mmap(memory.data(), memory.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, descriptor_,
                                static_cast<off_t>(offset));
    return mapped == memory.data() ? Status() : io::file_error("map", path_, errno);
  }

  std::string_view promise() const override {
    return delays_ ? "process crashes, but not power failures: a delay simulates persistent memory"
                   : "power failures, once cache lines are written back to persistent memory";
  }
  uint64_t syncs() const override { return 0; }

 private:
  // Writing back cache lines does not make the file's length durable, so the file must be synced.
  Status sync_length() {
    if (delays_ || uninterrupted([&] { return ::fsync(descriptor_); }) == 0) return {};
    return io::file_error("sync", path_, errno);
  }
  Status map_up_to(uint64_t bytes) {
    const uint64_t from = mapped_;
    const uint64_t page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    bytes = (bytes + page - 1) / page * page;
    if (bytes > reserved_) return {Code::kMemoryLimit, "'" + path_ + "' is larger than HeapOptions::capacity_bytes allows"};
    if (bytes <= from) return {};
    const int flags = MAP_FIXED | (delays_ ? MAP_SHARED : MAP_SHARED_VALIDATE | MAP_SYNC);
    void* const mapped = ::mmap(memory_ + from, bytes - from, PROT_READ | PROT_WRITE, flags, descriptor_, static_cast<off_t>(from));
    if (mapped == memory_ + from) {
      mapped_ = bytes;
      return {};
    }
    if (!delays_ && (errno == EOPNOTSUPP || errno == EINVAL))
      return {Code::kUnsupported, "'" + path_ + "' is not on persistent memory (a DAX file system); use HeapMedium::kFile"};
    return io::file_error("map", path_, errno);
  }

  void flush_lines(uint64_t offset, uint64_t bytes) {
    const uint64_t first = offset / kCacheLineBytes, last = (offset + bytes - 1) / kCacheLineBytes;
    if (delays_) {
      if (flush_ns_ == 0) return;
      const uint64_t until = now_ns() + (last - first + 1) * flush_ns_;
      while (now_ns() < until) pause();
    } else {
      for (uint64_t line = first; line <= last; ++line) flush_line_(memory_ + line * kCacheLineBytes);
    }
  }

  const bool delays_;
  const uint64_t flush_ns_;
  const std::unique_ptr<io::File> file_;
  const std::string path_;
  const int descriptor_;
  std::byte* const memory_;
  const uint64_t reserved_;
  std::atomic<uint64_t> mapped_{0};
  void (*const flush_line_)(const std::byte*) = line_flush();
};

}  // namespace

Status open_mapped_medium(const HeapOptions& options, std::unique_ptr<io::File> file, std::unique_ptr<Medium>* medium) {
  const std::string path = file->path();
  const int descriptor = uninterrupted([&] { return ::open(path.c_str(), O_RDWR | O_CLOEXEC); });
  if (descriptor < 0) return io::file_error("open", path, errno);
  // Reserves address space for the heap and the largest possible logs and markers.
  const uint64_t reserved = options.capacity_bytes + (uint64_t{64} << 32) + (uint64_t{1} << 31);
  void* const memory = ::mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    const int error = errno;
    ::close(descriptor);
    return {Code::kMemoryLimit, "cannot reserve address space for '" + path + "': " + std::strerror(error)};
  }
  auto mapped = std::make_unique<MappedMedium>(options, std::move(file), descriptor, static_cast<std::byte*>(memory), reserved);
  if (Status status = mapped->map_all(); !status.ok()) return status;
  *medium = std::move(mapped);
  return {};
}

}  // namespace elider::heap
