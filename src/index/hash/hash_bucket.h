// The buckets of the hash table: one cache line with three entries each, linked into chains.
//
//   +---------+---------+-----------+--------------+
//   | word  8 | next  8 | 3 tags 24 | 3 handles 24 |    64 bytes
//   +---------+---------+-----------+--------------+
//
// A tag identifies a key. It is a number key itself, or a hash of a byte key (hash_keys.h). The
// version word of a chain's head guards the whole chain. It is also the Witness of every key that
// belongs to the chain, present or absent. A chain is dense: each bucket is filled from the front,
// and only the second bucket may have room, or the head if it is the only bucket. A slot without an
// entry has kNoHandle.
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
#include "index/index.h"
#include "sync/version_word.h"

namespace elider::index {

struct alignas(64) HashBucket {
  static constexpr unsigned kEntries = 3;

  sync::VersionWord word;  // used only in the head of a chain

  HashBucket* next() const { return next_.load(std::memory_order_acquire); }
  void set_next(HashBucket* next) { next_.store(next, std::memory_order_release); }
  uint64_t tag(unsigned i) const { return racy_load(tags_[i]); }
  Handle handle(unsigned i) const { return racy_load(handles_[i]); }
  void set(unsigned i, uint64_t tag, Handle handle) {
    racy_store(tags_[i], tag);
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
  // Looks up the tag in this bucket only. Returns kNoHandle if it is absent. The handle is selected
  // without a branch, because a branch on the position would be unpredictable. The slots after the
  // last entry may still contain removed tags, without a handle. If the tag is present, its entry
  // precedes these slots. The slots are compared from the last to the first, so the entry takes
  // precedence over a removed tag.
  Handle find(uint64_t tag) const {
    static_assert(kEntries == 3);
    const Handle first = handle(0), second = handle(1), third = handle(2);
    Handle found = this->tag(2) == tag ? third : kNoHandle;
    found = this->tag(1) == tag ? second : found;
    return this->tag(0) == tag ? first : found;
  }
  // Returns true if this bucket contains this entry.
  bool holds(uint64_t tag, Handle handle) const {
    for (unsigned i = 0; i < kEntries; ++i)
      if (this->tag(i) == tag && this->handle(i) == handle) return true;
    return false;
  }

 private:
  std::atomic<HashBucket*> next_{nullptr};
  uint64_t tags_[kEntries] = {};
  Handle handles_[kEntries] = {};
};
static_assert(sizeof(HashBucket) == 64);

}  // namespace elider::index
