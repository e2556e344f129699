// How BufferedWrites updates the counts of ranked indexes (txn/ranks.h). The updates are part of
// the same transaction. They follow the change of the row and of the index entries, because the
// counts are computed from what the transaction sees.
#pragma once

#include "base/bits.h"
#include "txn/ranks.h"
#include "txn/read_write/buffered_writes.h"

namespace elider::txn {

// Updates the counts of these ranked indexes, in which the row with this key has lost the values
// `removed` and got the values `added`. Either may be null. If that fails, the row and its entries
// have already changed, so the transaction is doomed.
template <class Sync, class Claims>
[[gnu::noinline]] Status BufferedWrites<Sync, Claims>::change_ranks(TableType& table, KeyRef key, uint64_t indexes,
                                                                    const IndexValue* removed, const IndexValue* added) {
  for (const uint32_t i : Bits(indexes)) {
    if (removed != nullptr && added != nullptr && table.same_value(i, removed[i], added[i])) continue;
    const auto bytes = [i](const IndexValue* values) { return values == nullptr ? Bytes() : detail::bytes_of(KeyRef(values[i].entry())); };
    const Bytes before = bytes(removed), after = bytes(added);
    // Null: the counts are being computed.
    if (table.ranks(i) == nullptr) return doom(table, Code::kConflict, Cause::kWriteLocked, key);
    const bool usable = table.is_usable(i);
    Status status = Ranks(*this, table, i).change(removed != nullptr ? &before : nullptr, added != nullptr ? &after : nullptr);
    if (status.ok()) [[likely]] continue;
    if (state_ != State::kActive) return status;
    // The counts have changed since they were read, or the index has just been created or dropped.
    const bool conflict = status.not_found() || status.code() == Code::kDuplicateKey || !usable || !table.is_usable(i);
    return doom(table, conflict ? Code::kConflict : status.code(), conflict ? Cause::kReadChanged : status.cause(), key);
  }
  return {};
}

// Adds a row that has been inserted to the counts of these ranked indexes.
template <class Sync, class Claims>
[[gnu::noinline]] Status BufferedWrites<Sync, Claims>::add_to_ranks(TableType& table, KeyRef key, RowImage image, uint64_t ranked) {
  IndexValue values[kSecondaryIndexesMax];
  for (const uint32_t i : Bits(ranked))
    if (Status status = index_value(table, i, key, image, &values[i]); !status.ok()) [[unlikely]] return status;
  return change_ranks(table, key, ranked, nullptr, values);
}

// Removes a row of a table that has ranked indexes (remove_groups).
template <class Sync, class Claims>
[[gnu::noinline]] Status BufferedWrites<Sync, Claims>::remove_ranked_row(TableType& table, Row* row, KeyRef key, WriteKind kind,
                                                                         uint64_t w) {
  IndexValue values[kSecondaryIndexesMax];
  const uint64_t ranked = table.ranked_indexes();
  if (Status status = own_index_values(table, row, key, ranked, Values::kOld, values); !status.ok()) return status;
  if (Status status = remove_groups(table, row, key, kind, w); !status.ok()) return status;
  return change_ranks(table, key, ranked, values, nullptr);
}

}  // namespace elider::txn
