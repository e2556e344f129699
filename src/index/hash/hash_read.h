// HashTable: reads whole buckets while other threads write, for an iteration over the table.
// Included by the instantiations only.
//
// Growth moves entries only from a bucket to a bucket with a higher index. Entries that were in a
// bucket are therefore still in that bucket, or in buckets that have been split off from it since.
// Reading these buckets in ascending order does not miss any entry.
#pragma once

#include <algorithm>
#include <bit>

#include "base/spin.h"
#include "index/hash/hash_table.h"

namespace elider::index {

// Appends the entries of bucket `index`, read atomically.
template <sync::Policy Sync, class KeyType>
void HashTable<Sync, KeyType>::copy_bucket(size_t index, Entries* entries) const {
  struct Attempt {
    bool valid;
    size_t count;
  };
  const size_t before = entries->size();
  size_t room = 2 * Bucket::kEntries;
  Spin spin;
  while (true) {
    entries->resize(before + room);
    Entries::value_type* const to = entries->data() + before;
    const Attempt attempt = Sync::section(latch_, sync::Operation::kScan, [&]() -> Attempt {
      const Bucket* const head = bucket_at(index);
      const ReadGuard guard(head->word);
      size_t count = 0;
      for (const Bucket* bucket = head; bucket; bucket = bucket->next())
        for (unsigned i = 0; i < Bucket::kEntries; ++i) {
          const Handle handle = bucket->handle(i);
          if (handle == kNoHandle) continue;
          if (count < room) to[count] = {Keys::entry_key(bucket->tag(i)), handle};
          ++count;
        }
      return {guard.valid(), count};
    });
    if (attempt.valid && attempt.count <= room) {
      entries->resize(before + attempt.count);
      return;
    }
    if (attempt.valid) room = 2 * attempt.count;
    else spin.wait();
  }
}

template <sync::Policy Sync, class KeyType>
void HashTable<Sync, KeyType>::read_bucket(size_t index, size_t n, Entries* entries) const {
  const size_t before = entries->size();
  copy_bucket(index, entries);
  size_t done = n, now = bucket_count();
  if (now == n) [[likely]] return;
  // Reads the buckets that were split off, in ascending order. Bucket b + f is split off from
  // bucket b, for each power of two f above b.
  std::vector<size_t> family = {index};
  for (; done != now; done = now, now = bucket_count())
    for (size_t f = std::bit_floor(done); f < now; f *= 2) {
      const size_t parents = family.size();
      for (size_t i = 0; i < parents; ++i) {
        const size_t child = family[i] + f;
        if (family[i] >= f || child < done || child >= now) continue;
        family.push_back(child);
        copy_bucket(child, entries);
      }
    }
  // If an entry was moved meanwhile, it may have been read twice. An entry with a byte key does not
  // contain the key, and is identified by its handle.
  const auto first = entries->begin() + static_cast<std::ptrdiff_t>(before);
  const auto identity = [](const Entries::value_type& entry) { return Keys::kBytes ? entry.second : entry.first.number(); };
  std::sort(first, entries->end(), [&](const auto& a, const auto& b) { return identity(a) < identity(b); });
  entries->erase(std::unique(first, entries->end(), [&](const auto& a, const auto& b) { return identity(a) == identity(b); }),
                 entries->end());
}

}  // namespace elider::index
