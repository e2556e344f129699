// Roots: the named objects of a heap. They form a list of nodes. A node contains the next node, the
// object, the object's size, the lengths of the name and the type, the name and the type. Thread
// safety: used by the thread of its transaction. All threads may call a RootFilter.
#pragma once

#include <array>
#include <atomic>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "elider/function_ref.h"
#include "elider/heap.h"
#include "heap/attempt.h"

namespace elider::heap {

struct RootNode {
  uint64_t next;
  uint64_t object;
  uint64_t object_bytes;
  uint32_t name_bytes, type_bytes;
  // The name and the type follow.
};

// kNotFound. kSchemaMismatch: the root has another type. kInvalidArgument: the name is empty.
Status find_root(detail::HeapAttempt& attempt, std::string_view name, std::string_view type, size_t bytes, uint64_t* object);
Status make_root(detail::HeapAttempt& attempt, std::string_view name, std::string_view type, size_t bytes, uint64_t* object);
Status remove_root(detail::HeapAttempt& attempt, std::string_view name);

// A function that reads the heap's bytes from this offset on.
using ReadHeap = FunctionRef<void(uint64_t offset, std::span<std::byte> into)>;

// Calls visit(offset of the node, node) for each root. Returns false if the list is damaged, that
// is, if it has a cycle or leads out of the heap's objects, which end before `end`.
bool for_each_root(uint32_t threads, uint64_t end, ReadHeap read, FunctionRef<void(uint64_t, const RootNode&)> visit);
// Appends the roots to `roots`, with the names of their types as a programmer writes them.
bool list_roots(uint32_t threads, uint64_t end, ReadHeap read, std::vector<HeapRoot>* roots);

// kInvalidArgument: `offset` is a root's object or a node of the list, which must not be freed.
Status check_no_root(detail::HeapAttempt& attempt, uint64_t offset);

// A filter of the objects that may be roots. Without it, each freed object would be compared with
// all roots. Every object that was a root since the heap was opened remains in the filter.
class RootFilter {
 public:
  void add(uint64_t offset) {
    std::atomic<uint64_t>& word = word_of(offset);
    // relaxed: a thread that frees the object has seen the commit that made it a root.
    if ((word.load(std::memory_order_relaxed) & bit_of(offset)) == 0) word.fetch_or(bit_of(offset), std::memory_order_relaxed);
  }
  bool may_have(uint64_t offset) { return (word_of(offset).load(std::memory_order_relaxed) & bit_of(offset)) != 0; }

 private:
  static uint64_t hash(uint64_t offset) { return offset * 0x9e3779b97f4a7c15u; }
  static uint64_t bit_of(uint64_t offset) { return uint64_t{1} << (hash(offset) >> 58); }
  std::atomic<uint64_t>& word_of(uint64_t offset) { return words_[hash(offset) >> 52 & (words_.size() - 1)]; }

  std::array<std::atomic<uint64_t>, 16> words_{};
};

}  // namespace elider::heap
