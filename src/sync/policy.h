// Policy: what a sync policy is: how the nodes of an index, and an
// operation as a whole, are guarded.
//
// An index algorithm is written once, against this concept, and instantiated a policy:
//
//   Latch                   one an index, alone on its cache line
//   section(latch, operation, body)
//                           runs body(), one attempt of one operation, and returns what it returns.
//                           body begins and ends in section()'s frame, allocates and frees nothing,
//                           makes no system call, throws nothing, and hands its results back by
//                           value, or in locals of its caller that it sets before it reads them: so
//                           a policy may run it as one hardware transaction (several times, of
//                           which one counts), or under one lock. `operation` is its kind, for the
//                           policy's statistics.
//   ReadGuard(word)         from here the node's reads are validated; waits while a writer holds it
//     obsolete()            the node has been unlinked: start over
//     valid()               nothing changed since the guard was made. Before: what was read means
//                           nothing, and may be used for nothing but to read on
//     version()             the word as it was; a Witness is made of it
//     resume(word, version) a guard of an earlier reading, e.g. of a hint
//     current()             of a resumed guard, before any read: the node is still of that version
//   WriteGuard(word, read)  takes the node for writing if it is as `read` saw it; never waits, so
//                           there is no deadlock and no lock order among nodes
//     owns()                false: start over
//     raise(), retire()     what the word becomes when the guard ends: of the next version, or
//                           obsolete. By default it goes back to what it was
//     after()               that value
//   kConcurrent             whether operations may meet in time
//   kRegions                whether sections run as hardware transactions: memory that a body is
//                           the first to write is then touched beforehand, and records and commits
//                           use them, too
//
// A guard that cannot fail under a policy says so with a constant, and the compiler
// drops the retry. Results come by return value; nothing throws. Thread safety: a
// guard belongs to one thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sync/version_word.h"

namespace elider::sync {

// The operations of an index, each of which has its own ways to abort.
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

// Whether the policy has a backend of hardware transactions, though it may be one without regions;
// and so the protocols that elision is compared with.
template <class S>
inline constexpr bool kElides = requires { typename S::Backend; };

}  // namespace elider::sync
