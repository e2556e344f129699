// Arena: a bump allocator for a transaction's row images (private copies of rows). All of its
// memory is freed together when the transaction ends.
//
// Allocations are 16-byte aligned and uninitialized. The arena keeps its first block between
// transactions and frees all other blocks. If hardware transactions write into the arena, new
// blocks are prefaulted (htm/prefault.h), because a page fault aborts a hardware transaction.
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
  // Frees `memory` if it is the most recent allocation. Otherwise does nothing.
  void give_back(std::byte* memory, size_t bytes) {
    if (memory + ((bytes + kAlign - 1) & ~(kAlign - 1)) == at_) at_ = memory;
  }
  // Returns true if `memory` is in the used part of the first block.
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
  // Overwrites the used memory, including the generation numbers in the image headers, so that
  // RawView::shows() detects a view that has outlived its transaction. Builds with assertions also
  // postpone the reuse of this memory, so that such views are detected for longer. However, if
  // hardware transactions write into the memory, it is reused immediately, so that their cache
  // footprint does not vary.
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
  std::byte* marked_ = at_;  // where the memory that the next clear_and_mark() overwrites begins
};

}  // namespace elider::txn
