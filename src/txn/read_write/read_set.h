// The records that an optimistic transaction keeps of its reads (DBX, section 5.2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "index/index.h"
#include "storage/record.h"
#include "storage/table.h"

namespace elider::txn {

using detail::KeyRef;

// A column group that was read, with the commit word that it had when it was copied or found
// absent.
struct ReadEntry {
  storage::Cell* cell;
  uint64_t word;
  KeyRef key;
  detail::TableBase* table;
};

// The ReadEntries of a transaction, in the order of its reads. The set keeps its memory between
// transactions. Thread safety: none.
class ReadSet {
 public:
  ReadSet() : ReadSet(kFirstEntries) {}
  ReadSet(ReadSet&& other) noexcept : begin_(std::move(other.begin_)), end_(other.end_), limit_(other.limit_) {}

  // Appends an entry. If push() throws std::bad_alloc, the set is unchanged.
  [[gnu::always_inline]] inline void push(const ReadEntry& entry) {
    if (end_ == limit_) [[unlikely]] grow();
    *end_++ = entry;
  }
  void pop() { --end_; }
  void clear() { end_ = begin_.get(); }
  // Removes the entries after the first `count`.
  void shrink_to(size_t count) { end_ = begin_.get() + count; }

  size_t size() const { return static_cast<size_t>(end_ - begin_.get()); }
  ReadEntry& operator[](size_t i) { return begin_[i]; }
  const ReadEntry& operator[](size_t i) const { return begin_[i]; }
  const ReadEntry& newest() const { return end_[-1]; }
  const ReadEntry* begin() const { return begin_.get(); }
  const ReadEntry* end() const { return end_; }

 private:
  static constexpr size_t kFirstEntries = 64;

  explicit ReadSet(size_t room) : begin_(new ReadEntry[room]), end_(begin_.get()), limit_(end_ + room) {}
  [[gnu::noinline]] void grow() {
    ReadSet larger(2 * size());
    larger.end_ = std::copy(begin(), end(), larger.end_);
    std::swap(begin_, larger.begin_);
    end_ = larger.end_;
    limit_ = larger.limit_;
  }

  std::unique_ptr<ReadEntry[]> begin_;
  ReadEntry* end_;
  ReadEntry* limit_;
};

// An index leaf or hash bucket that was read by a scan, or by the lookup of an absent key. The
// commit must verify that no key has been added or removed there since. `seen` is the number of
// rows that were present in the part that was read, not counting the transaction's own writes. For
// a leaf of a secondary index, the entry refers to a list of ranges instead, so that the many
// unique checks of one transaction need only one entry per leaf.
struct NodeEntry {
  static constexpr uint32_t kUnknown = ~uint32_t{0};
  enum class Kind : uint8_t {
    kKey,           // one key, `from`
    kRange,         // the keys from `from` up to `to`, or to the end
    kIndexRanges,   // `seen` is the position of the newest of the leaf's ScannedEntries
    kMoreWitness,   // an additional witness of the entry at position `seen`
  };
  index::Witness witness;
  detail::TableBase* table;
  KeyRef from, to;
  uint32_t seen;  // kUnknown: the transaction has blindly written one of the rows
  Kind kind;
  bool to_end = false;
  // Returns the key that an error message names.
  KeyRef key() const { return from; }
  bool is_of(const index::Witness& w) const { return witness.version == w.version && witness.value == w.value; }
};
static_assert(sizeof(NodeEntry) == 48);

// The part of a secondary index leaf that was read: the entries from `from` up to `to`, or up to
// the end. `seen` is the number of these entries whose rows were present and had the entry's value,
// not counting the transaction's own writes. The entries have the form of txn/kept_key.h.
struct ScannedEntries {
  static constexpr uint32_t kNone = ~uint32_t{0};
  index::SecondaryKey from, to;
  uint32_t index;
  uint32_t seen;  // NodeEntry::kUnknown: the number could not be determined
  uint32_t next;  // the position of an older range of the same leaf, or kNone
  bool to_end = false;
};

}  // namespace elider::txn
