// Cursor: iterates once over the entries of an index. Several threads may share a cursor, and other
// threads may write to the index meanwhile.
//
// An entry that is in the index during the whole iteration is returned exactly once. Other entries
// may or may not be returned. Thread safety: all threads may call next(), each within a grace
// period. Between two calls, no thread needs to be within a grace period, because a cursor copies
// the key at which it continues.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "index/byte_key.h"
#include "index/index.h"

namespace elider::index {

// Entries of an index. If the index has byte keys, the entries' keys are empty; the rows contain
// them.
using Entries = std::vector<std::pair<KeyRef, Handle>>;

class Cursor {
 public:
  virtual ~Cursor() = default;
  // Appends about `count` further entries, in key order if the index is ordered. Returns false at
  // the end.
  virtual bool next(size_t count, Entries* entries) = 0;
};

// The cursor of an ordered index.
template <class Tree>
class LeafCursor final : public Cursor {
 public:
  explicit LeafCursor(Tree& tree) : tree_(tree) {}

  bool next(size_t count, Entries* entries) override {
    const size_t before = entries->size();
    std::lock_guard lock(mutex_);
    while (!ended_ && entries->size() - before < count) {
      typename Tree::Hint hint;
      tree_.read_leaf({at_, false}, Direction::kForward, hint, leaf_);
      for (size_t i = 0; i < leaf_.count; ++i)
        if (!(leaf_.keys[i] < at_)) add(leaf_.keys[i], leaf_.handles[i], entries);  // a leaf may cover the range of an unlinked neighbour
      ended_ = leaf_.range.to.end;
      at_ = leaf_.range.to.key;
    }
    keep_position();
    return entries->size() != before || !ended_;
  }

 private:
  // A byte key that bounds a leaf belongs to the tree, which may free the key after the grace
  // period of this call. The next call may come from another grace period: the construction of
  // secondary indexes leaves the epoch between two calls (recovery/build_indexes.cc).
  void keep_position() {
    if constexpr (std::is_same_v<typename Tree::Key, ByteKey>) {
      if (at_.bytes == kept_.ref().bytes()) return;
      const Bytes at = elider::detail::bytes_of(ref_of(at_));
      const uint32_t zeros = at.size() > kKeyBytesMax ? 1 : 0;  // a bound just above the longest key ends with a zero byte
      kept_.set({at.data(), at.size() - zeros}, zeros);
      at_ = {kept_.ref().bytes()};
    }
  }

  static void add(const typename Tree::Key& key, Handle handle, Entries* entries) {
    if constexpr (std::is_same_v<typename Tree::Key, ByteKey>) entries->emplace_back(KeyRef(), handle);
    else entries->emplace_back(ref_of(key), handle);
  }

  Tree& tree_;
  std::mutex mutex_;  // guards the fields below; acquired before index latches
  typename Tree::Contents leaf_;
  typename Tree::Key at_{};
  std::conditional_t<std::is_same_v<typename Tree::Key, ByteKey>, elider::detail::KeyBuffer, NoHint> kept_;  // the bytes of at_
  bool ended_ = false;
};

// The cursor of a hash table. It visits the buckets that the table had when the cursor was created.
template <class Table>
class BucketCursor final : public Cursor {
 public:
  explicit BucketCursor(Table& table) : table_(table), buckets_(table.bucket_count()) {}

  bool next(size_t count, Entries* entries) override {
    constexpr size_t kEntriesABucket = 2;  // buckets have at least this many entries on average
    const size_t buckets = count / kEntriesABucket + 1;
    const size_t first = next_.fetch_add(buckets, std::memory_order_relaxed);  // relaxed: the counter only distributes buckets
    if (first >= buckets_) return false;
    for (size_t i = first, last = std::min(first + buckets, buckets_); i < last; ++i) table_.read_bucket(i, buckets_, entries);
    return true;
  }

 private:
  Table& table_;
  const size_t buckets_;
  std::atomic<size_t> next_{0};
};

template <class Index>
std::unique_ptr<Cursor> make_cursor(Index& index) {
  if constexpr (Index::kOrdered) return std::make_unique<LeafCursor<Index>>(index);
  else return std::make_unique<BucketCursor<Index>>(index);
}

}  // namespace elider::index
