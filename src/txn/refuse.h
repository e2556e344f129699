// Checks the arguments of operations, and creates the errors for invalid arguments. All kinds of
// transactions use these functions.
#pragma once

#include <string>

#include "elider/key.h"
#include "elider/status.h"
#include "elider/table.h"
#include "storage/table.h"

namespace elider::txn {

using detail::KeyRef;

enum class Purpose : uint8_t { kRead, kWrite };

// Like accept_arguments(), but checks a write to a table that was opened without its secondary
// indexes. Returns null if `columns` includes a column that one of these indexes reads.
const detail::ColumnSet* accept_restricted_write(uint64_t database_id, const TableRef& table, const ColumnsRef& columns);
// Checks the arguments of an operation and returns the requested columns. Returns null if an
// argument is invalid; refuse_arguments() then returns the error.
template <Purpose kPurpose>
const detail::ColumnSet* accept_arguments(uint64_t database_id, const TableRef& table, const ColumnsRef& columns) {
  const detail::ColumnSet* const chosen = columns.set();
  if (!table) [[unlikely]] return nullptr;
  const uint64_t of_table = kPurpose == Purpose::kWrite ? table.base()->writable_in() : table.base()->usable_in();
  if (of_table != database_id || (chosen != nullptr && chosen->table != table.base())) [[unlikely]]
    return kPurpose == Purpose::kWrite ? accept_restricted_write(database_id, table, columns) : nullptr;
  return chosen != nullptr ? chosen : &table.base()->layout().all();
}
Status refuse_arguments(uint64_t database_id, const TableRef& table, const ColumnsRef& columns);
Status refuse_dropped(const detail::TableBase& table);
Status refuse_pending_edit(const TableRef& table);
Status refuse_view(const TableRef& table);
Status refuse_whole_write(const TableRef& table);
Status refuse_scan_of_hashed(const TableRef& table);
Status refuse_scan_of_rows_in_writing();
Status refuse_view_of_other_size(const detail::TableBase& table, detail::KeyRef key);
Status refuse_version_of_written(const detail::TableBase& table, detail::KeyRef key);
inline constexpr unsigned kScanThreadsMax = 256;
Status refuse_scan_threads(unsigned threads);
Status refuse_index(const TableRef& table, uint32_t position);
// `at` contains the key of the row to which the operation tried to give `value`. `holder` is the
// key of the row that already has this value.
Status refuse_taken(const Status& at, const SecondaryIndex& index, const std::string& value, const std::string& holder);
// Report that the index is not by columns, or that it is, but was given a range for the other kind.
Status refuse_later_index(const TableRef& table, const SecondaryIndex& index);
Status refuse_range_of_columns(const TableRef& table, const SecondaryIndex& index);
Status refuse_range_of_values(const TableRef& table, const SecondaryIndex& index);
// Reports that the index is not ranked, but `operation` needs a ranked index.
Status refuse_unranked(const TableRef& table, const SecondaryIndex& index, const char* operation);
Status refuse_skip(const TableRef& table);
Status refuse_add(const TableRef& table, uint32_t offset, ColumnType type);

}  // namespace elider::txn
