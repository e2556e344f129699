#include "txn/refuse.h"

#include <string>

#include "base/key_text.h"
#include "base/status_words.h"
#include "elider/key_field.h"

namespace elider::txn {

namespace {
// The caller must already have checked that the arguments are valid for reading.
Status refuse_restricted_write(const TableRef& table) {
  return Status(Code::kUnsupported, "table '" + table.schema().name +
                                        "' was opened without its secondary indexes (Options::leave_out_indexes), so columns that an "
                                        "index reads cannot be written");
}
}  // namespace

const detail::ColumnSet* accept_restricted_write(uint64_t database_id, const TableRef& table, const ColumnsRef& columns) {
  const detail::TableBase& base = *table.base();
  const detail::ColumnSet* const chosen = columns.set();
  if (base.usable_in() != database_id || base.writable_in() != 0) return nullptr;
  if (chosen == nullptr || chosen->table != &base) return nullptr;
  return chosen->whole || (chosen->columns & base.layout().indexed_columns()) != 0 ? nullptr : chosen;
}

Status refuse_arguments(uint64_t database_id, const TableRef& table, const ColumnsRef& columns) {
  if (!table) return Status::invalid_argument("the operation was given an empty TableRef");
  const std::string named = "table '" + table.schema().name + "'";
  if (table.base()->database_id() != database_id) return Status::invalid_argument(named + " belongs to another database");
  if (!table.base()->usable()) return refuse_dropped(*table.base());
  if (columns.set() != nullptr && columns.set()->table == nullptr)
    return Status::invalid_argument("some of the given columns do not belong to " + named);
  if (columns.set() == nullptr || columns.set()->table == table.base())  // a table that is not restricted was just being dropped
    return table.base()->restricted() ? refuse_restricted_write(table) : refuse_dropped(*table.base());
  return Status::invalid_argument("the given columns belong to a table other than " + named.substr(6));
}

Status refuse_dropped(const detail::TableBase& table) {
  return Status(Code::kNotFound, "table '" + table.schema().name + "' has been dropped");
}

Status refuse_pending_edit(const TableRef& table) {
  return Status::invalid_argument("table '" + table.schema().name +
                                  "': an edit of columns that a secondary index reads has begun; call edited() first");
}
Status refuse_view(const TableRef& table) {
  return Status::invalid_argument("update: the view does not show a row of table '" + table.schema().name +
                                  "' that this transaction has read");
}

Status refuse_whole_write(const TableRef& table) {
  return Status::invalid_argument("write: table '" + table.schema().name + "' has variable-size rows; name the columns, or use put()");
}

Status refuse_scan_of_hashed(const TableRef& table) {
  return Status(Code::kUnsupported, "table '" + table.schema().name + "' is hashed, and cannot be scanned in the order of its keys");
}
Status refuse_scan_of_rows_in_writing() {
  return Status::invalid_argument("scan_rows reads a snapshot; use it in a read-only transaction");
}
Status refuse_view_of_other_size(const detail::TableBase& table, detail::KeyRef key) {
  return Status(Code::kInvalidArgument, Cause::kNone, table.error(Code::kInvalidArgument, Cause::kNone, key),
                "edit(): this transaction has changed the size of the row since it read the view; read the row again");
}
Status refuse_version_of_written(const detail::TableBase& table, detail::KeyRef key) {
  return Status(Code::kInvalidArgument, Cause::kNone, table.error(Code::kInvalidArgument, Cause::kNone, key),
                "version(): this transaction has written the row, whose new version is known only after the commit");
}
Status refuse_scan_threads(unsigned threads) {
  return Status::invalid_argument("scan_rows: RowScanOptions::threads is " + std::to_string(threads) + ", but must be between 1 and " +
                                  std::to_string(kScanThreadsMax));
}
Status refuse_index(const TableRef& table, uint32_t position) {
  return Status::invalid_argument("table '" + table.schema().name + "' does not have a secondary index " + std::to_string(position) +
                                  "; an index that was dropped cannot be used, and its handles do not refer to a later index");
}
Status refuse_later_index(const TableRef& table, const SecondaryIndex& index) {
  return Status::invalid_argument("index '" + index.name + "' of table '" + table.schema().name +
                                  "' was created after the snapshot that this transaction reads; begin another transaction");
}

Status refuse_range_of_columns(const TableRef& table, const SecondaryIndex& index) {
  return Status::invalid_argument("index '" + index.name + "' of table '" + table.schema().name +
                                  "' has a key function; scan a range of its values, such as IndexRange");
}
Status refuse_range_of_values(const TableRef& table, const SecondaryIndex& index) {
  return Status::invalid_argument("index '" + index.name + "' of table '" + table.schema().name +
                                  "' is by columns; scan a ColumnRange, such as elider::prefix()");
}

Status refuse_unranked(const TableRef& table, const SecondaryIndex& index, const char* operation) {
  return Status::invalid_argument(std::string(operation) + " needs a ranked index, but index '" + index.name + "' of table '" +
                                  table.schema().name + "' is not ranked; declare it with ranked_index()");
}
Status refuse_skip(const TableRef& table) {
  return Status::invalid_argument("table '" + table.schema().name +
                                  "': ScanOptions::skip is only for scans of a ranked index by columns; pass it a ColumnRange");
}

Status refuse_taken(const Status& at, const SecondaryIndex& index, const std::string& value, const std::string& holder) {
  return Status(
      at.code(), at.cause(), at,
      "unique index '" + index.name + "' already has value " + value + ", in the row of key " + holder);
}

Status refuse_add(const TableRef& table, uint32_t offset, ColumnType type) {
  const std::string named = "table '" + table.schema().name + "': ";
  for (const Column& column : table.schema().columns) {
    if (column.offset != offset) continue;
    const std::string what = named + "cannot add to column '" + column.name + "': ";
    if (column.type == ColumnType::kBytes) return Status::invalid_argument(what + "it is not a number");
    if (column.type != type) return Status::invalid_argument(what + "it is a number of another type");
    if (table.base()->restricted()) return refuse_restricted_write(table);
    if (table.base()->writable_in() == 0) return refuse_dropped(*table.base());
    return Status::invalid_argument(what + "a secondary index reads it");
  }
  return Status::invalid_argument(named + "no column begins at offset " + std::to_string(offset));
}

}  // namespace elider::txn

namespace elider::detail {

Status refuse_number(const TableRef& table, Key key) {
  // Calls with many keys or a range pass 0, so 0 is not named.
  return Status::invalid_argument("table '" + table.schema().name + "' has byte keys; " +
                                  (key == 0 ? "number keys were given" : "the number key " + std::to_string(key) + " was given"));
}
Status check_bytes(const TableRef& table, Bytes key) {
  if (!table) return Status::invalid_argument("the operation was given an empty TableRef");
  const std::string named = "table '" + table.schema().name + "'";
  // Calls with many keys or a range pass an empty key, so an empty key is not named.
  if (!table.byte_keys())
    return Status::invalid_argument(named + " has number keys; " +
                                    (key.empty() ? "byte keys were given" : "the byte key " + quoted_key(key.text()) + " was given"));
  if (key.size() > kKeyBytesMax)
    return Status::invalid_argument(named + ": the key " + quoted_key(key.text()) + " is too long; a key has at most " +
                                    std::to_string(kKeyBytesMax) + " bytes");
  if (!table.tuple_keys()) return {};
  Status status = check_tuple_key(table.schema().key_fields, key.span());
  if (status.ok()) return {};
  return reworded(Code::kInvalidArgument, named + " has the key " + text_of(table.schema().key_fields) + ": ", status);
}
Status refuse_edit_of_described(const TableRef& table) {
  return Status::invalid_argument("table '" + table.schema().name +
                                  "' has described rows, which cannot be edited as bytes; use update() with a RowBuilder, or put()");
}
Status refuse_row_count(size_t keys, size_t rows) {
  return Status::invalid_argument("insert_many: " + std::to_string(rows) + " rows were given for " + std::to_string(keys) + " keys");
}
Status check_range(const TableRef& table, const ByteRange& range) {
  if (!range.refusal().ok() || !table) return refuse_tuple(table, range.refusal());
  if (!table.tuple_keys()) return {};
  Status status = check_tuple_prefix(table.schema().key_fields, range.fields().span());
  if (status.ok()) status = check_tuple_prefix(table.schema().key_fields, range.last_fields().span());
  if (status.ok()) return {};
  return reworded(Code::kInvalidArgument,
                  "table '" + table.schema().name + "' has the key " + text_of(table.schema().key_fields) + ", but in the range's prefix ",
                  status);
}
Status refuse_tuple(const TableRef& table, const Status& why) {
  if (!table) return Status::invalid_argument("the operation was given an empty TableRef");
  return reworded(Code::kInvalidArgument, "table '" + table.schema().name + "': the key cannot be encoded: ", why);
}

}  // namespace elider::detail
