// IndexModel: the secondary indexes of a history, as they stand at a place of the commit order: the
// replay's measure of what scans through them must return.
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
  // From here on the row has this value in the index, by `txn`'s doing.
  void put(const RecordedIndexValue& value, uint32_t txn);
  // The row is gone, from all indexes of the table.
  void remove_row(uint32_t table, Key key);

  // Calls visit(entry, txn) for every entry from `first` to `last`, in their
  // order; txn is who put it there.
  template <class Visit>
  void for_each(uint32_t table, uint32_t index, const IndexEntry& first, const IndexEntry& last, Visit visit) const {
    const auto found = indexes_.find({table, index});
    if (found == indexes_.end()) return;
    const auto& entries = found->second.entries;
    for (auto at = entries.lower_bound(first); at != entries.end() && at->first <= last; ++at) visit(at->first, at->second);
  }
  // Who put it there; none: it is not there.
  std::optional<uint32_t> writer(uint32_t table, uint32_t index, const IndexEntry& entry) const;

 private:
  struct Index {
    std::map<IndexEntry, uint32_t> entries;  // and who put them there
    std::unordered_map<Key, uint64_t> values;
  };
  std::map<std::pair<uint32_t, uint32_t>, Index> indexes_;  // by table and position
};

}  // namespace elider::check
