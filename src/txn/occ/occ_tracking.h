// OccTransaction: what it remembers of the leaves and buckets that it has looked at, so that the commit finds phantoms (DBX,
// section 5.3, "range query").
#pragma once

#include "txn/occ/occ_transaction.h"

namespace elider::txn {

template <class Sync>
void OccTransaction<Sync>::track_node(TableType& table, const index::Witness& witness, Key first, Key last) {
  if (!nodes_.empty() && nodes_.back().is_of(witness) && nodes_.back().first == first && nodes_.back().last == last) return;
  const uint32_t known = node_positions_.find(witness.version);
  // A leaf read twice at two versions: the first witness fails at validation, and that is right.
  if (known != PointerMap::kNone && nodes_[known].is_of(witness) && nodes_[known].first == first && nodes_[known].last == last) return;
  add_node({witness, &table, first, last, 0}, known == PointerMap::kNone);
}

// A leaf that a scan is about to look at. Its position: a scan that stops early says so there.
template <class Sync>
uint32_t OccTransaction<Sync>::track_scanned(TableType& table, const index::Witness& witness, Key first, Key last) {
  add_node({witness, &table, first, last, 0}, node_positions_.find(witness.version) == PointerMap::kNone);
  return static_cast<uint32_t>(nodes_.size() - 1);
}

// A leaf of secondary index i that a scan is about to look at, from one entry to another. The range's position.
template <class Sync>
uint32_t OccTransaction<Sync>::track_index_range(TableType& table, uint32_t i, const index::Witness& witness,
                                                 const index::SecondaryKey& from, const index::SecondaryKey& to) {
  const auto range = static_cast<uint32_t>(index_ranges_.size());
  index_ranges_.push_back({from, to, i, 0, IndexRange::kNone});
  uint32_t known = static_cast<uint32_t>(nodes_.size() - 1);
  if (nodes_.empty() || !nodes_.back().is_of(witness)) known = node_positions_.find(witness.version);
  if (known != PointerMap::kNone && nodes_[known].is_of(witness)) {
    index_ranges_.back().next = nodes_[known].seen;
    nodes_[known].seen = range;
  } else {
    add_node({witness, &table, kKeyMax, 0, range}, known == PointerMap::kNone);
  }
  return range;
}

template <class Sync>
void OccTransaction<Sync>::add_node(const NodeEntry& node, bool is_new) {
  nodes_.push_back(node);  // first: a position that leads nowhere must not be left by an exception
  node_repeated_ = node_repeated_ || !is_new;
  if (is_new) node_positions_.insert(node.witness.version, static_cast<uint32_t>(nodes_.size() - 1));
}

// Its own insert is no phantom to a transaction.
template <class Sync>
void OccTransaction<Sync>::track_own_insert(const index::InsertResult& result) {
  if (nodes_.empty()) return;
  const uint32_t known = node_positions_.find(result.before.version);
  if (known == PointerMap::kNone) return;
  // A leaf that was looked at several times has several entries, and all of them must follow.
  const size_t end = node_repeated_ ? nodes_.size() : known + 1;
  for (size_t i = known; i < end; ++i) {
    if (!nodes_[i].is_of(result.before)) continue;
    nodes_[i].witness = result.after;
    if (result.after.version != result.before.version && node_positions_.find(result.after.version) == PointerMap::kNone)
      node_positions_.insert(result.after.version, static_cast<uint32_t>(i));
    if (result.split_off.version == nullptr) continue;
    if (ELIDER_MUTANT(kForgetSplitOff)) continue;
    NodeEntry half = nodes_[i];  // and with it the list of ranges, which only grows at its head
    half.witness = result.split_off;
    add_node(half, node_positions_.find(half.witness.version) == PointerMap::kNone);
  }
}

template <class Sync>
void OccTransaction<Sync>::track_absent(TableType& table, const index::Witness& witness, Key key) {
  recorder_.read(table, key, 0, false, 0);
  if (ELIDER_MUTANT(kSkipAbsentRead)) return;
  track_node(table, witness, key, key);
}

template <class Sync>
void OccTransaction<Sync>::forget_nodes() {
  nodes_.clear();
  index_ranges_.clear();
  node_repeated_ = false;
  node_positions_.clear();
}

// Forgets everything; the memory stays for the next transaction.
template <class Sync>
[[gnu::always_inline]] inline void OccTransaction<Sync>::end() {
  reads_.clear();
  if (!nodes_.empty()) forget_nodes();
  if (!writes_.empty()) {
    writes_.clear();
    index_changes_.clear();
  }
  this->end_attempt();
}

}  // namespace elider::txn
