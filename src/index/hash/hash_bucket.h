// The buckets of the hash table: one cache line each, three entries, chained.
//
//   +---------+---------+-----------+--------------+
//   | word  8 | next  8 | 3 keys 24 | 3 handles 24 |    64 bytes
//   +---------+---------+-----------+--------------+
//
// The head's word guards its whole chain, and is the Witness of every key that belongs
// there, present or not. A chain is kept dense: entries fill a bucket from the front, and
// only the bucket after the head (the head itself where it is alone) may have room. A slot
// without an entry has no handle.
//
// Thread safety: readers use the racy accessors and validate the head's word; whoever holds its
// lock writes. `next` never closes a circle, not even in the midst of a change, so every walk ends.
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

  sync::VersionWord word;  // of a head; unused in the others

  HashBucket* next() const { return next_.load(std::memory_order_acquire); }
  void set_next(HashBucket* next) { next_.store(next, std::memory_order_release); }
  Key key(unsigned i) const { return racy_load(keys_[i]); }
  Handle handle(unsigned i) const { return racy_load(handles_[i]); }
  void set(unsigned i, Key key, Handle handle) {
    racy_store(keys_[i], key);
    racy_store(handles_[i], handle);
  }
  void clear(unsigned i) { racy_store(handles_[i], kNoHandle); }

  // An empty one, without a successor. Not reachable by others, or its head is locked.
  void start() {
    set_next(nullptr);
    for (unsigned i = 0; i < kEntries; ++i) set(i, 0, kNoHandle);
  }
  unsigned count() const {
    unsigned n = 0;
    while (n < kEntries && handle(n) != kNoHandle) ++n;
    return n;
  }
  // The key's handle in this bucket alone. Handles are chosen without a branch: which entry it is
  // no processor can predict. Behind the entries may stand a key that is no more, without a handle;
  // one that is there stands before, and is chosen last.
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

// Every bit of the key moves every bit of the hash: buckets are chosen by the lowest bits.
inline uint64_t hash_of(Key key) {
  uint64_t hash = key;
  hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93u;
  hash = (hash ^ (hash >> 29)) * 0xc2b2ae3d27d4eb4fu;
  return hash ^ (hash >> 32);
}

}  // namespace elider::index
