// HashTable: growth, one bucket per step. Included by the instantiations only.
//
// A step locks one bucket, divides its chain between that bucket and the new one, publishes the new
// number of buckets, and unlocks the bucket. A step does not allocate memory: because chains are
// dense, a chain of c buckets divides into two chains that need at most c - 1 overflow buckets. A
// step writes the cache lines of the two chains and of the number of buckets.
#pragma once

#include <algorithm>
#include <mutex>
#include <new>

#include "htm/prefault.h"
#include "index/hash/hash_table.h"

namespace elider::index {

// Builds a chain: fills its head, and then overflow buckets, which come from a list of unused
// buckets.
template <sync::Policy Sync, class KeyType>
struct HashTable<Sync, KeyType>::Builder {
  Bucket* head;
  Bucket* filling;
  unsigned count = 0;

  explicit Builder(Bucket* head_of_chain) : head(head_of_chain), filling(head_of_chain) { head->start(); }
  void add(uint64_t tag, Handle handle, Bucket*& unused) {
    if (count == Bucket::kEntries) {
      Bucket* const bucket = unused;
      unused = bucket->next();
      Bucket* const second = head->next();
      bucket->start();
      bucket->set_next(second);
      head->set_next(bucket);
      filling = bucket;
      count = 0;
    }
    filling->set(count++, tag, handle);
  }
};

template <sync::Policy Sync, class KeyType>
void HashTable<Sync, KeyType>::grow(Worker& worker) {
  const auto wanted = [this] { return size() * kFillBuckets > bucket_count() * kFillEntries; };
  if (!wanted()) return;
  std::unique_lock<sync::SpinLatch> growing;
  if constexpr (Sync::kConcurrent) {
    growing = std::unique_lock<sync::SpinLatch>(growing_, std::try_to_lock);
    if (!growing.owns_lock()) return;
  }
  for (unsigned step = 0; step < kStepsMax && wanted(); ++step) {
    const size_t n = bucket_count();
    // If there is not enough memory, chains get longer, and a later insertion tries again.
    if (n == first_of(segment_of(n)) && !add_segment(worker, n)) return;
    ELIDER_TEST_POINT("hash.before_migrate");
    Spin spin;
    while (true) {
      const StepAttempt attempt = Sync::section(latch_, sync::Operation::kInsert, [&] { return split_bucket(n); });
      if (attempt.progress == Progress::kDone) {
        for (Bucket* bucket = attempt.unused; bucket;) {
          Bucket* const next = bucket->next();
          retire(worker, bucket);
          bucket = next;
        }
        break;
      }
      spin.wait();
    }
    ELIDER_TEST_POINT("hash.after_migrate");
  }
}

// Allocates the segment that begins with bucket `index`, and widens the directory if necessary.
// Returns false if there is not enough memory.
template <sync::Policy Sync, class KeyType>
bool HashTable<Sync, KeyType>::add_segment(Worker& worker, size_t index) {
  const unsigned segment = segment_of(index);
  Bucket** directory = directory_.load(std::memory_order_acquire);
  if (segment == directory_size_) {
    const size_t bytes = directory_size_ * sizeof(Bucket*);
    auto** const wider = static_cast<Bucket**>(worker.allocate_optional(2 * bytes, MemoryPart::kIndexes));
    if (!wider) return false;
    std::copy_n(directory, directory_size_, wider);
    directory_.store(wider, std::memory_order_release);
    if (directory != first_directory_.data()) {
      worker.retire_memory(directory, bytes, MemoryPart::kIndexes);
      counts_.add(worker.id(), 0, -static_cast<int64_t>(bytes));
    }
    counts_.add(worker.id(), 0, static_cast<int64_t>(2 * bytes));
    directory = wider;
    directory_size_ *= 2;
  }
  const size_t bytes = buckets_of(segment) * sizeof(Bucket);
  void* const memory = worker.allocate_optional(bytes, MemoryPart::kIndexes);
  if (!memory) return false;
  if constexpr (Sync::kRegions) htm::prefault(memory, bytes);
  // The buckets are constructed one by one, as they come into use.
  directory[segment] = static_cast<Bucket*>(memory);
  counts_.add(worker.id(), 0, static_cast<int64_t>(bytes));
  return true;
}

template <sync::Policy Sync, class KeyType>
void HashTable<Sync, KeyType>::free_buckets(Worker& worker) {
  Bucket** const directory = directory_.load(std::memory_order_acquire);
  int64_t freed = 0;
  const auto free = [&](void* memory, size_t bytes) {
    worker.free(memory, bytes, MemoryPart::kIndexes);
    freed += static_cast<int64_t>(bytes);
  };
  for (unsigned segment = 1; segment <= segment_of(bucket_count() - 1); ++segment)
    free(directory[segment], buckets_of(segment) * sizeof(Bucket));
  if (directory != first_directory_.data()) free(directory, directory_size_ * sizeof(Bucket*));
  counts_.add(worker.id(), 0, -freed);
}

// Performs one step, from n buckets to n + 1.
template <sync::Policy Sync, class KeyType>
auto HashTable<Sync, KeyType>::split_bucket(size_t n) -> StepAttempt {
  Bucket* const source = bucket_at(n - std::bit_floor(n));
  const ReadGuard guard(source->word);
  WriteGuard write(source->word, guard);
  if (!write.owns()) return {};
  // No other thread reads the new bucket yet, so every witness of the new bucket is made after this
  // step.
  Bucket* const target = new (bucket_at(n)) Bucket;
  Bucket* rest = source;
  Bucket* unused = nullptr;
  uint64_t tags[Bucket::kEntries];
  Handle handles[Bucket::kEntries];
  // Copies a bucket's entries to `tags` and `handles`, so that the bucket can be reused.
  const auto empty = [&](Bucket* bucket) {
    const unsigned count = bucket->count();
    for (unsigned i = 0; i < count; ++i) {
      tags[i] = bucket->tag(i);
      handles[i] = bucket->handle(i);
    }
    rest = bucket->next();
    return count;
  };
  unsigned count = empty(source);
  Builder stays(source), goes(target);
  while (true) {
    for (unsigned i = 0; i < count; ++i) (index_of(Keys::hash_of(tags[i]), n + 1) == n ? goes : stays).add(tags[i], handles[i], unused);
    if (!rest) break;
    Bucket* const bucket = rest;
    count = empty(bucket);
    bucket->set_next(unused);
    unused = bucket;
  }
  bucket_count_.store(n + 1, std::memory_order_release);
  write.raise();
  return {Progress::kDone, unused};
}

}  // namespace elider::index
