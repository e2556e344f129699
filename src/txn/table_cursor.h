// TableCursor: goes through a table's row blocks once, by its key index, for several threads at a time and while
// others write: what a checkpoint reads, and what secondary indexes are built from.
//
// It promises each row block that is in the index throughout, once; of others, each may come or not. So every row of a
// snapshot comes, for its block cannot leave the index while the snapshot is read. It reads no rows.
//
// Thread safety: all. Callers are within a grace period that began before the cursor was made.
#pragma once

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "txn/table.h"

namespace elider::txn {

template <class Sync>
class TableCursor {
 public:
  using Entries = std::vector<std::pair<Key, index::Handle>>;

  explicit TableCursor(Table<Sync>& table) : table_(table), buckets_(table.ordered() ? 0 : table.hash().bucket_count()) {}

  Table<Sync>& table() { return table_; }

  // Replaces *entries by the next ones, about `count`; of an ordered table in key order. False: there are no more.
  bool next(size_t count, Entries* entries) {
    entries->clear();
    return table_.ordered() ? next_leaves(count, entries) : next_buckets(count, entries);
  }

 private:
  bool next_leaves(size_t count, Entries* entries) {
    index::LeafContents<Key> leaf;
    std::lock_guard lock(mutex_);
    while (!ended_ && entries->size() < count) {
      table_.tree().read_leaf(at_, leaf);
      for (size_t i = 0; i < leaf.count; ++i)
        if (leaf.keys[i] >= at_) entries->emplace_back(leaf.keys[i], leaf.handles[i]);  // a leaf may have taken over its neighbour's range
      ended_ = leaf.last == kKeyMax;
      if (!ended_) at_ = index::key_after(leaf.last);
    }
    return !entries->empty() || !ended_;
  }

  bool next_buckets(size_t count, Entries* entries) {
    constexpr size_t kEntriesABucket = 2;  // at least, on average
    const size_t buckets = count / kEntriesABucket + 1;
    const size_t first = next_bucket_.fetch_add(buckets, std::memory_order_relaxed);  // relaxed: it only shares out numbers
    if (first >= buckets_) return false;
    const size_t last = std::min(first + buckets, buckets_);
    for (size_t i = first; i < last; ++i) table_.hash().read_bucket(i, buckets_, entries);
    return true;
  }

  Table<Sync>& table_;
  const size_t buckets_;
  std::mutex mutex_;  // guards at_, ended_; before index latches
  Key at_ = 0;
  bool ended_ = false;
  std::atomic<size_t> next_bucket_{0};
};

}  // namespace elider::txn
