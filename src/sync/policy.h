// Policy: the concept of a sync policy, which defines how an index operation as a whole and the
// nodes of an index are guarded.
//
// An index algorithm is written once, against this concept, and instantiated for each policy:
//
//   Latch                   one for each index, on a cache line of its own
//   section(latch, operation, body)
//                           runs body(), one attempt of one operation, and returns its result.
//                           body starts and ends in section()'s frame. It must not allocate, free,
//                           throw or make a system call. It passes results back by value, or in
//                           locals of its caller that it sets before it reads them. So a policy may
//                           run it under one lock, or as one hardware transaction (several times,
//                           of which one counts). `operation` is its kind, for statistics
//   ReadGuard(word)         starts to validate the node's reads; waits while a writer holds it
//     obsolete()            the node has been unlinked: the caller must start over
//     valid()               nothing has changed since the guard was made. Until then, what was read
//                           is unreliable and may only be used to read on
//     version()             the word when the guard was made; Witnesses are made from it
//     resume(word, version) a guard for an earlier version, for example that of a hint
//     current()             for a resumed guard, before any read: the node still has that version
//   WriteGuard(word, read)  locks the node for writing if it is as `read` saw it. It never waits,
//                           so nodes may be locked in any order, and deadlocks are impossible
//     owns()                false: the caller must start over
//     raise(), retire()     when the guard ends, the word gets the next version, or becomes
//                           obsolete. By default it is restored
//     after()               the word after the guard ends
//   kConcurrent             whether operations may run concurrently
//   kRegions                whether sections run as hardware transactions. If so, memory that a
//                           body is the first to write is touched beforehand, and records and
//                           commits also use hardware transactions
//
// If a guard cannot fail under a policy, its function returns a constant, and the compiler removes
// the retry. Results are returned by value, and no function throws. Thread safety: a guard belongs
// to one thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sync/version_word.h"

namespace elider::sync {

// The operations of an index. They are counted separately, because their regions abort for
// different reasons.
enum class Operation : uint8_t { kGet, kBatch, kScan, kInsert, kRemove };
inline constexpr size_t kOperations = 5;

template <class S>
concept Policy = requires(typename S::Latch& latch, VersionWord& word, typename S::ReadGuard read, typename S::WriteGuard& write) {
  { S::kName } -> std::convertible_to<std::string_view>;
  { S::kConcurrent } -> std::convertible_to<bool>;
  { S::kRegions } -> std::convertible_to<bool>;
  { S::section(latch, Operation::kGet, [] { return 1; }) } -> std::same_as<int>;
  typename S::ReadGuard;
  { S::ReadGuard::resume(word, uint64_t{0}) } -> std::same_as<typename S::ReadGuard>;
  { read.obsolete() } -> std::convertible_to<bool>;
  { read.valid() } -> std::convertible_to<bool>;
  { read.current() } -> std::convertible_to<bool>;
  { read.version() } -> std::same_as<uint64_t>;
  { write.owns() } -> std::convertible_to<bool>;
  { write.after() } -> std::same_as<uint64_t>;
  write.raise();
  write.retire();
};

// True if the policy has a backend for hardware transactions, even one that does not run regions.
// Such a policy also has the protocols that elision is compared with.
template <class S>
inline constexpr bool kElides = requires { typename S::Backend; };

}  // namespace elider::sync
