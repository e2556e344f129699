// WriteSet: the words that a transaction writes, in the order of their first writes, and the ranges
// that it zeroes. If a word in a zeroed range is written, the written value overrides the zero.
// After a commit is published, other threads look up words in its write set until the words are in
// the heap.
//
// Thread safety: while the transaction adds writes, only its thread may access the set. Afterwards
// all threads may read the set until it is cleared.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heap/format.h"

namespace elider::heap {

class WriteSet {
 public:
  struct Entry {
    uint64_t word;  // the word's index in the heap
    uint64_t value;
  };
  struct Zeros {
    uint64_t first, count;  // words
  };

  bool empty() const { return entries_.empty() && zeros_.empty(); }
  std::span<const Entry> entries() const { return entries_; }
  std::span<const Zeros> zeros() const { return zeros_; }
  // Returns a Bloom filter of the words: if a word's bit is not set in the filter, the word is not
  // in the write set.
  uint64_t signature() const { return signature_; }
  static uint64_t bit_of(uint64_t word) { return uint64_t{1} << (mix(word) >> 58); }

  const uint64_t* find(uint64_t word) const {
    if ((signature_ & bit_of(word)) == 0) return nullptr;
    if (const Entry* const entry = entry_of(word); entry != nullptr) return &entry->value;
    if (zeros_.empty()) return nullptr;
    const auto above = above_of(word);
    return above != zeros_.begin() && word - (above - 1)->first < (above - 1)->count ? &kZero : nullptr;
  }
  void put(uint64_t word, uint64_t value) {
    if (const Entry* const entry = (signature_ & bit_of(word)) != 0 ? entry_of(word) : nullptr; entry != nullptr) {
      const_cast<Entry*>(entry)->value = value;
      return;
    }
    entries_.push_back({word, value});
    signature_ |= bit_of(word);
    if (table_.empty() && entries_.size() > kUnindexed) {
      rehash(8 * kUnindexed);
    } else if (!table_.empty()) {
      if (2 * entries_.size() > table_.size())
        rehash(2 * table_.size());
      else
        table_[place_of(word)] = static_cast<uint32_t>(entries_.size());
    }
  }
  // Like put(), but does not replace an earlier entry for the word, so find() must not be used with
  // it. Returns false if the reserved capacity is used up.
  bool append(uint64_t word, uint64_t value) {
    if (!entries_.empty() && entries_.back().word == word) {
      entries_.back().value = value;
      return true;
    }
    if (entries_.size() == entries_.capacity()) return false;
    entries_.push_back({word, value});
    return true;
  }
  bool has_room_for_zeros() const { return zeros_.size() < zeros_.capacity(); }
  void reserve(size_t words, size_t ranges) {
    entries_.reserve(words);
    zeros_.reserve(ranges);
  }
  // Zeroes `count` words from `first` on. Overlapping ranges always begin at the same word, because
  // they belong to the same block.
  void zero(uint64_t first, uint64_t count) {
    if (const auto above = above_of(first); above != zeros_.begin() && (above - 1)->first == first)
      zeros_[static_cast<size_t>(above - zeros_.begin() - 1)].count = std::max((above - 1)->count, count);
    else
      zeros_.insert(above, {first, count});
    signature_ = ~uint64_t{0};
    if (count < entries_.size() && !table_.empty()) {
      for (uint64_t word = first; word < first + count; ++word)
        if (const Entry* const entry = entry_of(word); entry != nullptr) const_cast<Entry*>(entry)->value = 0;
    } else {
      for (Entry& entry : entries_)
        if (entry.word - first < count) entry.value = 0;
    }
  }
  // Keeps the memory for the next transaction, unless the capacity exceeds kKeptMax words.
  void clear() {
    if (entries_.capacity() > kKeptMax) {
      entries_ = {};
      table_ = {};
    }
    entries_.clear();
    table_.clear();
    zeros_.clear();
    signature_ = 0;
  }

  void copy_to(std::byte* heap) const {
    for (const Zeros& range : zeros_) Run{range.first, range.count, {}}.copy_to(heap);
    for (const Entry& entry : entries_) std::memcpy(heap + entry.word * kWordBytes, &entry.value, kWordBytes);
  }
  // Appends the redo record: runs of consecutive words (format.h).
  void append_record(std::vector<uint64_t>* record) const {
    for (const Zeros& range : zeros_) {
      record->push_back(run_header(range.first, 0));
      record->push_back(range.count);
    }
    for (size_t i = 0; i < entries_.size();) {
      size_t end = i + 1;
      while (end < entries_.size() && entries_[end].word == entries_[end - 1].word + 1 && end - i < kRunWordsMax) ++end;
      record->push_back(run_header(entries_[i].word, end - i));
      for (; i < end; ++i) record->push_back(entries_[i].value);
    }
  }

  uint64_t released_at = 0;  // 1 + the value of the clock when the set's words were in the heap; 0: the set is unused

 private:
  static constexpr size_t kUnindexed = 16;
  static constexpr size_t kKeptMax = 1 << 16;
  static constexpr uint64_t kZero = 0;

  const Entry* entry_of(uint64_t word) const {
    if (!table_.empty()) {
      const uint32_t at = table_[place_of(word)];
      return at == 0 ? nullptr : &entries_[at - 1];
    }
    for (const Entry& entry : entries_)
      if (entry.word == word) return &entry;
    return nullptr;
  }
  // Returns the first range that begins after the word.
  std::vector<Zeros>::const_iterator above_of(uint64_t word) const {
    return std::upper_bound(zeros_.begin(), zeros_.end(), word, [](uint64_t at, const Zeros& range) { return at < range.first; });
  }
  static uint64_t mix(uint64_t word) { return word * 0x9e3779b97f4a7c15u; }
  size_t place_of(uint64_t word) const {
    const size_t mask = table_.size() - 1;
    size_t at = (mix(word) >> 20) & mask;
    while (table_[at] != 0 && entries_[table_[at] - 1].word != word) at = (at + 1) & mask;
    return at;
  }
  void rehash(size_t size) {
    table_.assign(size, 0);
    for (uint32_t i = 0; i < entries_.size(); ++i) table_[place_of(entries_[i].word)] = i + 1;
  }

  std::vector<Entry> entries_;
  std::vector<Zeros> zeros_;     // ordered by position in the heap
  std::vector<uint32_t> table_;  // empty while there are few entries
  uint64_t signature_ = 0;
};

}  // namespace elider::heap
