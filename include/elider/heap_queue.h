// HeapQueue: a first-in, first-out queue in a durable heap. A push and a pop conflict only if the
// queue is empty, because they write to different cache lines, and each slot has its own flag that
// says whether it is occupied.
//
// A HeapQueue whose bytes are all zero is empty. A HeapQueue must be stored in the heap. Use it
// only through `txn[pointer]`.
// Thread safety: that of the transaction.
#pragma once

#include <cstddef>
#include <cstdint>

#include "elider/heap.h"
#include "elider/try.h"

namespace elider {

template <HeapObject T>
class HeapQueue {
 public:
  uint64_t size(const HeapReader& reader) const { return reader.read(tail_.moved) - reader.read(head_.moved); }

  //   kMemoryLimit  the heap is full
  Status push(HeapTransaction& txn, const T& value) {
    HeapPtr<Segment> segment = txn.read(tail_.segment);
    uint64_t index = txn.read(tail_.index);
    if (!segment || index == kPlaces) {
      ELIDER_ASSIGN(const HeapPtr<Segment> more, txn.allocate<Segment>());
      if (segment)
        txn.write(txn[segment].next, more);
      else
        txn.write(head_.segment, more);
      txn.write(tail_.segment, more);
      segment = more;
      index = 0;
    }
    Place& place = txn[segment].places[index];
    txn.write(place.value, value);
    txn.write(place.full, 1);
    txn.write(tail_.index, index + 1);
    txn.write(tail_.moved, txn.read(tail_.moved) + 1);
    return {};
  }
  //   kNotFound  the queue is empty
  Result<T> front(const HeapReader& reader) const {
    HeapPtr<Segment> segment = reader.read(head_.segment);
    uint64_t index = reader.read(head_.index);
    if (segment && index == kPlaces) {
      segment = reader.read(reader[segment].next);
      index = 0;
    }
    if (!segment || reader.read(reader[segment].places[index].full) == 0) return Status(Code::kNotFound, "the queue is empty");
    return reader.read(reader[segment].places[index].value);
  }
  Result<T> pop(HeapTransaction& txn) {
    Result<T> value = front(txn);
    if (!value.ok()) return value;
    uint64_t index = txn.read(head_.index);
    if (index == kPlaces) {
      const HeapPtr<Segment> segment = txn.read(head_.segment);
      const HeapPtr<Segment> next = txn.read(txn[segment].next);
      ELIDER_TRY(txn.free(segment));
      txn.write(head_.segment, next);
      index = 0;
    }
    txn.write(head_.index, index + 1);
    txn.write(head_.moved, txn.read(head_.moved) + 1);
    return value;
  }
  // Removes all elements and frees their memory.
  Status clear(HeapTransaction& txn) {
    for (HeapPtr<Segment> segment = txn.read(head_.segment); segment;) {
      const HeapPtr<Segment> next = txn.read(txn[segment].next);
      ELIDER_TRY(txn.free(segment));
      segment = next;
    }
    txn.write(head_, {});
    txn.write(tail_, {});
    return {};
  }

 private:
  struct Place {
    uint64_t full;  // 1 after push(). Never reset, because pop() writes only to the head
    T value;
  };
  static constexpr uint64_t kPlaces = sizeof(Place) >= 256 ? 4 : 1024 / sizeof(Place);
  struct Segment {
    HeapPtr<Segment> next;
    Place places[kPlaces];
  };
  struct End {
    HeapPtr<Segment> segment;
    uint64_t index = 0;       // position in the segment at which the next push or pop takes place
    uint64_t moved = 0;       // total number of elements that were pushed or popped
    uint64_t apart[13] = {};  // keeps the two ends on different 64-byte cache lines, because conflicts are detected per cache line
  };

  End head_, tail_;
};

}  // namespace elider
