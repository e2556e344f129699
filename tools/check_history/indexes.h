// IndexModel: the contents of a history's secondary indexes at a position in the commit order. The
// replay compares index scans with this model.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "tools/check_history/model.h"

namespace elider::check {

class IndexModel {
 public:
  // Transaction `txn` sets the row's value in the index.
  void put(const RecordedIndexValue& value, uint32_t txn);
  // Removes the row from all indexes of the table.
  void remove_row(uint32_t table, Key key);

  // Calls visit(entry, txn) for every entry from `first` to `last` in order; `txn` is the
  // transaction that added it.
  template <class Visit>
  void for_each(uint32_t table, uint32_t index, const IndexEntry& first, const IndexEntry& last, Visit visit) const {
    const auto found = indexes_.find({table, index});
    if (found == indexes_.end()) return;
    const auto& entries = found->second.entries;
    for (auto at = entries.lower_bound(first); at != entries.end() && at->first <= last; ++at) visit(at->first, at->second);
  }
  // Returns the transaction that added the entry, if the entry exists.
  std::optional<uint32_t> writer(uint32_t table, uint32_t index, const IndexEntry& entry) const;

 private:
  struct Index {
    std::map<IndexEntry, uint32_t> entries;  // with the transaction that added each entry
    std::unordered_map<Key, uint64_t> values;
  };
  std::map<std::pair<uint32_t, uint32_t>, Index> indexes_;  // indexed by table and index
};

}  // namespace elider::check
