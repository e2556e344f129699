// Policy: the C++ concept for sync policies. A sync policy defines how whole index operations, and
// single index nodes, are protected from other threads.
//
// An index algorithm is written once, against this concept, and instantiated for each policy:
//
//   `Latch`  One for each index, with its own cache line.
//   `section(latch, operation, body)`  Runs body(), which is one attempt of one operation, and
//       returns its result. body() starts and ends in section()'s stack frame. It must not
//       allocate, free, throw or make a system call. It returns results by value, or in local
//       variables of its caller. It must set such a variable before it reads it. These rules allow
//       a policy to run body() under a lock, or as a hardware transaction. A hardware transaction
//       may take several attempts; only one of them takes effect. `operation` is the kind of the
//       operation, for statistics.
//   `ReadGuard(word)`  Begins to read the node. Waits while a writer holds the node.
//     `obsolete()`  The node has been unlinked, so the caller must start over.
//     `valid()`  The node has not changed since the guard was made. Before this check, data that
//         was read is unreliable, and may be used only to continue reading.
//     `version()`  The version word when the guard was made. Witnesses are made from it.
//     `resume(word, version)`  Returns a guard for an earlier version, for example that of a hint.
//     `current()`  Called on a resumed guard before any read: returns true if the node still has
//     that version.
//   `WriteGuard(word, read)`  Locks the node for writing if the node is unchanged since `read`.
//       Never waits, so nodes may be locked in any order without deadlocks.
//     `owns()`  Whether the node was locked. If not, the caller must start over.
//     `raise()`, `retire()`  When the guard ends, the version word gets the next version, or
//         becomes obsolete. By default it is restored.
//     `after()`  The version word after the guard ends.
//   `kConcurrent`  Whether operations may run concurrently.
//   `kRegions`  Whether sections run as hardware transactions. If so, the index touches fresh
//       memory before a body writes to it, and reads of rows and commits also use hardware
//       transactions.
//
// If a guard cannot fail under a policy, its functions return constants, so the compiler removes
// the code for a retry. Results are returned by value, and no function throws. Thread safety: a
// guard belongs to one thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sync/version_word.h"

namespace elider::sync {

// The operations of an index. They are counted separately, because their hardware transactions
// abort for different reasons.
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
// The protocols that elision is compared with (lab/baselines) also require such a policy.
template <class S>
inline constexpr bool kElides = requires { typename S::Backend; };

}  // namespace elider::sync
