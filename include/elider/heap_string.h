// HeapString: a string of bytes in a durable heap. Up to 24 bytes are stored in the object itself.
//
// A HeapString whose bytes are all zero is empty. A HeapString must be stored in the heap. Use it
// only through `txn[pointer]`. A copy of a HeapString refers to the same bytes, so call clear() on
// only one of the copies. Call clear() before the memory of the HeapString itself is freed.
// Thread safety: that of the transaction.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "elider/heap.h"
#include "elider/try.h"

namespace elider {

class HeapString {
 public:
  uint64_t size(const HeapReader& reader) const { return reader.read(size_); }
  bool empty(const HeapReader& reader) const { return size(reader) == 0; }
  std::string str(const HeapReader& reader) const {
    std::string text(reader.read(size_), '\0');
    reader.read_bytes(bytes(reader), std::as_writable_bytes(std::span(text.data(), text.size())));
    return text;
  }
  // Returns a negative number if the string is less than `other`, 0 if they are equal, and
  // otherwise a positive number.
  int compare(const HeapReader& reader, std::string_view other) const { return std::string_view(str(reader)).compare(other); }
  bool equals(const HeapReader& reader, std::string_view other) const { return size(reader) == other.size() && str(reader) == other; }

  //   kMemoryLimit  the heap is full
  Status assign(HeapTransaction& txn, std::string_view text) {
    txn.write(size_, 0);  // so that append() does not copy the old bytes
    return append(txn, text);
  }
  Status append(HeapTransaction& txn, std::string_view text) {
    const uint64_t size = txn.read(size_);
    ELIDER_TRY(reserve(txn, size + text.size()));
    txn.write_bytes(const_cast<char*>(bytes(txn)) + size, std::as_bytes(std::span(text)));
    txn.write(size_, size + text.size());
    return {};
  }
  // Empties the string and frees its memory.
  Status clear(HeapTransaction& txn) {
    if (txn.read(capacity_) != 0) ELIDER_TRY(txn.free(txn.read(far_)));
    txn.write(size_, 0);
    txn.write(capacity_, 0);
    return {};
  }

 private:
  static constexpr uint64_t kNear = 24;

  const char* bytes(const HeapReader& reader) const { return reader.read(capacity_) == 0 ? near_ : &reader[reader.read(far_)]; }
  Status reserve(HeapTransaction& txn, uint64_t wanted) {
    const uint64_t capacity = txn.read(capacity_);
    if (wanted <= (capacity == 0 ? kNear : capacity)) return {};
    wanted = std::max(wanted, 2 * capacity);
    ELIDER_ASSIGN(const HeapPtr<char> data, txn.allocate<char>(wanted));
    const std::string kept = str(txn);
    txn.write_bytes(&txn[data], std::as_bytes(std::span(kept)));
    if (capacity != 0) ELIDER_TRY(txn.free(txn.read(far_)));
    txn.write(far_, data);
    txn.write(capacity_, wanted);
    return {};
  }

  uint64_t size_ = 0;
  uint64_t capacity_ = 0;  // 0 if the bytes are in near_
  HeapPtr<char> far_;
  char near_[kNear] = {};
};

}  // namespace elider
