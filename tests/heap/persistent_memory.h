// PersistentMemory: a model of persistent memory behind caches, for tests of HeapMedium::kDax, and
// what a crash may leave of it.
//
// The model: the cache may write a store to the memory at any time, word by word. A flush of a line
// requests this, and a fence waits for what its own thread has flushed. So for each line of 64
// bytes, a crash leaves what the last such fence found in it, and possibly later stores: some of
// them in their order, and any words of the next one. Lines are independent of each other. The
// length of the file is durable at once. Reads see all stores.
// Thread safety: PersistentMemory all; CrashedMemory one thread at a time.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "heap/medium.h"

namespace elider::test {

class PersistentMemory {
 public:
  struct Event {
    enum class Kind : uint8_t { kFlushedStore, kFence, kSize };
    Kind kind;
    uint64_t thread;
    uint64_t offset;  // kSize: bytes
    std::vector<std::byte> bytes;
  };

  static constexpr uint64_t kBytesMax = 8 << 20;
  explicit PersistentMemory(std::vector<std::byte> contents) : contents_(std::move(contents)), size_(contents_.size()) {
    contents_.resize(kBytesMax);  // it stays where it is
  }

  std::byte* memory() { return contents_.data(); }
  uint64_t size() const {
    std::lock_guard lock(mutex_);
    return size_;
  }
  std::vector<Event> events() const {
    std::lock_guard lock(mutex_);
    return events_;
  }
  size_t event_count() const {
    std::lock_guard lock(mutex_);
    return events_.size();
  }

  void store(uint64_t offset, std::span<const std::byte> bytes) {
    std::lock_guard lock(mutex_);
    if (!bytes.empty()) std::memcpy(contents_.data() + offset, bytes.data(), bytes.size());
    record(offset, bytes.size());
  }
  // Flushes the current contents, as if this thread had just stored them.
  void flush(uint64_t offset, uint64_t bytes) {
    std::lock_guard lock(mutex_);
    record(offset, bytes);
  }
  void fence() {
    std::lock_guard lock(mutex_);
    events_.push_back({Event::Kind::kFence, thread(), 0, {}});
  }
  // The next extension fails after its room has been reserved.
  void refuse_extension() { refuses_ = true; }
  bool take_refusal() { return std::exchange(refuses_, false); }
  void extend(uint64_t bytes) {
    std::lock_guard lock(mutex_);
    if (bytes <= size_) return;
    size_ = bytes;
    events_.push_back({Event::Kind::kSize, thread(), bytes, {}});
  }

 private:
  uint64_t thread() { return threads_.try_emplace(std::this_thread::get_id(), threads_.size()).first->second; }
  void record(uint64_t offset, uint64_t bytes) {
    const std::byte* const first = contents_.data() + offset;
    events_.push_back({Event::Kind::kFlushedStore, thread(), offset, {first, first + bytes}});
  }

  mutable std::mutex mutex_;
  std::vector<std::byte> contents_;
  uint64_t size_;
  bool refuses_ = false;
  std::vector<Event> events_;
  std::map<std::thread::id, uint64_t> threads_;
};

class PersistentMedium final : public heap::Medium {
 public:
  explicit PersistentMedium(PersistentMemory& memory) : memory_(memory) {}
  Status store(uint64_t offset, std::span<const std::byte> bytes) override {
    memory_.store(offset, bytes);
    return {};
  }
  Status fence() override {
    memory_.fence();
    return {};
  }
  Status patch(uint64_t offset, std::span<const std::byte> bytes) override { return store(offset, bytes); }
  Status settle() override { return fence(); }
  std::byte* memory() override { return memory_.memory(); }
  bool flushes_patched() const override { return true; }
  bool fences_for_its_thread() const override { return true; }
  void flush(uint64_t offset, uint64_t bytes) override { memory_.flush(offset, bytes); }
  Status read(uint64_t offset, std::span<std::byte> bytes) override {
    std::memcpy(bytes.data(), memory_.memory() + offset, bytes.size());
    return {};
  }
  Status size(uint64_t* bytes) override {
    *bytes = memory_.size();
    return {};
  }
  Status reserve(uint64_t bytes) override {
    return bytes > PersistentMemory::kBytesMax ? Status(Code::kMemoryLimit, "the model is full") : Status();
  }
  Status extend(uint64_t bytes) override {
    if (Status status = reserve(bytes); !status.ok()) return status;
    if (memory_.take_refusal()) return {Code::kIoError, "cannot sync the model's length"};
    memory_.extend(bytes);
    return {};
  }
  Status map_copy_on_write(uint64_t offset, std::span<std::byte> memory) override;
  std::string_view promise() const override { return "a model"; }
  uint64_t syncs() const override { return 0; }

 private:
  PersistentMemory& memory_;
};

inline Status PersistentMedium::map_copy_on_write(uint64_t offset, std::span<std::byte> memory) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
  if (::mmap(memory.data(), memory.size(), PROT_READ | PROT_WRITE, kFlags, -1, 0) != memory.data())
    return io::file_error("map", "the model", errno);
  std::memcpy(memory.data(), memory_.memory() + offset, memory.size());
  return {};
}

class CrashedMemory {
 public:
  explicit CrashedMemory(std::vector<std::byte> before) : sure_(std::move(before)), now_(sure_) {}

  void apply(const PersistentMemory::Event& event) {
    using Kind = PersistentMemory::Event::Kind;
    switch (event.kind) {
      case Kind::kSize:
        sure_.resize(event.offset);
        now_.resize(event.offset);
        break;
      case Kind::kFlushedStore:
        if (!event.bytes.empty()) std::memcpy(now_.data() + event.offset, event.bytes.data(), event.bytes.size());
        for (uint64_t at = event.offset / kLine; at * kLine < event.offset + event.bytes.size(); ++at) {
          Contents contents{};
          std::memcpy(contents.data(), now_.data() + at * kLine, std::min<uint64_t>(kLine, now_.size() - at * kLine));
          unsure_[at].push_back({contents, event.thread});
        }
        break;
      case Kind::kFence:
        for (auto line = unsure_.begin(); line != unsure_.end();) {
          std::deque<Version>& versions = line->second;
          size_t durable = versions.size();
          while (durable != 0 && versions[durable - 1].flushed_by != event.thread) --durable;
          if (durable != 0) put(line->first, versions[durable - 1].contents, &sure_);
          versions.erase(versions.begin(), versions.begin() + static_cast<ptrdiff_t>(durable));
          line = versions.empty() ? unsure_.erase(line) : std::next(line);
        }
        break;
    }
  }

  const std::vector<std::byte>& nothing_unsure() const { return sure_; }
  const std::vector<std::byte>& everything() const { return now_; }
  // below(n): a number below n, drawn.
  template <class Below>
  std::vector<std::byte> image(Below&& below) const {
    std::vector<std::byte> image = sure_;
    for (const auto& [line, versions] : unsure_) {
      const size_t whole = below(versions.size() + 1);
      if (whole != 0) put(line, versions[whole - 1].contents, &image);
      if (whole == versions.size()) continue;
      for (uint64_t word = 0; word < kLine; word += 8)
        if (below(2) == 0 && line * kLine + word + 8 <= image.size())
          std::memcpy(image.data() + line * kLine + word, versions[whole].contents.data() + word, 8);
    }
    return image;
  }

 private:
  static constexpr uint64_t kLine = 64;
  using Contents = std::array<std::byte, kLine>;
  struct Version {
    Contents contents;
    uint64_t flushed_by;
  };
  static void put(uint64_t line, const Contents& contents, std::vector<std::byte>* to) {
    std::memcpy(to->data() + line * kLine, contents.data(), std::min<uint64_t>(kLine, to->size() - line * kLine));
  }

  std::vector<std::byte> sure_, now_;
  std::map<uint64_t, std::deque<Version>> unsure_;
};

}  // namespace elider::test
