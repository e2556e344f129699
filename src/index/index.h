// What every index is: a map from a key to a handle, an opaque 64-bit number that is not 0.
//
// An index knows no rows, tables or transactions. What it gives the transaction layer beyond a map
// (DBX, section 4, "custom features"): get_or_insert, a Witness of what a lookup or a scan saw, and
// batched lookups that overlap their cache misses.
//
// Every index class is a template over its sync policy (src/sync) and offers, thread-safe as that
// policy is, all within a grace period (the caller's Worker has entered, see base/worker.h):
//
//   Handle get(Key key, Hint& hint, Witness& witness)
//       The handle or kNoHandle. `witness` is of the leaf or bucket that was read, in either case.
//   InsertResult get_or_insert(Worker& worker, Key key, Handle candidate, Hint& hint)
//       Finds the key, or inserts it with `candidate` (DBX's get-with-insert).
//   bool remove(Worker& worker, Key key, Handle expected)
//       Removes the key if it maps to `expected`; false if not. Raises the leaf's or bucket's
//       version.
//   void multi_get(const Key* keys, size_t count, Handle* handles, Witness* witnesses, Ahead ahead)
//       get() of each, with the misses of all overlapped.
//   size_t size() (approximate while others write), memory_bytes(), verify() -> Status
//   dump(ostream)
//   static constexpr bool kOrdered
// and the ordered ones
//   void read_leaf(const Bound<Key>& at, Direction direction, Hint& hint, Contents& contents)
//       Atomically: all entries of one leaf, in key order, the range that it covers, and its
//       witnesses. Forward: the leaf that covers the key `at`. Backward: the leaf that covers what
//       is next below `at`. A scan is a sequence of these (scan.h).
// Hint and Contents are types of the index. A Hint remembers where the last operation ended; keep
// one an index and transaction, and let it end with the grace period. What a Contents holds may be
// read until it is destroyed.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <span>

#include "elider/key.h"

namespace elider::index {

using Handle = uint64_t;
inline constexpr Handle kNoHandle = 0;

// While holds(), no key has been inserted into, removed from, or split off the leaf or bucket it is
// of, since the read that made it. Valid within the grace period. This is how phantoms and reads of
// absent keys are detected (DBX, section 5.3, "range query").
struct Witness {
  const std::atomic<uint64_t>* version = nullptr;
  uint64_t value = 0;
  // acquire: the reads that follow a commit's validation must not move before it.
  bool holds() const { return version->load(std::memory_order_acquire) == value; }
};

// Where a range ends, which the key itself is no part of; end: behind the largest key.
template <class Key>
struct Bound {
  Key key{};
  bool end = false;
  bool above(const Key& other) const { return end || other < key; }
};

// The keys from `from` up to `to`, which is no part of it.
template <class Key>
struct Range {
  Key from{};
  Bound<Key> to{{}, true};
  bool empty() const { return !to.above(from); }
  bool covers(const Key& key) const { return !(key < from) && to.above(key); }
};

enum class Direction : uint8_t { kForward, kBackward };

// Where handles are addresses: offsets from one whose cache lines are asked for as soon as it is
// found, so that these misses overlap with those of the keys after it.
using Ahead = std::span<const uint32_t>;
inline void prefetch_ahead(Handle handle, Ahead ahead) {
  for (const uint32_t offset : ahead) __builtin_prefetch(reinterpret_cast<const char*>(handle) + offset, 0, 3);
}

struct InsertResult {
  Handle handle = kNoHandle;  // the one that was there, or the candidate; kNoHandle: out of memory
  bool inserted = false;
  // If inserted: the leaf's witness as it was just before and just after, and, if the
  // leaf was split, that of the new sibling (else version is null). A transaction that
  // had read the leaf replaces `before` by `after`, and adds `split_off`, so that its own
  // insert is no phantom to itself.
  Witness before, after, split_off;
};

// Of an index that finds its place at once; the type is there for one interface.
struct NoHint {};

// The key of a secondary index: its value, then the row's primary key, so
// that equal values are apart.
struct SecondaryKey {
  uint64_t value = 0;
  Key primary = 0;
  friend auto operator<=>(const SecondaryKey&, const SecondaryKey&) = default;
};

}  // namespace elider::index
