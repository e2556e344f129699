// HashTable: checks every invariant, and prints the table. Included by the instantiations only. No
// other thread may change the table meanwhile.
#pragma once

#include <ostream>
#include <string>

#include "index/hash/hash_table.h"

namespace elider::index {

inline Status hash_damage(size_t index, const std::string& words) {
  return Status(Code::kInvalidArgument, "hash table: bucket " + std::to_string(index) + ' ' + words);
}

template <sync::Policy Sync, class KeyType>
Status HashTable<Sync, KeyType>::verify() const {
  const size_t n = bucket_count();
  size_t entries = 0, bytes = 0;
  for (size_t i = 0; i < n; ++i)
    if (Status status = verify_chain(i, n, entries, bytes); !status.ok()) return status;
  if (entries != size())
    return Status::invalid_argument("hash table: its buckets hold " + std::to_string(entries) + " entries, but " +
                                    std::to_string(size()) + " were counted");
  for (unsigned segment = 1; segment <= segment_of(n - 1); ++segment) bytes += buckets_of(segment) * sizeof(Bucket);
  if (directory_.load(std::memory_order_acquire) != first_directory_.data()) bytes += directory_size_ * sizeof(Bucket*);
  const auto counted = static_cast<size_t>(counts_.bytes());
  if (counted != bytes)
    return Status::invalid_argument("hash table: its allocated memory is " + std::to_string(bytes) + " bytes, but " +
                                    std::to_string(counted) + " were counted");
  return {};
}

template <sync::Policy Sync, class KeyType>
Status HashTable<Sync, KeyType>::verify_chain(size_t index, size_t n, size_t& entries, size_t& bytes) const {
  const Bucket* const head = bucket_at(index);
  const uint64_t word = head->word.read();
  if (sync::VersionWord::locked(word)) return hash_damage(index, "is locked");
  if (sync::VersionWord::obsolete(word)) return hash_damage(index, "is obsolete");
  for (const Bucket* bucket = head; bucket; bucket = bucket->next()) {
    if (bucket != head) bytes += sizeof(Bucket);
    const unsigned count = bucket->count();
    entries += count;
    const bool may_have_room = bucket == head->next() || (bucket == head && !head->next());
    if (count < Bucket::kEntries && !may_have_room) return hash_damage(index, "has a chain with a gap");
    if (count == 0 && bucket != head) return hash_damage(index, "has an empty overflow bucket");
    for (unsigned i = 0; i < Bucket::kEntries; ++i) {
      if (i >= count) {
        if (bucket->handle(i) != kNoHandle) return hash_damage(index, "has an entry after a gap");
        continue;
      }
      const uint64_t tag = bucket->tag(i);
      const Handle handle = bucket->handle(i);
      if (index_of(Keys::hash_of(tag), n) != index) return hash_damage(index, "holds " + Keys::text(tag) + " of another bucket");
      if (!keys_.has_tag(handle, tag)) return hash_damage(index, "holds " + Keys::text(tag) + ", but the row's key has another tag");
      unsigned times = 0;
      for (const Bucket* other = head; other; other = other->next())
        for (unsigned j = 0; j < other->count(); ++j)
          times += other->tag(j) == tag && keys_.same_key(other->handle(j), handle) ? 1 : 0;
      if (times != 1) return hash_damage(index, "holds " + Keys::text(tag) + ' ' + std::to_string(times) + " times");
    }
  }
  return {};
}

template <sync::Policy Sync, class KeyType>
void HashTable<Sync, KeyType>::dump(std::ostream& out) const {
  const size_t n = bucket_count();
  out << "hash table (" << Sync::kName << "), " << n << " buckets, " << size() << " entries\n";
  for (size_t i = 0; i < n; ++i) {
    out << i << ": word " << bucket_at(i)->word.read() << ':';
    for (const Bucket* bucket = bucket_at(i); bucket; bucket = bucket->next()) {
      for (unsigned j = 0; j < bucket->count(); ++j) out << ' ' << bucket->tag(j) << "->" << bucket->handle(j);
      if (bucket->next()) out << " |";
    }
    out << '\n';
  }
}

}  // namespace elider::index
