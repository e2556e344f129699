// HashTable: batched lookups, insertion, removal, and retries of lookups with which a writer has
// interfered. Included by the instantiations only. An insertion writes at most two buckets, and a
// removal at most three; a bucket is one cache line.
#pragma once

#include <algorithm>
#include <new>
#include <utility>

#include "base/bits.h"
#include "index/hash/hash_table.h"

namespace elider::index {

template <sync::Policy Sync, class KeyType>
HashTable<Sync, KeyType>::HashTable(Keys keys) : keys_(std::move(keys)) {
  first_directory_[0] = first_buckets_.data();
  directory_.store(first_directory_.data(), std::memory_order_release);
}

template <sync::Policy Sync, class KeyType>
auto HashTable<Sync, KeyType>::get_again(uint64_t hash, uint64_t tag, Key key) -> Found {
  Spin spin;
  while (true) {
    const Found found = Sync::section(latch_, sync::Operation::kGet, [&] {
      if constexpr (Keys::kBytes) return find_exactly(hash, tag, key);
      else return find(hash, tag, {});
    });
    if (found.valid) return found;
    spin.wait();
  }
}

// Like find(), but compares the keys themselves, within the section.
template <sync::Policy Sync, class KeyType>
auto HashTable<Sync, KeyType>::find_exactly(uint64_t hash, uint64_t tag, Key key) const -> Found {
  Bucket* head;
  ReadGuard guard;
  if (!locate(hash, head, guard)) return {false, kNoHandle, {}};
  const Handle handle = find_key(head, tag, key, guard);
  return {guard.valid(), handle, {head->word.address(), guard.version()}};
}

// Finds the key among the chain's entries with its tag. Returns kNoHandle if the key is absent. The
// result is meaningless if the guard has become invalid, which the caller must check.
template <sync::Policy Sync, class KeyType>
Handle HashTable<Sync, KeyType>::find_key(const Bucket* head, uint64_t tag, Key key, const ReadGuard& guard) const {
  for (const Bucket* bucket = head; bucket; bucket = bucket->next())
    for (unsigned i = 0; i < Bucket::kEntries; ++i) {
      if (bucket->tag(i) != tag) continue;
      const Handle handle = bucket->handle(i);
      if (handle == kNoHandle) continue;
      if (!guard.valid()) return kNoHandle;
      if (!keys_.is_other(handle, key)) return handle;
    }
  return kNoHandle;
}

template <sync::Policy Sync, class KeyType>
void HashTable<Sync, KeyType>::multi_get(const BatchKey* keys, size_t count, Handle* handles, Witness* witnesses, Ahead ahead) {
  while (count > 0) {
    const size_t group = std::min(count, kGroup);
    uint64_t made[Keys::kBytes ? kGroup : 1];
    const uint64_t* tags = made;
    if constexpr (Keys::kBytes)
      for (size_t i = 0; i < group; ++i) made[i] = keys_.tag_of(key_of<Key>(keys[i]));
    else
      tags = keys;
    uint32_t failed =
        Sync::section(latch_, sync::Operation::kBatch, [&]() -> uint32_t { return get_group(tags, group, handles, witnesses, ahead); });
    if constexpr (Keys::kBytes)
      for (uint32_t i = 0; i < group; ++i)
        if ((failed >> i & 1) == 0 && keys_.is_other(handles[i], key_of<Key>(keys[i]))) [[unlikely]] failed |= uint32_t{1} << i;
    for (const uint32_t i : Bits(failed)) {
      const Found found = get_again(Keys::hash_of(tags[i]), tags[i], key_of<Key>(keys[i]));
      handles[i] = found.handle;
      if (witnesses) witnesses[i] = found.witness;
    }
    keys += group;
    handles += group;
    if (witnesses) witnesses += group;
    count -= group;
  }
}

// Looks up a group of tags in three passes: the first computes the buckets, the second reads their
// heads, and the third reads the overflow buckets for the tags that are not in the heads. Each pass
// prefetches what the next one, or the caller, reads first. Returns one bit per tag, set if the
// tag's lookup failed.
template <sync::Policy Sync, class KeyType>
uint32_t HashTable<Sync, KeyType>::get_group(const uint64_t* tags, size_t count, Handle* handles, Witness* witnesses, Ahead ahead) const {
  const size_t n = bucket_count();
  size_t indexes[kGroup];
  Bucket* heads[kGroup];
  for (size_t i = 0; i < count; ++i) {
    indexes[i] = index_of(Keys::hash_of(tags[i]), n);
    heads[i] = bucket_at(indexes[i]);
    __builtin_prefetch(heads[i], 0, 3);
  }
  ELIDER_TEST_POINT("hash.buckets_chosen");
  ReadGuard guards[kGroup];
  const Bucket* followers[kGroup];
  uint32_t unfound = 0, failed = 0;
  for (size_t i = 0; i < count; ++i) {
    guards[i] = ReadGuard(heads[i]->word);
    handles[i] = heads[i]->find(tags[i]);
    followers[i] = heads[i]->next();
    if (handles[i] != kNoHandle) {
      keys_.prefetch(handles[i]);
      prefetch_ahead(handles[i], ahead);
    } else if (followers[i]) {
      __builtin_prefetch(followers[i], 0, 3);
      unfound |= uint32_t{1} << i;
    }
  }
  for (const uint32_t i : Bits(unfound)) {
    const Bucket* bucket = followers[i];
    for (; bucket && handles[i] == kNoHandle; bucket = bucket->next()) handles[i] = bucket->find(tags[i]);
    keys_.prefetch(handles[i]);
    prefetch_ahead(handles[i], ahead);
  }
  // The number of buckets is read only once for all keys, because all guards have been acquired.
  const size_t n_now = bucket_count();
  for (size_t i = 0; i < count; ++i) {
    if (n_now != n && index_of(Keys::hash_of(tags[i]), n_now) != indexes[i]) [[unlikely]] failed |= uint32_t{1} << i;
    if (!guards[i].valid()) [[unlikely]] failed |= uint32_t{1} << i;
    if (witnesses) witnesses[i] = {heads[i]->word.address(), guards[i].version()};
  }
  return failed;
}

template <sync::Policy Sync, class KeyType>
InsertResult HashTable<Sync, KeyType>::get_or_insert(Worker& worker, Key key, Handle candidate) {
  const uint64_t tag = keys_.tag_of(key), hash = Keys::hash_of(tag);
  Spin spin;
  Bucket* spare = nullptr;
  while (true) {
    const InsertAttempt attempt =
        Sync::section(latch_, sync::Operation::kInsert, [&] { return try_insert(hash, tag, key, candidate, spare); });
    if (attempt.progress == Progress::kDone) [[likely]] {
      const bool unused = spare && !attempt.used_spare;
      if (unused) worker.free(spare, sizeof(Bucket), MemoryPart::kIndexes);
      if (attempt.result.inserted) {
        const int64_t mine = counts_.add(worker.id(), 1, attempt.used_spare ? int64_t{sizeof(Bucket)} : 0);
        if (mine % kInsertsBetweenGrowth == 0) grow(worker);
      }
      return attempt.result;
    }
    if (attempt.progress == Progress::kNeedsBucket) {
      void* const memory = worker.allocate(sizeof(Bucket), MemoryPart::kIndexes);
      if (!memory) return {};
      spare = new (memory) Bucket;
    } else {
      spin.wait();
    }
  }
}

template <sync::Policy Sync, class KeyType>
auto HashTable<Sync, KeyType>::try_insert(uint64_t hash, uint64_t tag, [[maybe_unused]] Key key, Handle candidate, Bucket* spare)
    -> InsertAttempt {
  Bucket* head;
  ReadGuard guard;
  if (!locate(hash, head, guard)) return {};
  InsertAttempt attempt;
  const Witness before{head->word.address(), guard.version()};
  Bucket* const second = head->next();
  Handle handle = head->find(tag);
  for (const Bucket* bucket = second; bucket && handle == kNoHandle; bucket = bucket->next()) handle = bucket->find(tag);
  if constexpr (Keys::kBytes)
    if (handle != kNoHandle) handle = find_key(head, tag, key, guard);
  if (handle != kNoHandle) {
    if (!guard.valid()) return {};
    attempt.result = {.handle = handle, .inserted = false, .before = before, .after = before, .split_off = {}};
    attempt.progress = Progress::kDone;
    return attempt;
  }
  Bucket* roomy = second ? second : head;
  unsigned position = roomy->count();
  if (position == Bucket::kEntries && !spare) {
    attempt.progress = guard.valid() ? Progress::kNeedsBucket : Progress::kRestart;
    return attempt;
  }
  WriteGuard write(head->word, guard);
  if (!write.owns()) return {};
  ELIDER_TEST_POINT("hash.locked_for_insert");
  if (position == Bucket::kEntries) {
    spare->set(0, tag, candidate);
    spare->set_next(second);
    head->set_next(spare);
    attempt.used_spare = true;
  } else {
    roomy->set(position, tag, candidate);
  }
  write.raise();
  attempt.result = {
      .handle = candidate, .inserted = true, .before = before, .after = {head->word.address(), write.after()}, .split_off = {}};
  attempt.progress = Progress::kDone;
  return attempt;
}

template <sync::Policy Sync, class KeyType>
bool HashTable<Sync, KeyType>::remove(Worker& worker, Key key, Handle expected) {
  if (keys_.is_other(expected, key)) return false;
  const uint64_t tag = keys_.tag_of(key), hash = Keys::hash_of(tag);
  Spin spin;
  while (true) {
    const RemoveAttempt attempt = Sync::section(latch_, sync::Operation::kRemove, [&] { return try_remove(hash, tag, expected); });
    if (attempt.progress == Progress::kDone) [[likely]] {
      if (attempt.emptied) retire(worker, attempt.emptied);
      if (attempt.removed) counts_.add(worker.id(), -1, 0);
      return attempt.removed;
    }
    spin.wait();
  }
}

// Moves the last entry of the only bucket that may have room to the slot of the removed entry.
template <sync::Policy Sync, class KeyType>
auto HashTable<Sync, KeyType>::try_remove(uint64_t hash, uint64_t tag, Handle expected) -> RemoveAttempt {
  Bucket* head;
  ReadGuard guard;
  if (!locate(hash, head, guard)) return {};
  Bucket* holder = head;
  const auto holds = [&](const Bucket* bucket) {
    if constexpr (Keys::kBytes) return bucket->holds(tag, expected);  // other entries of the bucket may have the same tag
    else return bucket->find(tag) == expected;
  };
  while (holder && !holds(holder)) holder = holder->next();
  if (!holder) return {guard.valid() ? Progress::kDone : Progress::kRestart, false, nullptr};
  WriteGuard write(head->word, guard);
  if (!write.owns()) return {};
  unsigned position = 0;
  while (holder->tag(position) != tag || holder->handle(position) != expected) ++position;
  Bucket* const second = head->next();
  Bucket* const roomy = second ? second : head;
  const unsigned last = roomy->count() - 1;
  holder->set(position, roomy->tag(last), roomy->handle(last));
  roomy->clear(last);
  write.raise();
  RemoveAttempt attempt{Progress::kDone, true, nullptr};
  if (second && last == 0) {
    head->set_next(second->next());
    attempt.emptied = second;
  }
  return attempt;
}

template <sync::Policy Sync, class KeyType>
void HashTable<Sync, KeyType>::retire(Worker& worker, Bucket* bucket) {
  counts_.add(worker.id(), 0, -int64_t{sizeof(Bucket)});
  worker.retire_memory(bucket, sizeof(Bucket), MemoryPart::kIndexes);
}

}  // namespace elider::index
