// WriteSet: the words that a transaction writes, in the order in which it first wrote them. Once a
// commit is published, other threads look words up in it until the heap has them.
//
// Thread safety: its transaction's while it fills it; all readers' while nobody changes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heap/format.h"

namespace elider::heap {

class WriteSet {
 public:
  struct Entry {
    uint64_t word;  // its number in the heap
    uint64_t value;
  };

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  std::span<const Entry> entries() const { return entries_; }
  // No word is in it whose bit is not in this.
  uint64_t signature() const { return signature_; }
  static uint64_t bit_of(uint64_t word) { return uint64_t{1} << (mix(word) >> 58); }

  const uint64_t* find(uint64_t word) const {
    if ((signature_ & bit_of(word)) == 0) return nullptr;
    if (table_.empty()) {
      for (const Entry& entry : entries_)
        if (entry.word == word) return &entry.value;
      return nullptr;
    }
    const uint32_t at = table_[place_of(word)];
    return at == 0 ? nullptr : &entries_[at - 1].value;
  }
  void put(uint64_t word, uint64_t value) {
    if (const uint64_t* const found = find(word); found != nullptr) {
      const_cast<uint64_t&>(*found) = value;
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
  // It keeps its memory, unless that is far more than it lately needed.
  void clear() {
    if (entries_.capacity() > kKeptMax) {
      entries_ = {};
      table_ = {};
    }
    entries_.clear();
    table_.clear();
    signature_ = 0;
  }

  // The redo record: runs of neighbouring words (format.h).
  void append_record(std::vector<uint64_t>* record) const {
    for (size_t i = 0; i < entries_.size();) {
      size_t end = i + 1;
      while (end < entries_.size() && entries_[end].word == entries_[end - 1].word + 1 && end - i < kRunWordsMax) ++end;
      record->push_back(run_header(entries_[i].word, end - i));
      for (; i < end; ++i) record->push_back(entries_[i].value);
    }
  }

  uint64_t released_at = 0;  // the clock when its last transaction had written it back

 private:
  static constexpr size_t kUnindexed = 16;
  static constexpr size_t kKeptMax = 1 << 16;

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
  std::vector<uint32_t> table_;  // empty while there are few
  uint64_t signature_ = 0;
};

}  // namespace elider::heap
