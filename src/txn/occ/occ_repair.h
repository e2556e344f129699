// OccTransaction: a second look where an index node has changed, or a row block that held no row is
// gone, before either counts as a conflict (DBX, section 5.3, aborts there).
//
// A leaf's version rises with whatever happens in it: a row beside the range that was scanned, a removed
// row that is unlinked at last, a split. So the range is read again. A row that was there at the scan and
// is not, or is another, fails validation by its own commit word; hence the range holds the rows it held
// if it holds as many. What is there without being a row is tracked with its present word, the leaves
// with their present versions, and then everything is validated once more.
//
// Invariant: what the second validation finds unchanged has stood at its begin, rows since they were
// read, ranges since the second look. At that instant all of it is as the transaction saw it, whatever
// came and went in between; and the transaction's locks, taken before, are held beyond it.
// Thread safety: as the transaction's. It waits for nobody.
#pragma once

#include <algorithm>

#include "txn/occ/occ_transaction.h"

namespace elider::txn {

// False: this transaction writes nothing of the row. Else whether the row is there without its writes, as
// the commit will make sure.
template <class Sync>
bool OccTransaction<Sync>::own_presence(TableType& table, Row* row, Presence* presence) {
  for (uint32_t g = 0; g < table.layout().group_count(); ++g) {
    const WriteEntry* write = write_of(row, table.layout(), g);
    if (write == nullptr) continue;
    if (write->expected == word::kUnknown) *presence = Presence::kUnknown;
    else *presence = word::absent(write->expected) ? Presence::kAbsent : Presence::kPresent;
    return true;
  }
  return false;
}

// False: what was read is not what is there; the cause says where.
template <class Sync>
bool OccTransaction<Sync>::repair() {
  ELIDER_TEST_POINT("occ.repair");
  // What is added on the way has been looked at just now.
  for (size_t i = 0, count = reads_.size(); i < count; ++i) {
    const ReadEntry read = reads_[i];
    if (read.cell == nullptr || !word::absent(read.word) || !word::removed(read.cell->load())) continue;
    auto& table = static_cast<TableType&>(*read.table);
    uint32_t there = 0;
    track_node(table, find_again(table, read.key, &there), read.key, read.key);
    if (there != 0) return failed(Cause::kPhantom, read.table, read.key);
    reads_[i].cell = nullptr;
    if (recording()) [[unlikely]] record_absence_anew(table, read.key);
  }
  for (size_t i = 0, count = nodes_.size(); i < count; ++i)
    if (!nodes_[i].witness.holds() && !repair_node(i))
      return failed(Cause::kPhantom, nodes_[i].table, nodes_[i].secondary() ? 0 : nodes_[i].first);
  ELIDER_TEST_POINT("occ.repaired");
  return true;
}

template <class Sync>
bool OccTransaction<Sync>::repair_node(size_t position) {
  const NodeEntry old = nodes_[position];
  if (old.secondary() || old.seen == NodeEntry::kUnknown) return false;
  auto& table = static_cast<TableType&>(*old.table);
  uint32_t there = 0;
  if (!table.ordered()) {
    nodes_[position].witness = find_again(table, old.first, &there);
    return there == 0;
  }
  index::LeafContents<Key> leaf;
  for (Key at = old.first;; at = index::key_after(leaf.last)) {
    table.tree().read_leaf(at, hints_.primary(table), leaf);
    const Key to = std::min(old.last, leaf.last);
    if (at == old.first) nodes_[position].witness = leaf.witness;
    else nodes_.push_back({leaf.witness, &table, at, to, NodeEntry::kUnknown});
    for (size_t i = 0; i < leaf.count; ++i)
      if (at <= leaf.keys[i] && leaf.keys[i] <= to && !look_again(table, TableType::as_row(leaf.handles[i]), leaf.keys[i], &there))
        return false;
    if (to == old.last) return there == old.seen;
  }
}

// Counts the key's row, if it has one. The witness of where it is, or would be.
template <class Sync>
index::Witness OccTransaction<Sync>::find_again(TableType& table, Key key, uint32_t* there) {
  index::Witness witness;
  Row* row = table.find(key, hints_.primary(table), witness);
  if (row != nullptr && !look_again(table, row, key, there)) *there = NodeEntry::kUnknown;
  return witness;
}

// Counts the row, if the block holds one but for this transaction's writes. False: that is not certain.
template <class Sync>
bool OccTransaction<Sync>::look_again(TableType& table, Row* row, Key key, uint32_t* there) {
  Presence presence;
  if (own_presence(table, row, &presence)) {
    *there += presence == Presence::kPresent;
    return presence != Presence::kUnknown;
  }
  Cell& cell = row->cell(table.layout(), 0);
  const uint64_t w = cell.load();
  if (word::locked(w) || word::removed(w)) return false;
  if (!word::absent(w)) ++*there;
  else reads_.push_back({&cell, w, key, &table});
  return true;
}

}  // namespace elider::txn
