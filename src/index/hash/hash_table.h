// HashTable: the unordered index, a chained hash table of cache-line buckets (DBX, section 4,
// "unordered store"). Each bucket has a version, which detects reads of absent keys.
//
// Unlike the hash table of DBX, it grows without a global lock. It is a linear hash table: with N
// buckets, 2^L <= N < 2^(L+1), a hash belongs to the bucket whose index is its low L+1 bits. If
// that bucket does not exist yet, the index is its low L bits. The table grows by one bucket at a
// time: bucket N takes over its share of the entries of bucket N - 2^L. Insertions perform a few
// such steps, so the table is never copied as a whole, no operation waits for long, and memory use
// follows the number of entries closely. Buckets never move. They are allocated in segments, which
// are found through a directory. If the directory is full, it is replaced by a larger one and
// retired.
//
// A table of byte keys stores a hash of each key, its tag. A lookup finds the tag in the table, and
// then compares the key in the row to which the handle points (row_key.h). If another key has the
// same tag, the lookup starts again and compares the keys of all entries with this tag. Keys may be
// compared outside the section that found the handle, so that a region does not read rows: the
// section has validated that the table contained the handle, the key never changes, and the row is
// not freed within the caller's grace period. A lookup takes effect when the section does.
//
// The table does not shrink, except that empty overflow buckets are unlinked and retired.
//
// Thread safety: the same as for the sync policy. Under Optimistic, Latched and Elided, all threads
// may call all operations. From an operation to the last use of its witness, the caller must stay
// within one grace period of its Worker. Buckets belong to the workers' Memory; the destructor does
// not free them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <utility>
#include <vector>

#include "base/sharded_counts.h"
#include "base/spin.h"
#include "base/test_points.h"
#include "base/worker.h"
#include "elider/status.h"
#include "index/cursor.h"
#include "index/hash/hash_bucket.h"
#include "index/hash/hash_keys.h"
#include "index/index.h"
#include "sync/elided.h"
#include "sync/exclusive.h"
#include "sync/optimistic.h"
#include "sync/policy.h"

namespace elider::index {

template <sync::Policy Sync, class KeyType = elider::Key>
class HashTable {
 public:
  using Key = KeyType;
  using Keys = HashKeys<Key>;
  using BatchKey = typename Keys::BatchKey;
  using Hint = NoHint;
  static constexpr bool kOrdered = false;

  // The keys of a table of byte keys are HashKeys(RowKey).
  explicit HashTable(Keys keys = Keys());
  HashTable(const HashTable&) = delete;
  HashTable& operator=(const HashTable&) = delete;

  // Returns the key's handle, or kNoHandle. In either case, sets `witness` to the Witness of the
  // key's bucket.
  Handle get(Key key, Witness& witness, Ahead ahead = {}) {
    const uint64_t tag = keys_.tag_of(key), hash = Keys::hash_of(tag);
    Found found = Sync::section(
        latch_, sync::Operation::kGet, [&]() __attribute__((always_inline)) { return find(hash, tag, ahead); });
    if constexpr (Keys::kBytes) ELIDER_TEST_POINT("hash.tag_found");
    if (!found.valid || keys_.is_other(found.handle, key)) [[unlikely]] found = get_again(hash, tag, key);
    witness = found.witness;
    return found.handle;
  }
  Handle get(Key key, Hint&, Witness& witness) { return get(key, witness); }

  // Finds the key, or inserts it with `candidate`, which must not be kNoHandle. If there is not
  // enough memory for an overflow bucket, the result's handle is kNoHandle, and the table is
  // unchanged.
  InsertResult get_or_insert(Worker& worker, Key key, Handle candidate);
  InsertResult get_or_insert(Worker& worker, Key key, Handle candidate, Hint&) { return get_or_insert(worker, key, candidate); }

  // Removes the key if it maps to `expected`, which must not be kNoHandle; otherwise returns false
  // and does not change anything.
  bool remove(Worker& worker, Key key, Handle expected);

  // Calls get() for keys[0 .. count) in groups whose cache misses overlap. `witnesses` may be null.
  void multi_get(const BatchKey* keys, size_t count, Handle* handles, Witness* witnesses, Ahead ahead = {});

  // Prefetches the key's bucket for an operation that follows soon.
  void prefetch(Key key) const { __builtin_prefetch(bucket_at(index_of(Keys::hash_of(keys_.tag_of(key)), bucket_count())), 0, 3); }

  // The number of entries; approximate while other threads write.
  size_t size() const { return static_cast<size_t>(std::max(counts_.entries(), int64_t{0})); }
  size_t memory_bytes() const { return sizeof(*this) + static_cast<size_t>(counts_.bytes()); }
  // Gives access to the policy's settings and statistics.
  typename Sync::Latch& latch() { return latch_; }
  size_t bucket_count() const { return bucket_count_.load(std::memory_order_acquire); }

  // Appends the entries that were in bucket `index` when the table had `n` buckets; n is an earlier
  // bucket_count(). Other threads may write meanwhile. An entry that is present throughout is
  // appended once; other entries may or may not be appended.
  void read_bucket(size_t index, size_t n, Entries* entries) const;
  // Frees the memory of all buckets but the first ones. The table must be empty. Afterwards, only
  // the destructor may be called.
  void free_buckets(Worker& worker);

  // Checks every invariant. No thread may write meanwhile. The message names the damaged bucket and
  // what is wrong with it.
  Status verify() const;
  // Prints the buckets, one per line. No thread may write meanwhile.
  void dump(std::ostream& out) const;

 private:
  using Bucket = HashBucket;
  using ReadGuard = typename Sync::ReadGuard;
  using WriteGuard = typename Sync::WriteGuard;

  static constexpr size_t kGroup = Sync::kRegions ? 16 : 32;  // keys per group: bounds the overlapping misses and a region's cache lines
  static_assert(kGroup <= 32, "a 32-bit word has a bit for each key of a group");
  // The first segments double in size, so that a small table uses little memory. They have 64 (a
  // member of the table), 64, 128, ..., 2048 buckets. All later segments have 4096 buckets, which
  // are 256 KiB.
  static constexpr size_t kFirstBuckets = 64;
  static constexpr size_t kSegmentBuckets = 4096;
  static constexpr unsigned kSmallSegments = 7;
  static constexpr size_t kFirstDirectory = 16;
  // The table grows when there are more than kFillEntries entries per kFillBuckets buckets.
  static constexpr uint64_t kFillEntries = 12;
  static constexpr uint64_t kFillBuckets = 5;
  static constexpr int64_t kInsertsBetweenGrowth = 16;
  static constexpr unsigned kStepsMax = 32;

  struct Found {
    bool valid;
    Handle handle;
    Witness witness;
  };
  // The result of one attempt at an operation. All results except kDone cause another attempt.
  enum class Progress : uint8_t { kDone, kRestart, kNeedsBucket };
  struct InsertAttempt {
    Progress progress = Progress::kRestart;
    bool used_spare = false;
    InsertResult result;
  };
  struct RemoveAttempt {
    Progress progress = Progress::kRestart;
    bool removed = false;
    Bucket* emptied = nullptr;  // unlinked; the caller retires it
  };
  struct StepAttempt {
    Progress progress = Progress::kRestart;
    Bucket* unused = nullptr;  // unlinked; a list through next(), which the caller retires
  };
  struct Builder;

  // Returns the bucket of a hash if there are `n` buckets.
  static size_t index_of(uint64_t hash, size_t n) {
    const size_t floor = size_t{1} << (std::numeric_limits<size_t>::digits - 1 - __builtin_clzll(n));  // n is not 0
    const size_t index = hash & (2 * floor - 1);
    return index - (index >= n ? floor : 0);
  }
  // segment_of() returns the segment that contains a bucket, first_of() the index of a segment's
  // first bucket, and buckets_of() the number of buckets in a segment.
  static unsigned segment_of(size_t index) {
    if (index >= kSegmentBuckets) return static_cast<unsigned>(kSmallSegments - 1 + index / kSegmentBuckets);
    return static_cast<unsigned>(std::bit_width(index / kFirstBuckets));
  }
  static size_t first_of(unsigned segment) {
    if (segment >= kSmallSegments) return (segment - kSmallSegments + 1) * kSegmentBuckets;
    return segment == 0 ? 0 : kFirstBuckets << (segment - 1);
  }
  static size_t buckets_of(unsigned segment) {
    if (segment >= kSmallSegments) return kSegmentBuckets;
    return segment == 0 ? kFirstBuckets : kFirstBuckets << (segment - 1);
  }
  // `index` must be below a bucket_count() that was read before.
  [[gnu::always_inline]] Bucket* bucket_at(size_t index) const {
    Bucket* const* const directory = directory_.load(std::memory_order_acquire);
    if (index >= kSegmentBuckets) [[likely]] return directory[kSmallSegments - 1 + index / kSegmentBuckets] + index % kSegmentBuckets;
    const unsigned segment = segment_of(index);
    return directory[segment] + (index - first_of(segment));
  }

  // Finds the hash's bucket and acquires its guard. Returns false if the table has grown meanwhile
  // and the hash belongs to another bucket; the caller then starts over. It suffices to read the
  // number of buckets a second time under the guard, because a growth step publishes the new number
  // before it unlocks the bucket.
  [[gnu::always_inline]] bool locate(uint64_t hash, Bucket*& head, ReadGuard& guard) const {
    const size_t n = bucket_count(), index = index_of(hash, n);
    head = bucket_at(index);
    ELIDER_TEST_POINT("hash.bucket_chosen");
    guard = ReadGuard(head->word);
    const size_t n_now = bucket_count();
    return n_now == n || [&]() __attribute__((noinline, cold)) { return index_of(hash, n_now) == index; }();
  }
  // Finds the first entry with this tag.
  [[gnu::always_inline]] Found find(uint64_t hash, uint64_t tag, Ahead ahead) const {
    Bucket* head;
    ReadGuard guard;
    if (!locate(hash, head, guard)) return {false, kNoHandle, {}};
    Handle handle = head->find(tag);
    // The epoch keeps an overflow bucket alive although the pointer has not been validated yet.
    if (handle == kNoHandle)
      for (const Bucket* bucket = head->next(); bucket && handle == kNoHandle; bucket = bucket->next()) handle = bucket->find(tag);
    prefetch_ahead(handle, ahead);
    return {guard.valid(), handle, {head->word.address(), guard.version()}};
  }

  void copy_bucket(size_t index, Entries* entries) const;
  Found get_again(uint64_t hash, uint64_t tag, Key key);
  Found find_exactly(uint64_t hash, uint64_t tag, Key key) const;
  Handle find_key(const Bucket* head, uint64_t tag, Key key, const ReadGuard& guard) const;
  uint32_t get_group(const uint64_t* tags, size_t count, Handle* handles, Witness* witnesses, Ahead ahead) const;
  InsertAttempt try_insert(uint64_t hash, uint64_t tag, Key key, Handle candidate, Bucket* spare);
  RemoveAttempt try_remove(uint64_t hash, uint64_t tag, Handle expected);
  void retire(Worker& worker, Bucket* bucket);
  Status verify_chain(size_t index, size_t n, size_t& entries, size_t& bytes) const;

  // hash_grow.h
  void grow(Worker& worker);
  bool add_segment(Worker& worker, size_t index);
  StepAttempt split_bucket(size_t n);

  // Every operation reads the number of buckets and the directory, and growth writes them.
  alignas(128) std::atomic<size_t> bucket_count_{kFirstBuckets};
  std::atomic<Bucket**> directory_;
  [[no_unique_address]] const Keys keys_;
  // The capacity of the directory, in pointers. Guarded by growing_.
  size_t directory_size_ = kFirstDirectory;
  alignas(128) mutable typename Sync::Latch latch_;
  // One worker at a time grows the table, and the others continue without waiting. This latch is
  // acquired before an index's latch.
  sync::SpinLatch growing_;
  ShardedCounts counts_;
  std::array<Bucket*, kFirstDirectory> first_directory_{};
  std::array<Bucket, kFirstBuckets> first_buckets_;
};

}  // namespace elider::index
