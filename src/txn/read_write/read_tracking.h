// ReadTracking: what a transaction has read, so that its commit can validate it. It records the
// commit word of each column group that was read, and the version of each index leaf or hash bucket
// that was searched, so that the commit detects phantoms (DBX, sections 5.2 and 5.3, "range
// query").
//
// The class does not make claims, and it does not know the transaction's own writes. The validation
// asks OwnWrites for these (own_writes.h). If validation fails because a leaf has changed, Repair
// can read the leaf again (repair.h).
//
// Thread safety: none. A ReadTracking object belongs to one transaction.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/test_points.h"
#include "index/index.h"
#include "txn/arena.h"
#include "txn/conflict.h"
#include "txn/kept_key.h"
#include "txn/pointer_map.h"
#include "txn/read_write/own_writes.h"
#include "txn/read_write/read_set.h"

namespace elider::txn {

// What a transaction records of its reads. Its claims determine this (txn/claims.h).
enum class Recording : uint8_t {
  kValidated,  // every read; the commit validates all of them
  kClaimed,    // every read; the commit validates only those that no claim covers
  kNone,       // nothing, because the hardware detects conflicts with the reads of a region
};

template <class Sync, Recording kRecording>
class Repair;

template <Recording kRecording>
class ReadTracking {
 public:
  // `arena` provides the memory for byte keys. The transaction clears the arena when it ends.
  explicit ReadTracking(Arena& arena) : arena_(arena) {}
  ReadTracking(const ReadTracking&) = delete;
  ReadTracking& operator=(const ReadTracking&) = delete;

  // -- rows ---------------------------------------------------------------------------------------
  [[gnu::always_inline]] inline void read(const ReadEntry& entry) {
    reads_.push(entry);
  }
  // Like read(), but the commit must validate the entry, because no claim covers it.
  [[gnu::always_inline]] inline void read_unclaimed(const ReadEntry& entry) {
    read(entry);
    if (kRecording == Recording::kClaimed) some_unclaimed_ = true;
  }
  const ReadSet& reads() const { return reads_; }
  // Drops the recorded reads after the first `count`.
  void forget_reads_after(size_t count) { reads_.shrink_to(count); }
  // If the entry at this position is a read of this cell, returns the commit word that was read.
  // The caller's write of the cell must then validate this word. Otherwise returns kUnknown.
  [[gnu::always_inline]] inline uint64_t leave_to_write(uint64_t position, const storage::Cell& cell) {
    if (position >= reads_.size() || reads_[position].cell != &cell) [[unlikely]] return storage::word::kUnknown;
    reads_[position].cell = nullptr;
    return reads_[position].word;
  }

  // -- leaves and buckets -------------------------------------------------------------------------
  // Tracks the leaf or bucket that contains the key, or would contain it.
  void track_key(detail::TableBase& table, const index::Witness& witness, KeyRef key);
  // Tracks the part of a leaf that a scan is about to read. Returns the position of the new entry,
  // which the scan passes to count_row() and end_range().
  template <class Witnesses, class IndexKey>
  uint32_t track_range(detail::TableBase& table, const Witnesses& witnesses, const index::Range<IndexKey>& covered);
  // Like track_range(), but tracks a leaf of secondary index i. Returns the position of the range,
  // which the scan passes to count_entry() and end_entries().
  template <class Witnesses, class IndexKey>
  uint32_t track_entries(detail::TableBase& table, uint32_t i, const Witnesses& witnesses, const index::Range<IndexKey>& covered);
  // Counts a row, or an entry that matches its row, in the part that was read. `presence` says
  // whether the row existed before the transaction's own writes.
  void count_row(uint32_t position, Presence presence) { count(nodes_[position].seen, presence); }
  void count_entry(uint32_t range, Presence presence) { count(index_ranges_[range].seen, presence); }
  // Shortens the part that was read, because the scan has stopped at this key or entry.
  template <class IndexKey>
  void end_range(uint32_t position, const IndexKey& key, index::Direction direction);
  template <class IndexKey>
  void end_entries(uint32_t range, const IndexKey& entry, index::Direction direction);
  // Updates the witnesses after an insert by this transaction, because its own insert is not a
  // phantom.
  void track_own_insert(const index::InsertResult& result);
  size_t leaves() const { return nodes_.size(); }
  // Makes the validation ignore the leaves after the first `count`. Only a mutant calls this.
  void ignore_leaves_after(size_t count) {
    static const std::atomic<uint64_t> never_changes{0};
    for (size_t i = count; i < nodes_.size(); ++i) nodes_[i].witness = {&never_changes, 0};
  }

  // -- validation ---------------------------------------------------------------------------------
  // The number of words that a validation compares.
  size_t size() const { return reads_.size() + nodes_.size(); }
  // Returns true if the transaction has read only one column group, which is valid at the instant
  // at which it was read.
  bool is_one_read() const { return reads_.size() == 1 && nodes_.empty(); }
  // rows_hold() returns true if all rows that must be validated are unchanged at the instant of the
  // call, and leaves_hold() returns true if all leaves and buckets are. Otherwise they set
  // *conflict and return false. kHeld: the caller is a commit that holds the locks of all rows that
  // it writes.
  template <bool kHeld>
  bool rows_hold(const OwnWrites& own, Conflict* conflict) const;
  bool leaves_hold(Conflict* conflict) const;

  // Forgets everything that was read, but keeps the memory for the next transaction.
  [[gnu::always_inline]] inline void clear() {
    reads_.clear();
    if (kRecording == Recording::kClaimed) some_unclaimed_ = false;
    if (!nodes_.empty()) forget_leaves();
  }

 private:
  template <class Sync, Recording kOther>
  friend class Repair;

  static bool is_same_key(const detail::TableBase& table, KeyRef a, KeyRef b) {
    return a == b || (table.byte_keys() && ByteKey{a.bytes()} == ByteKey{b.bytes()});
  }
  static void count(uint32_t& seen, Presence presence) {
    if (presence == Presence::kUnknown) seen = NodeEntry::kUnknown;
    else if (presence == Presence::kPresent && seen != NodeEntry::kUnknown) ++seen;
  }
  uint32_t add_node(const NodeEntry& node, bool is_new);
  template <class Witnesses>
  void track_more(detail::TableBase& table, const Witnesses& witnesses, uint32_t position);
  [[gnu::noinline]] void forget_leaves();

  Arena& arena_;
  ReadSet reads_;
  bool some_unclaimed_ = false;               // whether some reads are not claimed; used by kClaimed
  bool node_repeated_ = false;                // some leaf has several entries
  std::vector<NodeEntry> nodes_;
  std::vector<ScannedEntries> index_ranges_;  // the ranges that were read in leaves of secondary indexes
  PointerMap node_positions_;                 // positions in nodes_, by the address of the leaf's version
};

// Records nothing.
template <>
class ReadTracking<Recording::kNone> {
 public:
  explicit ReadTracking(Arena&) {}

  void read(const ReadEntry&) {}
  void read_unclaimed(const ReadEntry&) {}
  const ReadSet& reads() const { return none_; }
  void forget_reads_after(size_t) {}
  uint64_t leave_to_write(uint64_t, const storage::Cell&) { return storage::word::kUnknown; }
  void track_key(detail::TableBase&, const index::Witness&, KeyRef) {}
  uint32_t track_range(detail::TableBase&, const auto&, const auto&) { return 0; }
  uint32_t track_entries(detail::TableBase&, uint32_t, const auto&, const auto&) { return 0; }
  void count_row(uint32_t, Presence) {}
  void count_entry(uint32_t, Presence) {}
  void end_range(uint32_t, const auto&, index::Direction) {}
  void end_entries(uint32_t, const auto&, index::Direction) {}
  void track_own_insert(const index::InsertResult&) {}
  size_t leaves() const { return 0; }
  void ignore_leaves_after(size_t) {}
  void clear() {}

 private:
  ReadSet none_;
};

// -- leaves and buckets ---------------------------------------------------------------------------

template <Recording kRecording>
void ReadTracking<kRecording>::track_key(detail::TableBase& table, const index::Witness& witness, KeyRef key) {
  const auto is_this = [&](const NodeEntry& node) {
    return node.is_of(witness) && node.kind == NodeEntry::Kind::kKey && is_same_key(table, node.from, key);
  };
  if (!nodes_.empty() && is_this(nodes_.back())) return;
  const uint32_t known = node_positions_.find(witness.version);
  // If the leaf was read before at another version, the earlier witness will fail validation, as it
  // must.
  if (known != PointerMap::kNone && is_this(nodes_[known])) return;
  if (table.byte_keys()) [[unlikely]] key = kept_key(arena_, ByteKey{key.bytes()});
  add_node({witness, &table, key, {}, 0, NodeEntry::Kind::kKey}, known == PointerMap::kNone);
}

template <Recording kRecording>
template <class Witnesses, class IndexKey>
uint32_t ReadTracking<kRecording>::track_range(detail::TableBase& table, const Witnesses& witnesses,
                                               const index::Range<IndexKey>& covered) {
  const auto position = static_cast<uint32_t>(nodes_.size());
  add_node({witnesses[0], &table, kept_key(arena_, covered.from), kept_key(arena_, covered.to.key), 0, NodeEntry::Kind::kRange,
            covered.to.end},
           node_positions_.find(witnesses[0].version) == PointerMap::kNone);
  track_more(table, witnesses, position);
  return position;
}

template <Recording kRecording>
template <class Witnesses, class IndexKey>
uint32_t ReadTracking<kRecording>::track_entries(detail::TableBase& table, uint32_t i, const Witnesses& witnesses,
                                                 const index::Range<IndexKey>& covered) {
  const auto range = static_cast<uint32_t>(index_ranges_.size());
  index_ranges_.push_back(
      {kept_entry(arena_, covered.from), kept_entry(arena_, covered.to.key), i, 0, ScannedEntries::kNone, covered.to.end});
  const index::Witness& witness = witnesses[0];
  uint32_t known = static_cast<uint32_t>(nodes_.size() - 1);
  if (nodes_.empty() || !nodes_.back().is_of(witness) || nodes_.back().kind != NodeEntry::Kind::kIndexRanges)
    known = node_positions_.find(witness.version);
  if (known != PointerMap::kNone && nodes_[known].is_of(witness) && nodes_[known].kind == NodeEntry::Kind::kIndexRanges) {
    index_ranges_.back().next = nodes_[known].seen;
    nodes_[known].seen = range;
  } else {
    known = add_node({witness, &table, {}, {}, range, NodeEntry::Kind::kIndexRanges}, known == PointerMap::kNone);
  }
  track_more(table, witnesses, known);
  return range;
}

// Tracks the other witnesses of a leaf, if the index has returned more than one.
template <Recording kRecording>
template <class Witnesses>
void ReadTracking<kRecording>::track_more(detail::TableBase& table, const Witnesses& witnesses, uint32_t position) {
  for (size_t i = 1; i < witnesses.size(); ++i)
    add_node({witnesses[i], &table, nodes_[position].from, {}, position, NodeEntry::Kind::kMoreWitness},
             node_positions_.find(witnesses[i].version) == PointerMap::kNone);
}

template <Recording kRecording>
uint32_t ReadTracking<kRecording>::add_node(const NodeEntry& node, bool is_new) {
  const auto position = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back(node);  // first, because an exception must not leave an invalid position in node_positions_
  node_repeated_ = node_repeated_ || !is_new;
  if (is_new) node_positions_.insert(node.witness.version, position);
  return position;
}

template <Recording kRecording>
template <class IndexKey>
void ReadTracking<kRecording>::end_range(uint32_t position, const IndexKey& key, index::Direction direction) {
  NodeEntry& node = nodes_[position];
  if (direction == index::Direction::kBackward) {
    node.from = kept_key(arena_, key);
  } else {
    const index::Bound<IndexKey> to = behind(arena_, key);
    node.to = index::ref_of(to.key);
    node.to_end = to.end;
  }
}

template <Recording kRecording>
template <class IndexKey>
void ReadTracking<kRecording>::end_entries(uint32_t range, const IndexKey& entry, index::Direction direction) {
  ScannedEntries& read = index_ranges_[range];
  if (direction == index::Direction::kBackward) {
    read.from = kept_entry(arena_, entry);
  } else {
    const index::Bound<IndexKey> to = behind(arena_, entry);
    read.to = kept_entry(arena_, to.key);
    read.to_end = to.end;
  }
}

template <Recording kRecording>
void ReadTracking<kRecording>::track_own_insert(const index::InsertResult& result) {
  if (nodes_.empty()) return;
  const uint32_t known = node_positions_.find(result.before.version);
  if (known == PointerMap::kNone) return;
  // A leaf that was read several times has several entries, and all of them must be updated.
  const size_t end = node_repeated_ ? nodes_.size() : known + 1;
  for (size_t i = known; i < end; ++i) {
    if (!nodes_[i].is_of(result.before)) continue;
    nodes_[i].witness = result.after;
    if (result.after.version != result.before.version && node_positions_.find(result.after.version) == PointerMap::kNone)
      node_positions_.insert(result.after.version, static_cast<uint32_t>(i));
    if (result.split_off.version == nullptr) continue;
    if (ELIDER_MUTANT(kForgetSplitOff)) continue;
    NodeEntry half = nodes_[i];  // includes the list of ranges, which only grows at its head
    half.witness = result.split_off;
    add_node(half, node_positions_.find(half.witness.version) == PointerMap::kNone);
  }
}

template <Recording kRecording>
void ReadTracking<kRecording>::forget_leaves() {
  nodes_.clear();
  index_ranges_.clear();
  node_repeated_ = false;
  node_positions_.clear();
}

// -- validation -----------------------------------------------------------------------------------

template <Recording kRecording>
template <bool kHeld>
[[gnu::always_inline]] inline bool ReadTracking<kRecording>::rows_hold(const OwnWrites& own, Conflict* conflict) const {
  namespace word = storage::word;
  if (kRecording == Recording::kClaimed && !some_unclaimed_) return true;
  for (const ReadEntry& read : reads_) {
    if (read.cell == nullptr) continue;  // the row's write compares the word
    const uint64_t w = read.cell->load();
    if (w == read.word) [[likely]] continue;
    if (word::locked(w) && (!kHeld || (w & ~word::kLocked) == read.word)) {
      if (kHeld && (own.has(read.cell) || ELIDER_MUTANT(kIgnoreLockBit))) continue;  // locked by this commit
      return conflict->found(Cause::kReadLocked, read.table, read.key);
    }
    return conflict->found(word::removed(w) ? Cause::kRowRemoved : Cause::kReadChanged, read.table, read.key);
  }
  return true;
}

template <Recording kRecording>
[[gnu::always_inline]] inline bool ReadTracking<kRecording>::leaves_hold(Conflict* conflict) const {
  for (const NodeEntry& node : nodes_)
    if (!node.witness.holds() && !ELIDER_MUTANT(kKeepLeafVersion)) [[unlikely]]
      return conflict->found(Cause::kPhantom, node.table, node.key());
  return true;
}

}  // namespace elider::txn
