#include "tools/check_history/indexes.h"

namespace elider::check {

void IndexModel::put(const RecordedIndexValue& value, uint32_t txn) {
  Index& index = indexes_[{value.table, value.index}];
  const auto [at, fresh] = index.values.try_emplace(value.entry.key, value.entry.value);
  if (!fresh) {
    index.entries.erase({at->second, value.entry.key});
    at->second = value.entry.value;
  }
  index.entries[value.entry] = txn;
}

void IndexModel::remove_row(uint32_t table, Key key) {
  for (auto at = indexes_.lower_bound({table, 0}); at != indexes_.end() && at->first.first == table; ++at) {
    const auto found = at->second.values.find(key);
    if (found == at->second.values.end()) continue;
    at->second.entries.erase({found->second, key});
    at->second.values.erase(found);
  }
}

std::optional<uint32_t> IndexModel::writer(uint32_t table, uint32_t index, const IndexEntry& entry) const {
  const auto found = indexes_.find({table, index});
  if (found == indexes_.end()) return std::nullopt;
  const auto at = found->second.entries.find(entry);
  return at == found->second.entries.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace elider::check
