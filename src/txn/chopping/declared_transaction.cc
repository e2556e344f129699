#include "txn/chopping/declared_transaction.h"

#include "storage/layout.h"
#include "storage/table.h"
#include "txn/any_table.h"

namespace elider::txn {

namespace {
// Returns the given columns, or all columns if none are given.
uint64_t columns_of(const TableRef& table, const ColumnsRef& columns) {
  const detail::ColumnSet* const set = columns.set();
  const size_t count = table ? table.schema().columns.size() : 0;
  static_assert(kColumnsMax <= 64);
  const uint64_t all = count == 0 ? 0 : ~uint64_t{0} >> (64 - count);
  return set == nullptr || set->whole ? all : set->columns & all;
}
uint64_t column_at(const TableRef& table, uint32_t offset) {
  const auto& columns = table.schema().columns;
  for (size_t i = 0; i < columns.size(); ++i)
    if (columns[i].offset == offset) return uint64_t{1} << i;
  return 0;
}
}  // namespace

const DeclaredTable& DeclaredTransaction::of(const TableRef& table) const {
  static const DeclaredTable nothing;
  return table && table.base()->id() < operation_.tables.size() ? operation_.tables[table.base()->id()] : nothing;
}

Status DeclaredTransaction::refuse(std::string what) {
  Status status = Status::invalid_argument("procedure '" + operation_.procedure + "', operation '" + operation_.name + "' " + what +
                                           ", which it does not declare");
  if (refusal_.ok()) refusal_ = status;
  return status;
}
Status DeclaredTransaction::check(const TableRef& table, uint64_t wanted, const DeclaredColumns& may, const char* does) {
  const uint64_t missing = wanted & ~may.columns;
  if (missing == 0) return check(table, may.declared, does);  // even a read without columns shows whether the row exists
  if (!table) return {};  // the inner transaction will refuse the empty TableRef
  const auto column = static_cast<size_t>(__builtin_ctzll(missing));
  return refuse(std::string(does) + " column '" + table.schema().columns[column].name + "' of table '" + table.schema().name + "'");
}
Status DeclaredTransaction::check(const TableRef& table, bool declared, const char* does) {
  return !table || declared ? Status() : refuse(std::string(does) + " table '" + table.schema().name + "'");
}

Status DeclaredTransaction::do_get(const TableRef& table, detail::KeyRef key, const ColumnsRef& columns, RawView* view) {
  const DeclaredTable& may = of(table);
  Status status = check(table, columns_of(table, columns), may.reads | may.writes | may.scans, "reads");
  return status.ok() ? inner_.do_get(table, key, columns, view) : status;
}
Status DeclaredTransaction::do_multi_get(const TableRef& table, const detail::KeyRef* keys, size_t count, const ColumnsRef& columns,
                                         RawView* views) {
  const DeclaredTable& may = of(table);
  Status status = check(table, columns_of(table, columns), may.reads | may.writes | may.scans, "reads");
  return status.ok() ? inner_.do_multi_get(table, keys, count, columns, views) : status;
}
Status DeclaredTransaction::do_scan(const TableRef& table, const detail::KeyRefRange& range, const ScanOptions& options, EachRow visit) {
  if (table && static_cast<const AnyTable*>(table.base())->has_counts()) {
    const Status status = Status::invalid_argument("procedure '" + operation_.procedure + "', operation '" + operation_.name +
                                                   "' uses the counts of a ranked index (count(), rank() or ScanOptions::skip), which "
                                                   "procedures with operations cannot do; scan the index, or use a procedure with a body");
    if (refusal_.ok()) refusal_ = status;
    return status;
  }
  Status status = check(table, columns_of(table, options.columns), of(table).scans, "scans");
  return status.ok() ? inner_.do_scan(table, range, options, visit) : status;
}
Status DeclaredTransaction::do_scan_index(const IndexRef& index, const detail::EntryRange& range, const ScanOptions& options,
                                          EachEntry visit) {
  const TableRef table = index.table;
  uint64_t wanted = columns_of(table, options.columns);
  const IndexSlot* const slot = table ? static_cast<const AnyTable&>(*table.base()).usable_index(index.position) : nullptr;
  if (slot != nullptr) wanted |= slot->reads.columns;
  Status status = check(table, wanted, of(table).scans, "scans");
  return status.ok() ? inner_.do_scan_index(index, range, options, visit) : status;
}
Status DeclaredTransaction::do_scan_rows(const TableRef& table, const RowScanOptions& options,
                                         EachScannedRow visit) {
  Status status = check(table, columns_of(table, options.columns), of(table).scans, "scans");
  return status.ok() ? inner_.do_scan_rows(table, options, visit) : status;
}
Status DeclaredTransaction::do_insert(const TableRef& table, detail::KeyRef key, const void* row, size_t bytes) {
  Status status = check(table, of(table).inserts, "inserts into");
  return status.ok() ? inner_.do_insert(table, key, row, bytes) : status;
}
Status DeclaredTransaction::do_put(const TableRef& table, detail::KeyRef key, const void* row, size_t bytes) {
  Status status = check(table, of(table).inserts, "may insert into");
  if (status.ok()) status = check(table, columns_of(table, {}), of(table).writes, "may write");
  return status.ok() ? inner_.do_put(table, key, row, bytes) : status;
}
Status DeclaredTransaction::do_edit(const TableRef& table, detail::KeyRef key, const ColumnsRef& columns, void** image) {
  Status status = check(table, columns_of(table, columns), of(table).writes, "writes");
  return status.ok() ? inner_.do_edit(table, key, columns, image) : status;
}
Status DeclaredTransaction::do_edit_view(const TableRef& table, const RawView& view, const ColumnsRef& columns, void** image) {
  Status status = check(table, columns_of(table, columns), of(table).writes, "writes");
  return status.ok() ? inner_.do_edit_view(table, view, columns, image) : status;
}
Status DeclaredTransaction::do_edited(const TableRef& table, void* image) { return inner_.do_edited(table, image); }
void DeclaredTransaction::do_edit_threw(const TableRef& table, detail::KeyRef key) { inner_.do_edit_threw(table, key); }
Status DeclaredTransaction::do_write(const TableRef& table, detail::KeyRef key, const ColumnsRef& columns, const void* row) {
  Status status = check(table, columns_of(table, columns), of(table).writes, "writes");
  return status.ok() ? inner_.do_write(table, key, columns, row) : status;
}
Status DeclaredTransaction::do_add(const TableRef& table, detail::KeyRef key, uint32_t offset, ColumnType type, const void* delta) {
  Status status = check(table, table ? column_at(table, offset) : 0, of(table).adds | of(table).writes, "adds to");
  return status.ok() ? inner_.do_add(table, key, offset, type, delta) : status;
}
Status DeclaredTransaction::do_remove(const TableRef& table, detail::KeyRef key) {
  Status status = check(table, of(table).removes, "removes from");
  return status.ok() ? inner_.do_remove(table, key) : status;
}
void DeclaredTransaction::do_look_ahead(const TableRef& table, const detail::KeyRef* keys, size_t count) {
  inner_.do_look_ahead(table, keys, count);  // only a hint
}
Status DeclaredTransaction::do_version(const TableRef& table, detail::KeyRef key, uint64_t* version) {
  Status status = check(table, columns_of(table, {}), of(table).reads, "reads");
  return status.ok() ? inner_.do_version(table, key, version) : status;
}

}  // namespace elider::txn
