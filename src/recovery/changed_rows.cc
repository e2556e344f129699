#include "recovery/changed_rows.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace elider::recovery {

void ChangedRows::group(std::span<const txn::RowChanges* const> lists, size_t tables) {
  size_t count = 0;
  for (const txn::RowChanges* list : lists) count += list->count();
  const size_t slots = std::bit_ceil(2 * count + 2);
  slots_.assign(slots, 0);
  met_.clear();
  all_.resize(count);
  table_begins_.assign(tables + 2, 0);
  const auto shift = static_cast<uint32_t>(64 - std::countr_zero(slots));
  constexpr size_t kAhead = 2048;  // in bytes, because a change's size is known only when the change is in the cache
  Change* to = all_.data();
  for (const txn::RowChanges* list : lists)
    for (const txn::RowChange& change : *list) {
      __builtin_prefetch(reinterpret_cast<const std::byte*>(&change) + kAhead);
      *to++ = {&change, row_of(change, shift)};
    }

  // Groups the rows by table. After the summation, table_begins_[t + 1] is the position of the
  // first row of table t. It is then increased for each row of table t, so that in the end it is
  // the position of the first row of table t + 1.
  for (size_t table = 1; table < table_begins_.size(); ++table) table_begins_[table] += table_begins_[table - 1];
  sorted_.resize(met_.size());
  places_.resize(met_.size());
  for (size_t i = 0; i < met_.size(); ++i) places_[i] = table_begins_[met_[i].table + 1]++;
  for (size_t i = 0; i < met_.size(); ++i) sorted_[places_[i]] = {met_[i].first->key_ref(), nullptr, met_[i].count};
  changes_.resize(count);
  const txn::RowChange** next = changes_.data();
  for (txn::ChangedRow& changed : sorted_) {
    changed.changes = next;
    next += changed.count;
  }
  for (size_t i = 0; i < met_.size(); ++i) met_[i].count = static_cast<uint32_t>(sorted_[places_[i]].changes - changes_.data());
  for (const Change& change : all_) changes_[met_[change.row].count++] = change.change;

  const auto rank = [](const txn::RowChange* c) { return std::tuple(c->group, c->generation, c->version_number, c); };
  const auto before = [&](const txn::RowChange* a, const txn::RowChange* b) { return rank(a) < rank(b); };
  for (txn::ChangedRow& changed : sorted_) {
    if (changed.count == 1) continue;
    const txn::RowChange** const begin = changes_.data() + (changed.changes - changes_.data());
    // Changes that differ only in their address belong to one record and therefore to one list, so
    // their addresses have the record's order.
    if (!std::is_sorted(begin, begin + changed.count, before)) std::sort(begin, begin + changed.count, before);
  }
}

inline uint32_t ChangedRows::row_of(const txn::RowChange& change, uint32_t shift) {
  const uint64_t hash = (change.key + (uint64_t{change.table} << 40)) * 0x9e3779b97f4a7c15;
  for (size_t slot = hash >> shift;; slot = (slot + 1) & (slots_.size() - 1)) {
    if (slots_[slot] == 0) {
      met_.push_back({&change, change.table, 1});
      slots_[slot] = static_cast<uint32_t>(met_.size());
      ++table_begins_[change.table + 2];
      return slots_[slot] - 1;
    }
    Met& met = met_[slots_[slot] - 1];
    if (!met.first->same_row(change)) continue;
    ++met.count;
    return slots_[slot] - 1;
  }
}

}  // namespace elider::recovery
