// Roots: the objects of a heap that have names: a list of nodes, each {next, object, the object's
// bytes, lengths, name and type}.
// Thread safety: its transaction's.
#pragma once

#include <string>
#include <string_view>

#include "elider/heap.h"
#include "heap/attempt.h"

namespace elider::heap {

struct RootNode {
  uint64_t next;
  uint64_t object;
  uint64_t object_bytes;
  uint32_t name_bytes, type_bytes;
  // Then the name and the type.
};

// kNotFound, kSchemaMismatch (of another type), kInvalidArgument (no name).
Status find_root(detail::HeapAttempt& attempt, std::string_view name, std::string_view type, size_t bytes, uint64_t* object);
Status make_root(detail::HeapAttempt& attempt, std::string_view name, std::string_view type, size_t bytes, uint64_t* object);
Status remove_root(detail::HeapAttempt& attempt, std::string_view name);

}  // namespace elider::heap
