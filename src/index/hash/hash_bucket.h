// The buckets of the hash table: one cache line with three entries each, linked into chains.
//
//   +---------+---------+-----------+--------------+
//   | word  8 | next  8 | 3 keys 24 | 3 handles 24 |    64 bytes
//   +---------+---------+-----------+--------------+
//
// The version word of a chain's head guards the whole chain. It is also the Witness of every key
// that belongs to the chain, present or absent. A chain is dense: each bucket is filled from the
// front, and only the second bucket may have room, or the head if it is the only bucket. A slot
// without an entry has kNoHandle.
//
// Thread safety: readers use the racy accessors and validate the head's version word. Only the
// thread that holds the chain's lock may write. `next` pointers never form a cycle, even during a
// change, so every walk ends.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/racy.h"
#include "elider/key.h"
#include "index/index.h"
#include "sync/version_word.h"

namespace elider::index {

struct alignas(64) HashBucket {
  static constexpr unsigned kEntries = 3;

  sync::VersionWord word;  // used only in the head of a chain

  HashBucket* next() const { return next_.load(std::memory_order_acquire); }
  void set_next(HashBucket* next) { next_.store(next, std::memory_order_release); }
  Key key(unsigned i) const { return racy_load(keys_[i]); }
  Handle handle(unsigned i) const { return racy_load(handles_[i]); }
  void set(unsigned i, Key key, Handle handle) {
    racy_store(keys_[i], key);
    racy_store(handles_[i], handle);
  }
  void clear(unsigned i) { racy_store(handles_[i], kNoHandle); }

  // Makes this an empty bucket without a successor. Other threads must not be able to reach the
  // bucket, unless the chain's head is locked.
  void start() {
    set_next(nullptr);
    for (unsigned i = 0; i < kEntries; ++i) set(i, 0, kNoHandle);
  }
  unsigned count() const {
    unsigned n = 0;
    while (n < kEntries && handle(n) != kNoHandle) ++n;
    return n;
  }
  // Looks up the key in this bucket only. Returns kNoHandle if it is absent. The handle is selected
  // without a branch, because a branch on the position would be unpredictable. The slots after the
  // last entry may still contain removed keys, without a handle. If the key is present, its entry
  // precedes these slots. The slots are compared from the last to the first, so the entry takes
  // precedence over a removed key.
  Handle find(Key key) const {
    static_assert(kEntries == 3);
    const Handle first = handle(0), second = handle(1), third = handle(2);
    Handle found = this->key(2) == key ? third : kNoHandle;
    found = this->key(1) == key ? second : found;
    return this->key(0) == key ? first : found;
  }

 private:
  std::atomic<HashBucket*> next_{nullptr};
  Key keys_[kEntries] = {};
  Handle handles_[kEntries] = {};
};
static_assert(sizeof(HashBucket) == 64);

// Every bit of the key affects every bit of the hash. The lowest bits select the bucket.
inline uint64_t hash_of(Key key) {
  uint64_t hash = key;
  hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93u;
  hash = (hash ^ (hash >> 29)) * 0xc2b2ae3d27d4eb4fu;
  return hash ^ (hash >> 32);
}

}  // namespace elider::index
