// HeapVector: an array in a durable heap that grows at its end.
//
//   ELIDER_ASSIGN(auto numbers, txn.root<HeapVector<uint64_t>>("numbers"));
//   ELIDER_TRY(txn[numbers].push_back(txn, 7));
//
// A HeapVector whose bytes are all zero is empty. A HeapVector must be stored in the heap. Use it
// only through `txn[pointer]`. Functions that change the vector take a HeapTransaction, and
// functions that only read it take a HeapReader. push_back() returns kMemoryLimit if the heap is
// full. When the capacity doubles, push_back() copies all elements, which must fit into one
// transaction (HeapOptions::log_bytes).
// Thread safety: that of the transaction.
#pragma once

#include <cstddef>
#include <cstdint>

#include "elider/heap.h"
#include "elider/try.h"

namespace elider {

template <HeapObject T>
class HeapVector {
 public:
  uint64_t size(const HeapReader& reader) const { return reader.read(size_); }
  // `index` must be below size().
  T read(const HeapReader& reader, uint64_t index) const { return reader.read(at(reader, index)); }
  void write(HeapTransaction& txn, uint64_t index, const T& value) { txn.write(at(txn, index), value); }

  Status push_back(HeapTransaction& txn, const T& value) {
    const uint64_t size = txn.read(size_);
    if (size == txn.read(capacity_)) ELIDER_TRY(reserve(txn, size == 0 ? kFirst : 2 * size));
    txn.write(at(txn, size), value);
    txn.write(size_, size + 1);
    return {};
  }
  //   kNotFound  the vector is empty
  Result<T> pop_back(HeapTransaction& txn) {
    const uint64_t size = txn.read(size_);
    if (size == 0) return Status(Code::kNotFound, "the vector is empty");
    T& last = at(txn, size - 1);
    txn.claim(last);
    const T value = txn.read(last);
    txn.write(size_, size - 1);
    return value;
  }
  // Allocates memory for at least this many elements.
  Status reserve(HeapTransaction& txn, uint64_t capacity) {
    if (capacity <= txn.read(capacity_)) return {};
    ELIDER_ASSIGN(const HeapPtr<T> data, txn.allocate<T>(capacity));
    const uint64_t size = txn.read(size_);
    const HeapPtr<T> old = txn.read(data_);
    for (uint64_t i = 0; i < size; ++i) txn.write((&txn[data])[i], txn.read((&txn[old])[i]));
    ELIDER_TRY(txn.free(old));
    txn.write(data_, data);
    txn.write(capacity_, capacity);
    return {};
  }
  // Removes all elements and frees their memory.
  Status clear(HeapTransaction& txn) {
    ELIDER_TRY(txn.free(txn.read(data_)));
    txn.write(data_, {});
    txn.write(size_, 0);
    txn.write(capacity_, 0);
    return {};
  }
  // Calls visit(index, value) for each element until visit() returns false. visit() must not change
  // the vector.
  template <class Visit>
  void for_each(const HeapReader& reader, Visit&& visit) const {
    const uint64_t size = reader.read(size_);
    for (uint64_t i = 0; i < size; ++i)
      if (!detail::visit_and_go_on(visit, i, read(reader, i))) return;
  }

 private:
  static constexpr uint64_t kFirst = 8;
  const T& at(const HeapReader& reader, uint64_t index) const { return (&reader[reader.read(data_)])[index]; }
  T& at(const HeapTransaction& txn, uint64_t index) const { return (&txn[txn.read(data_)])[index]; }

  HeapPtr<T> data_;
  uint64_t size_ = 0, capacity_ = 0;
};

}  // namespace elider
