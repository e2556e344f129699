// SortedLeaves: an ordered index of byte keys, for tests alone: sorted leaves of a few
// entries in a sorted list, behind one mutex. It shows that the key seam takes an index of
// another kind: keys of any length, no neighbours of keys, and two witnesses a leaf, its own
// and that of the list of leaves.
//
// Thread safety: all operations by all threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/worker.h"
#include "elider/status.h"
#include "index/byte_key.h"
#include "index/index.h"

namespace elider::test {

class SortedLeaves {
 public:
  using Key = index::ByteKey;
  using Hint = index::NoHint;
  static constexpr bool kOrdered = true;

  // What a read handed out, with keys of its own.
  struct Contents {
    index::Range<Key> range;
    size_t count = 0;
    std::vector<index::Witness> witnesses;
    std::vector<Key> keys;
    std::vector<index::Handle> handles;

   private:
    friend SortedLeaves;
    Key own(std::string_view key) {
      auto& memory = memory_.emplace_back(key.size() / sizeof(uint64_t) + 2);
      auto* bytes = new (memory.data()) index::KeyBytes{static_cast<uint32_t>(key.size())};
      if (!key.empty()) std::memcpy(bytes->data(), key.data(), key.size());  // of none there may be no address
      return {bytes};
    }
    std::deque<std::vector<uint64_t>> memory_;
  };

  SortedLeaves() { leaves_.push_back(&made_.emplace_back()); }

  index::Handle get(const Key& key, Hint&, index::Witness& witness) {
    const std::lock_guard lock(mutex_);
    return find(text(key), witness);
  }
  void multi_get(const index::KeyRef* keys, size_t count, index::Handle* handles, index::Witness* witnesses, index::Ahead) {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < count; ++i) {
      index::Witness unneeded;
      handles[i] = find(text({keys[i].bytes()}), witnesses != nullptr ? witnesses[i] : unneeded);
    }
  }

  index::InsertResult get_or_insert(Worker&, const Key& key, index::Handle candidate) {
    const std::lock_guard lock(mutex_);
    const std::string_view wanted = text(key);
    Leaf* const leaf = leaf_of(wanted);
    auto at = leaf->place_of(wanted);
    if (at != leaf->entries.end() && at->first == wanted) return {at->second, false, {}, {}, {}};
    index::InsertResult result{candidate, true, leaf->witness(), {}, {}};
    try {
      leaf->entries.emplace(at, wanted, candidate);
    } catch (const std::bad_alloc&) {
      return {};
    }
    ++leaf->version;
    ++size_;
    result.after = leaf->witness();
    if (leaf->entries.size() > kEntriesMax)
      if (const Leaf* const upper = split(leaf)) result.split_off = upper->witness();
    return result;
  }

  bool remove(Worker&, const Key& key, index::Handle expected) {
    const std::lock_guard lock(mutex_);
    const std::string_view wanted = text(key);
    Leaf* const leaf = leaf_of(wanted);
    const auto at = leaf->place_of(wanted);
    if (at == leaf->entries.end() || at->first != wanted || at->second != expected) return false;
    leaf->entries.erase(at);
    ++leaf->version;
    --size_;
    // An empty one leaves its range to the one before.
    if (leaf->entries.empty() && leaf != leaves_.front()) {
      std::erase(leaves_, leaf);
      ++list_version_;
    }
    return true;
  }

  void read_leaf(const index::Bound<Key>& at, index::Direction direction, Hint&, Contents& contents) {
    const std::lock_guard lock(mutex_);
    const bool forward = direction == index::Direction::kForward;
    const size_t place = forward ? place_of(text(at.key)) : at.end ? leaves_.size() - 1 : place_below(text(at.key));
    const Leaf& leaf = *leaves_[place];
    const bool last = place + 1 == leaves_.size();
    contents.range = {contents.own(leaf.from), {contents.own(last ? std::string_view() : leaves_[place + 1]->from), last}};
    contents.count = leaf.entries.size();
    contents.witnesses = {leaf.witness(), {&list_version_, list_version_.load()}};
    contents.keys.clear();
    contents.handles.clear();
    for (const auto& [key, handle] : leaf.entries) {
      contents.keys.push_back(contents.own(key));
      contents.handles.push_back(handle);
    }
  }

  size_t size() const {
    const std::lock_guard lock(mutex_);
    return size_;
  }

  size_t memory_bytes() const { return sizeof(*this); }  // its leaves are on the heap, which Memory does not count

  Status verify() const {
    const std::lock_guard lock(mutex_);
    size_t count = 0;
    for (size_t i = 0; i < leaves_.size(); ++i) {
      const Leaf& leaf = *leaves_[i];
      if (!std::is_sorted(leaf.entries.begin(), leaf.entries.end()) ||
          (!leaf.entries.empty() && leaf.entries.front().first < leaf.from) ||
          (i + 1 < leaves_.size() && !leaf.entries.empty() && !(leaf.entries.back().first < leaves_[i + 1]->from)))
        return Status(Code::kInvalidArgument, "leaf " + std::to_string(i) + " is not in order");
      count += leaf.entries.size();
    }
    return count == size_ ? Status()
                          : Status(Code::kInvalidArgument, "there are " + std::to_string(count) + " entries, not " + std::to_string(size_));
  }

 private:
  static constexpr size_t kEntriesMax = 6;

  struct Leaf {
    std::atomic<uint64_t> version{0};
    std::string from;  // the smallest key that belongs here
    std::vector<std::pair<std::string, index::Handle>> entries;

    index::Witness witness() const { return {&version, version.load()}; }
    std::vector<std::pair<std::string, index::Handle>>::iterator place_of(std::string_view key) {
      return std::lower_bound(entries.begin(), entries.end(), key, [](const auto& entry, std::string_view k) { return entry.first < k; });
    }
  };

  static std::string_view text(const Key& key) {
    return key.bytes == nullptr ? std::string_view() : std::string_view(reinterpret_cast<const char*>(key.bytes->data()), key.bytes->size);
  }
  // Of the leaf that the key belongs to; and of the one that what is next below it belongs to.
  size_t place_of(std::string_view key) const {
    const auto behind =
        std::upper_bound(leaves_.begin(), leaves_.end(), key, [](std::string_view k, const Leaf* leaf) { return k < leaf->from; });
    return static_cast<size_t>(behind - leaves_.begin()) - 1;
  }
  size_t place_below(std::string_view key) const {
    const auto at =
        std::lower_bound(leaves_.begin(), leaves_.end(), key, [](const Leaf* leaf, std::string_view k) { return leaf->from < k; });
    return at == leaves_.begin() ? 0 : static_cast<size_t>(at - leaves_.begin()) - 1;
  }
  Leaf* leaf_of(std::string_view key) const { return leaves_[place_of(key)]; }

  index::Handle find(std::string_view key, index::Witness& witness) const {
    Leaf* const leaf = leaf_of(key);
    witness = leaf->witness();
    const auto at = leaf->place_of(key);
    return at != leaf->entries.end() && at->first == key ? at->second : index::kNoHandle;
  }
  // The upper half becomes a leaf of its own. Null: there is no memory, and the leaf
  // stays larger than the others.
  Leaf* split(Leaf* leaf) {
    const auto middle = leaf->entries.begin() + static_cast<std::ptrdiff_t>(leaf->entries.size() / 2);
    try {
      Leaf* const upper = &made_.emplace_back();
      upper->entries.assign(middle, leaf->entries.end());
      upper->from = upper->entries.front().first;
      leaves_.insert(std::find(leaves_.begin(), leaves_.end(), leaf) + 1, upper);
      leaf->entries.erase(middle, leaf->entries.end());
      ++list_version_;
      return upper;
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }

  mutable std::mutex mutex_;         // guards all but the versions
  std::deque<Leaf> made_;            // all that there ever were: witnesses look at their versions
  std::vector<Leaf*> leaves_;        // in order, from the smallest key on
  std::atomic<uint64_t> list_version_{0};
  size_t size_ = 0;
};

}  // namespace elider::test
