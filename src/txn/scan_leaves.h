// scan_leaves: a range scan as a sequence of leaves, each read atomically; for all transactions and for
// both kinds of ordered index.
#pragma once

#include <algorithm>
#include <cstdint>

#include "index/btree/btree.h"

namespace elider::txn {

// Calls, for each leaf of [first, last] in turn, track(witness, from, to) with what of the range it covers
// before its rows are looked at, then prefetch(handle) for those of its entries that will be wanted, then found(key, handle) -> bool for
// each entry in order; false ends the scan.
template <class Tree, class TreeKey, class Track, class Prefetch, class Found>
void scan_leaves(Tree& tree, TreeKey first, TreeKey last, bool reverse, uint64_t limit, Track&& track, Prefetch&& prefetch, Found&& found) {
  if (last < first) return;
  index::LeafContents<TreeKey> leaf;
  TreeKey at = reverse ? last : first;
  for (;;) {
    tree.read_leaf(at, leaf);
    if (reverse) track(leaf.witness, std::max(first, leaf.first), at);
    else track(leaf.witness, at, std::min(last, leaf.last));
    size_t begin = 0, end = leaf.count;
    // Not before `at`: a leaf whose empty neighbour was unlinked comes again, with a wider range and an
    // unchanged version; its rows were visited.
    while (begin < end && leaf.keys[begin] < (reverse ? first : at)) ++begin;
    while (begin < end && (reverse ? at : last) < leaf.keys[end - 1]) --end;
    const size_t wanted = limit < end - begin ? static_cast<size_t>(limit) : end - begin;
    for (size_t i = 0; i < wanted; ++i) prefetch(leaf.handles[reverse ? end - 1 - i : begin + i]);
    for (size_t i = 0; i < end - begin; ++i) {
      const size_t at_entry = reverse ? end - 1 - i : begin + i;
      if (!found(leaf.keys[at_entry], leaf.handles[at_entry])) return;
    }
    if (reverse) {
      if (!(first < leaf.first)) return;
      at = index::key_before(leaf.first);
    } else {
      if (!(leaf.last < last)) return;
      at = index::key_after(leaf.last);
    }
  }
}

}  // namespace elider::txn
