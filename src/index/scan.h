// scan_leaves(): a range scan over any ordered index, which reads each leaf atomically.
#pragma once

#include <algorithm>
#include <cstdint>

#include "index/index.h"

namespace elider::index {

// Returns the range of the keys that are in both ranges.
template <class Key>
Range<Key> intersection(const Range<Key>& a, const Range<Key>& b) {
  return {a.from < b.from ? b.from : a.from, b.to.end || (!a.to.end && a.to.key < b.to.key) ? a.to : b.to};
}

// Visits the leaves of the range in order, and for each leaf calls
//   - track(witnesses, covered), with the part of the range that the leaf covers, before its
//     rows are accessed;
//   - prefetch(handle), for each entry of the leaf that will be visited;
//   - found(key, handle) -> bool, for each entry in order; false ends the scan.
template <class Tree, class Track, class Prefetch, class Found>
void scan_leaves(Tree& tree, Range<typename Tree::Key> rest, Direction direction, uint64_t limit, Track&& track, Prefetch&& prefetch,
                 Found&& found) {
  const bool forward = direction == Direction::kForward;
  typename Tree::Contents leaf;
  typename Tree::Hint hint;
  while (!rest.empty()) {
    const Bound<typename Tree::Key> at = forward ? Bound<typename Tree::Key>{rest.from, false} : rest.to;
    // The radix tree returns any number of entries, and each of them costs a cache miss.
    if constexpr (requires { tree.read_leaf(at, direction, hint, leaf, &rest, limit); })
      tree.read_leaf(at, direction, hint, leaf, &rest, limit);
    else tree.read_leaf(at, direction, hint, leaf);
    const Range<typename Tree::Key> covered = intersection(rest, leaf.range);
    track(leaf.witnesses, covered);
    // If an empty neighbour has been unlinked, the scan may read the same leaf again, now with a
    // wider range but an unchanged version. Entries outside the remaining range have already been
    // visited.
    size_t begin = 0, end = leaf.count;
    while (begin < end && leaf.keys[begin] < covered.from) ++begin;
    while (begin < end && !covered.to.above(leaf.keys[end - 1])) --end;
    const size_t wanted = limit < end - begin ? static_cast<size_t>(limit) : end - begin;
    for (size_t i = 0; i < wanted; ++i) prefetch(leaf.handles[forward ? begin + i : end - 1 - i]);
    for (size_t i = 0; i < end - begin; ++i) {
      const size_t at = forward ? begin + i : end - 1 - i;
      if (!found(leaf.keys[at], leaf.handles[at])) return;
    }
    if (forward) {
      if (leaf.range.to.end) return;
      rest.from = leaf.range.to.key;
    } else {
      rest.to = {leaf.range.from, false};
    }
  }
}

// Calls visit(key, handle) -> bool for every entry of the range, in order; false ends the
// iteration.
template <class Tree, class Visit>
void for_each_entry(Tree& tree, const Range<typename Tree::Key>& range, Visit&& visit) {
  scan_leaves(tree, range, Direction::kForward, ~uint64_t{0}, [](const auto&, const auto&) {}, [](Handle) {}, visit);
}

}  // namespace elider::index
