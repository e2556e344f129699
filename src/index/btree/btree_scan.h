// BTree: reads whole leaves. Scans consist of such reads. Included by the instantiations only.
//
// Because leaves do not have sibling pointers, a scan descends again for each leaf, on a path that
// is usually in the cache. It therefore does not depend on nodes that it read before.
#pragma once

#include "base/spin.h"
#include "index/btree/btree.h"

namespace elider::index {

template <sync::Policy Sync, class KeyType>
void BTree<Sync, KeyType>::read_leaf(const Bound<Key>& at, Direction direction, Hint& hint, Contents& contents) {
  const Target target = Traits::target(at, direction);
  struct Attempt {
    bool done;
    Hint hint;
  };
  Spin spin;
  bool use_hint = hint.covers(target);
  while (true) {
    const Attempt attempt = Sync::section(latch_, sync::Operation::kScan, [&]() -> Attempt {
      PlaceOf<Bounds> place;
      if (use_hint) {
        place = PlaceOf<Bounds>::of(hint);
        if (!place.guard.current()) return {false, {}};
      } else if (!descend(target, place)) {
        return {false, {}};
      }
      Attempt attempt{copy_leaf(place, contents), {}};
      attempt.hint.set(place.leaf, place.guard.version(), place.fences);
      return attempt;
    });
    if (attempt.done) [[likely]] {
      hint = attempt.hint;
      return;
    }
    if (!use_hint) spin.wait();
    use_hint = false;
  }
}

template <sync::Policy Sync, class KeyType>
inline bool BTree<Sync, KeyType>::copy_leaf(const PlaceOf<Bounds>& place, Contents& contents) const {
  const unsigned count = place.leaf->count();
  place.leaf->copy_to(count, contents.keys.data(), contents.handles.data(), rows_);
  contents.count = count;
  contents.range = place.fences.range();
  contents.witnesses[0] = {place.leaf->word.address(), place.guard.version()};
  return place.guard.valid();
}

}  // namespace elider::index
