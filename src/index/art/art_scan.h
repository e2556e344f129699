// RadixTree: read_leaf(), which reads some consecutive entries. Scans consist of such reads.
// Included by the instantiations only.
//
// A walk descends to the position of the bound. From there it visits entries and children in order,
// and returns to parents, until it has visited as many entries or nodes as a Contents can hold.
// Finally it validates all these nodes, so its result is atomic. A walk reads the cache lines of a
// descent, the first cache line of at most kNodesMax further nodes, and one cache line per entry.
#pragma once

#include "base/spin.h"
#include "index/art/art.h"

namespace elider::index {

template <sync::Policy Sync, class KeyType>
class RadixTree<Sync, KeyType>::Walk {
 public:
  Walk(RadixRef root, const Bound<Key>& at, bool forward, Contents& contents, const Range<Key>* within, size_t most)
      : root_(root), at_(at), forward_(forward), within_(within), most_(most), contents_(contents),
        buffer_(contents.buffers[1 - contents.buffer]) {}

  // Returns false if another operation interfered.
  bool run() {
    contents_.count = 0;
    contents_.witnesses.clear();
    guards_.clear();
    if (!(forward_ || !at_.end ? descend() : start_at_end())) return false;
    bool valid = forward_ ? go_up() : go_down();
    ELIDER_TEST_POINT("art.walked");
    for (const ReadGuard& guard : guards_) valid = valid && (guard.valid() || ELIDER_MUTANT(kRadixSkipWalkCheck));
    return valid;
  }

 private:
  // A node on the path from the root, and the position in it at which the walk continues.
  struct Step {
    RadixRef node;
    ReadGuard guard;
    int next = 0;
    bool counted = false;  // whether contents_ has a witness of the node
  };

  bool start_at_end() {
    steps_.push_over({root_, ReadGuard(as_node(root_)->word), 255, false});
    return true;
  }
  // Descends to the node that covers the bound's key.
  bool descend() {
    const Key& key = at_.key;
    RadixRef node = root_;
    ReadGuard guard(as_node(root_)->word);
    while (true) {
      const int position = Traits::position(key, node.depth());
      // If the key ends here, everything in this node is above the key.
      const bool below_node = !forward_ && position == kEnd;
      steps_.push_over({node, guard, below_node ? kEnd - 1 : position, false});
      if (below_node) return true;
      const Entry entry = radix_entry<Traits>(node, position);
      if (entry.empty() || Traits::is_leaf(entry, node.depth(), position)) return true;
      const RadixRef child = entry.child();
      if (!guard.valid()) return false;
      const unsigned mismatch = Traits::template mismatch<Node>(child, key, node.depth() + 1);
      const int beside = forward_ ? position + 1 : position - 1;
      if (mismatch < child.depth()) {
        // The child's keys are either all above this key, or all below it.
        const int key_byte = Traits::size(key) > mismatch ? static_cast<int>(Traits::byte(key, mismatch)) : kEnd;
        const bool above = static_cast<int>(Traits::template path_byte<Node>(child, mismatch)) > key_byte;
        if (above != forward_) steps_.back().next = beside;
        return true;
      }
      const ReadGuard child_guard(as_node(child)->word);
      if (child_guard.obsolete()) return false;
      steps_.back().next = beside;
      node = child;
      guard = child_guard;
    }
  }

  // Adds a witness of the node to the contents. Returns false if the contents cannot hold another
  // witness.
  bool count(Step& step) {
    if (step.counted) return true;
    if (contents_.witnesses.full()) return false;
    contents_.witnesses.push(witness_of(step.node, step.guard.version()));
    guards_.push(step.guard);
    step.counted = true;
    return true;
  }
  void add(const Entry& entry) {
    contents_.keys[contents_.count] = Traits::key_of(entry);
    contents_.handles[contents_.count++] = Traits::handle(entry);
  }

  bool go_up() {
    contents_.range.from = at_.key;
    Bound<Key>& to = contents_.range.to;
    RadixRef left;  // the node that the walk last returned from
    while (steps_.size() != 0) {
      Step& step = steps_.back();
      if (!count(step)) return to = Traits::template behind<Node>(left, buffer_), true;
      const int at = radix_next<Traits>(step.node, step.next);
      if (at > 255) {
        left = step.node;
        steps_.pop();
        continue;
      }
      const Entry entry = radix_entry<Traits>(step.node, at);
      if (entry.empty()) return false;
      step.next = at + 1;
      if (Traits::is_leaf(entry, step.node.depth(), at)) {
        const Key key = Traits::key_of(entry);
        if (key < at_.key) continue;
        if (contents_.count == most_ || (within_ != nullptr && !within_->to.above(key))) return to = {copy(key), false}, true;
        add(entry);
        continue;
      }
      if (!step.guard.valid()) return false;
      const RadixRef child = entry.child();
      if (contents_.witnesses.full()) return to = {Traits::template first_of<Node>(child, buffer_), false}, true;
      if (!enter(child, kEnd)) return false;
    }
    to = Traits::template behind<Node>(left, buffer_);
    return true;
  }

  bool go_down() {
    contents_.range.to = at_;
    Key& from = contents_.range.from;
    RadixRef left;
    while (steps_.size() != 0) {
      Step& step = steps_.back();
      if (!count(step)) return from = Traits::template first_of<Node>(left, buffer_), turned();
      const int at = radix_previous<Traits>(step.node, step.next);
      if (at < kEnd) {
        left = step.node;
        steps_.pop();
        continue;
      }
      const Entry entry = radix_entry<Traits>(step.node, at);
      if (entry.empty()) return false;
      step.next = at - 1;
      if (Traits::is_leaf(entry, step.node.depth(), at)) {
        const Key key = Traits::key_of(entry);
        if (!at_.above(key)) continue;
        if (contents_.count == most_ || (within_ != nullptr && key < within_->from)) return from = Traits::after(key, buffer_), turned();
        add(entry);
        continue;
      }
      if (!step.guard.valid()) return false;
      const RadixRef child = entry.child();
      if (contents_.witnesses.full()) {
        const Bound<Key> behind = Traits::template behind<Node>(child, buffer_);
        const bool nothing_yet = behind.end ? at_.end : !at_.end && !(behind.key < at_.key);
        if (!nothing_yet) return from = behind.key, turned();
        // Everything that these nodes cover lies above the range.
        contents_.witnesses.clear();
        guards_.clear();
        for (Step& passed : steps_) passed.counted = false;
      }
      if (!enter(child, 255)) return false;
    }
    from = Traits::template first_of<Node>(left, buffer_);
    return turned();
  }

  bool enter(RadixRef child, int next) {
    const ReadGuard guard(as_node(child)->word);
    if (guard.obsolete()) return false;
    steps_.push_over({child, guard, next, false});
    return true;
  }
  // Copies the key, because a bound must remain valid until the read after the next one, even if
  // the entry is reclaimed.
  Key copy(const Key& key) {
    if constexpr (Traits::kBytes) {
      KeyBytes* const bytes = buffer_.start(key.size());
      if (key.size() != 0) std::memcpy(bytes->data(), key.bytes->data(), key.size());
      return {bytes};
    } else {
      return key;
    }
  }
  bool turned() {
    std::reverse(contents_.keys.begin(), contents_.keys.begin() + contents_.count);
    std::reverse(contents_.handles.begin(), contents_.handles.begin() + contents_.count);
    return true;
  }

  const RadixRef root_;
  const Bound<Key> at_;
  const bool forward_;
  const Range<Key>* const within_;  // null: any
  const size_t most_;
  Contents& contents_;
  typename Traits::Buffer& buffer_;
  RadixFew<Step, Contents::kNodesMax> steps_;
  RadixFew<ReadGuard, Contents::kNodesMax> guards_;
};

template <sync::Policy Sync, class KeyType>
void RadixTree<Sync, KeyType>::read_leaf(const Bound<Key>& at, Direction direction, Hint&, Contents& contents,
                                         const Range<Key>* within, uint64_t most) {
  const Bound<Key> from = at;  // a copy, because `at` may refer to the contents
  const auto entries = static_cast<size_t>(std::clamp<uint64_t>(most, 1, Contents::kCapacity));
  Spin spin;
  while (true) {
    const bool done = Sync::section(latch_, sync::Operation::kScan, [&]() -> bool {
      return Walk(root(), from, direction == Direction::kForward, contents, within, entries).run();
    });
    if (done) [[likely]] break;
    spin.wait();
  }
  contents.buffer = 1 - contents.buffer;
}

}  // namespace elider::index
