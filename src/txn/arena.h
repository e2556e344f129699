// Arena: the memory for the images of rows of one transaction. It is freed as a whole when the
// transaction ends.
//
// The memory is 16-byte aligned and not initialized. The arena keeps its first block between
// transactions and frees all other blocks. If hardware transactions write into the arena, each
// block is written once before that, so that its pages exist (htm/prefault.h).
// Thread safety: none. An arena belongs to one transaction.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "elider/table.h"
#include "htm/prefault.h"

namespace elider::txn {

class Arena {
 public:
  explicit Arena(bool for_regions)
      : for_regions_(for_regions), first_(new_block(kFirstBytes)), begin_(align(first_.get())), at_(begin_), end_(begin_ + kFirstBytes) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* allocate(size_t bytes) {
    bytes = (bytes + kAlign - 1) & ~(kAlign - 1);
    if (static_cast<size_t>(end_ - at_) < bytes) [[unlikely]] return allocate_block(bytes);
    std::byte* memory = at_;
    at_ += bytes;
    return memory;
  }
  // Takes back the memory that was allocated last. Other memory stays allocated.
  void give_back(std::byte* memory, size_t bytes) {
    if (memory + ((bytes + kAlign - 1) & ~(kAlign - 1)) == at_) at_ = memory;
  }
  // Whether the memory was allocated since the last clear() and is in the first block.
  bool holds(const void* memory) const {
    const auto* const at = static_cast<const std::byte*>(memory);
    return at >= begin_ && at < begin_ + kFirstBytes && (at < at_ || !more_.empty());
  }
  void clear() {
    if constexpr (kMarksEnded) return clear_and_mark();
    if (end_ != begin_ + kFirstBytes) [[unlikely]] return clear_and_mark();
    at_ = begin_;
  }
  // Makes the next clear() overwrite the allocated memory. Builds with assertions always do so.
  void mark_when_cleared() {
    if (end_ == begin_ + kFirstBytes) end_ -= kAlign;
  }

 private:
  static constexpr size_t kAlign = 16, kFirstBytes = 128 << 10;
#ifdef NDEBUG
  static constexpr bool kMarksEnded = false;
#else
  static constexpr bool kMarksEnded = true;
#endif
  // Overwrites the generations in the headers of the images, so that a view that outlives its
  // transaction is detected (RawView::shows). In builds with assertions, the next transactions do
  // not reuse this memory for a while. Regions are an exception, because their footprint would
  // vary.
  [[gnu::noinline]] void clear_and_mark() {
    std::byte* const end = more_.empty() ? at_ : begin_ + kFirstBytes;
    std::memset(marked_, 0xdd, static_cast<size_t>(end - marked_));
    const bool rewind = !kMarksEnded || for_regions_ || !more_.empty() || at_ - begin_ > static_cast<ptrdiff_t>(kFirstBytes / 2);
    more_.clear();
    if (rewind) at_ = begin_;
    end_ = begin_ + kFirstBytes;
    marked_ = at_;
  }
  static std::byte* align(std::byte* p) {
    return reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(p) + kAlign - 1) & ~(kAlign - 1));
  }
  std::byte* new_block(size_t bytes) const {
    auto* block = new std::byte[bytes + kAlign];
    if (for_regions_) htm::prefault(block, bytes + kAlign);
    return block;
  }
  [[gnu::noinline]] std::byte* allocate_block(size_t bytes) {
    const size_t size = bytes > (1 << 20) ? bytes : 1 << 20;
    more_.emplace_back(new_block(size));
    at_ = align(more_.back().get());
    end_ = at_ + size;
    std::byte* memory = at_;
    at_ += bytes;
    return memory;
  }
  const bool for_regions_;
  const std::unique_ptr<std::byte[]> first_;
  std::byte* const begin_;  // the start of the first block
  std::vector<std::unique_ptr<std::byte[]>> more_;
  std::byte* at_;
  std::byte* end_;
  std::byte* marked_ = at_;  // in builds with assertions, the first block is marked up to here
};

}  // namespace elider::txn
