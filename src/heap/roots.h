// Roots: the named objects of a heap. They form a linked list of nodes. A node contains the offsets
// of the next node and of the object, the object's size, the lengths of the root's name and of its
// type's name, and these two names. Thread safety: only the transaction's thread may call the
// functions. All threads may use a RootFilter.
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

// kNotFound: the heap does not have a root with this name. kSchemaMismatch: the root has another
// type or size. kInvalidArgument: the name is empty or too long.
Status find_root(detail::HeapAttempt& attempt, std::string_view name, std::string_view type, size_t bytes, uint64_t* object);
Status make_root(detail::HeapAttempt& attempt, std::string_view name, std::string_view type, size_t bytes, uint64_t* object);
Status remove_root(detail::HeapAttempt& attempt, std::string_view name);

// A function that fills `into` with the heap's bytes from `offset` on.
using ReadHeap = FunctionRef<void(uint64_t offset, std::span<std::byte> into)>;

// Calls visit(offset of the node, node) for each root. Returns false if the list is damaged, that
// is, if it has a cycle or refers to something outside the heap's objects, which end at `end`.
bool for_each_root(uint32_t threads, uint64_t end, ReadHeap read, FunctionRef<void(uint64_t, const RootNode&)> visit);
// Appends all roots to `roots`, with the demangled names of their types. Returns false if the list
// is damaged.
bool list_roots(uint32_t threads, uint64_t end, ReadHeap read, std::vector<HeapRoot>* roots);

// Checks that `offset` may be freed. kInvalidArgument: it is the offset of a root's object or of a
// node of the list.
Status check_no_root(detail::HeapAttempt& attempt, uint64_t offset);

// A Bloom filter of the objects and nodes that may belong to roots. It saves free() from comparing
// each object with all roots. Nothing is removed from the filter before the heap is closed.
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
