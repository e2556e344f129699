// What ReadWriteTransaction records of the leaves and buckets that it has read, so that the commit
// detects phantoms (DBX, section 5.3, "range query").
#pragma once

#include "txn/read_write/transaction.h"

namespace elider::txn {

// Tracks the leaf or bucket that contains the key, or would contain it.
template <class Sync, class Claims>
void ReadWriteTransaction<Sync, Claims>::track_key(TableType& table, const index::Witness& witness, KeyRef key) {
  const auto is_this = [&](const NodeEntry& node) {
    return node.is_of(witness) && node.kind == NodeEntry::Kind::kKey && same_key(table, node.from, key);
  };
  if (!nodes_.empty() && is_this(nodes_.back())) return;
  const uint32_t known = node_positions_.find(witness.version);
  // If the leaf was read before at another version, the earlier witness will fail validation, as it
  // must.
  if (known != PointerMap::kNone && is_this(nodes_[known])) return;
  if (table.byte_keys()) [[unlikely]] key = kept_key(arena_, ByteKey{key.bytes()});
  add_node({witness, &table, key, {}, 0, NodeEntry::Kind::kKey}, known == PointerMap::kNone);
}

// Tracks the part of a leaf that a scan is about to read. Returns the position of the new entry. A
// scan that stops early updates this entry.
template <class Sync, class Claims>
template <class Witnesses, class IndexKey>
uint32_t ReadWriteTransaction<Sync, Claims>::track_scanned(TableType& table, const Witnesses& witnesses,
                                                           const index::Range<IndexKey>& covered) {
  const auto position = static_cast<uint32_t>(nodes_.size());
  add_node({witnesses[0], &table, kept_key(arena_, covered.from), kept_key(arena_, covered.to.key), 0, NodeEntry::Kind::kRange,
            covered.to.end},
           node_positions_.find(witnesses[0].version) == PointerMap::kNone);
  track_more(table, witnesses, position);
  return position;
}

// Like track_scanned(), but tracks a leaf of secondary index i, and returns the position of the
// range in index_ranges_.
template <class Sync, class Claims>
template <class Witnesses, class IndexKey>
uint32_t ReadWriteTransaction<Sync, Claims>::track_index_range(TableType& table, uint32_t i, const Witnesses& witnesses,
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
template <class Sync, class Claims>
template <class Witnesses>
void ReadWriteTransaction<Sync, Claims>::track_more(TableType& table, const Witnesses& witnesses, uint32_t position) {
  for (size_t i = 1; i < witnesses.size(); ++i)
    add_node({witnesses[i], &table, nodes_[position].from, {}, position, NodeEntry::Kind::kMoreWitness},
             node_positions_.find(witnesses[i].version) == PointerMap::kNone);
}

template <class Sync, class Claims>
uint32_t ReadWriteTransaction<Sync, Claims>::add_node(const NodeEntry& node, bool is_new) {
  const auto position = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back(node);  // first, because an exception must not leave an invalid position in node_positions_
  node_repeated_ = node_repeated_ || !is_new;
  if (is_new) node_positions_.insert(node.witness.version, position);
  return position;
}

// Updates the witnesses after an insert by this transaction, because its own insert is not a
// phantom.
template <class Sync, class Claims>
void ReadWriteTransaction<Sync, Claims>::track_own_insert(const index::InsertResult& result) {
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

template <class Sync, class Claims>
void ReadWriteTransaction<Sync, Claims>::track_absent(TableType& table, const index::Witness& witness, KeyRef key) {
  recorder_.read(table, key, 0, false, 0);
  if (RunsInRegion<Claims> || ELIDER_MUTANT(kSkipAbsentRead)) return;
  claim_leaf_read(table, witness, key);
  track_key(table, witness, key);
}

template <class Sync, class Claims>
void ReadWriteTransaction<Sync, Claims>::forget_nodes() {
  nodes_.clear();
  index_ranges_.clear();
  node_repeated_ = false;
  node_positions_.clear();
}

// Clears all records of the transaction, but keeps their memory for the next transaction.
template <class Sync, class Claims>
[[gnu::always_inline]] inline void ReadWriteTransaction<Sync, Claims>::end() {
  // A region that writes rows in place notes their table without adding write entries.
  if (RunsInRegion<Claims> || !writes_.empty()) {
    writes_.clear();
    index_changes_.clear();
  }
  end_without_writes();
}

template <class Sync, class Claims>
[[gnu::always_inline]] inline void ReadWriteTransaction<Sync, Claims>::end_without_writes() {
  reads_.clear();
  if constexpr (Claims::kReads) some_validated_ = false;
  if constexpr (Claims::kWrites) claims_.end();
  if (!nodes_.empty()) forget_nodes();
  this->end_attempt();
}

}  // namespace elider::txn
