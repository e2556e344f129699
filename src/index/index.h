// The interface of an index: a map from a key to a handle, an opaque nonzero 64-bit number.
//
// An index does not depend on rows, tables or transactions. In addition to a plain map, it provides
// the following to the transaction layer (DBX, section 4, "custom features"):
// - get_or_insert(),
// - a Witness of what a lookup or a scan has seen,
// - batched lookups that overlap their cache misses.
//
// Every index class is a template over its sync policy (src/sync), and is thread-safe if the policy
// is. The caller must be within a grace period, that is, between enter() and leave() of its Worker
// (base/worker.h). An index has:
//
//   Handle get(Key key, Hint& hint, Witness& witness)
//       Returns the handle, or kNoHandle. In either case `witness` is set to the Witness of the
//       leaf or bucket that was read.
//   InsertResult get_or_insert(Worker& worker, Key key, Handle candidate, Hint& hint)
//       Finds the key, or inserts it with `candidate` (DBX's get-with-insert).
//   bool remove(Worker& worker, Key key, Handle expected)
//       Removes the key and returns true if it maps to `expected`; otherwise returns false. A
//       removal increases the version of the leaf or bucket.
//   void multi_get(const Key* keys, size_t count, Handle* handles, Witness* witnesses, Ahead ahead)
//       Calls get() for each key, with overlapping cache misses.
//   size_t size()
//       Returns the number of entries. The result is approximate while other threads write.
//   size_t memory_bytes()
//   Status verify()
//   void dump(ostream)
//   static constexpr bool kOrdered
//
// An ordered index also has:
//
//   void read_leaf(const Bound<Key>& at, Direction direction, Hint& hint, Contents& contents)
//       Reads one leaf atomically: all its entries in key order, the range that it covers, and its
//       witnesses. If the direction is forward, it is the leaf that covers the key `at`; otherwise
//       the leaf that covers the key just below `at`. A scan is a sequence of such reads (scan.h).
//
// Each index defines its types Hint and Contents. A Hint remembers where the last operation ended.
// Keep one Hint per index and transaction, and do not use it after the grace period. The data in a
// Contents is readable until the Contents is destroyed, but byte keys only within the grace period.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <span>

#include "elider/key.h"

namespace elider::index {

using Handle = uint64_t;
inline constexpr Handle kNoHandle = 0;

// A witness of a leaf or bucket. While holds() returns true, the leaf or bucket has the same set of
// keys as when the witness was made: no key has been inserted, removed, or moved away by a split. A
// witness is valid only within the grace period. Witnesses detect phantoms and reads of absent keys
// (DBX, section 5.3, "range query").
struct Witness {
  const std::atomic<uint64_t>* version = nullptr;
  uint64_t value = 0;
  // acquire: the reads that follow a commit's validation must not move before it.
  bool holds() const { return version->load(std::memory_order_acquire) == value; }
};

// The exclusive upper end of a range. If `end` is true, the range extends to the largest key,
// inclusive.
template <class Key>
struct Bound {
  Key key{};
  bool end = false;
  bool above(const Key& other) const { return end || other < key; }
};

// The keys from `from`, inclusive, up to `to`, exclusive.
template <class Key>
struct Range {
  Key from{};
  Bound<Key> to{{}, true};
  bool empty() const { return !to.above(from); }
  bool covers(const Key& key) const { return !(key < from) && to.above(key); }
};

enum class Direction : uint8_t { kForward, kBackward };

// If the index's handles are addresses: the cache lines that a lookup should prefetch, as a list of
// offsets from the handle. The lookup prefetches them as soon as it finds the handle, so their
// misses overlap with the misses of the next keys.
using Ahead = std::span<const uint32_t>;
inline void prefetch_ahead(Handle handle, Ahead ahead) {
  for (const uint32_t offset : ahead) __builtin_prefetch(reinterpret_cast<const char*>(handle) + offset, 0, 3);
}

struct InsertResult {
  Handle handle = kNoHandle;  // the existing handle, or the candidate; kNoHandle: out of memory
  bool inserted = false;
  // The following are set if `inserted` is true. `before` and `after` are the leaf's witnesses just
  // before and just after the insertion. If the insertion split the leaf, `split_off` is the
  // witness of the new sibling; otherwise its version is null. A transaction that had read the leaf
  // replaces `before` with `after` and adds `split_off`, so that it does not mistake its own
  // insertion for a phantom.
  Witness before, after, split_off;
};

// The hint type of an index that does not use hints. It gives all indexes the same interface.
struct NoHint {};

// The key of a secondary index: the indexed value, followed by the row's primary key, which
// distinguishes entries with equal values.
struct SecondaryKey {
  uint64_t value = 0;
  Key primary = 0;
  friend auto operator<=>(const SecondaryKey&, const SecondaryKey&) = default;
};

}  // namespace elider::index
