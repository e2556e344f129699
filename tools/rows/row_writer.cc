#include "tools/rows/row_writer.h"

#include <fmt/format.h>

#include "tools/rows/schema_json.h"
#include "tools/rows/status_words.h"

namespace elider::tools {

Result<RowValue> value_of(const Field& field, const Cell& cell, bool exact, std::string& storage) {
  const bool json = field.type.type == RowType::kJson;
  if (cell.kind == Cell::Kind::kNull) {
    if (field.nullable) return RowValue();
    if (json && !cell.json.empty() && !exact) return RowValue(cell.json);
    if (cell.json.empty() && (field.type.type == RowType::kText || field.type.form != ValueType::Form::kPlain))
      return parse_value(field.type, "", storage);
    return Status::invalid_argument(cell.json.empty() ? "the field is empty, but the column cannot be null" : "the column cannot be null");
  }
  if (json && !exact && !cell.json.empty()) return RowValue(cell.json);
  if (cell.kind == Cell::Kind::kNested) return Status::invalid_argument("an object or an array fits only in a json column");
  return parse_value(field.type, cell.text, storage);
}

Status explain(const TableFields& table, const Status& status) {
  if (status.code() != Code::kUnsupported || !needs_program(table.schema())) return status;
  std::string indexes;
  for (const SecondaryIndex& index : table.schema().indexes)
    indexes += fmt::format("{}'{}' of {}", indexes.empty() ? "" : ", ", shown(index.name),
                           shown(fmt::format("{}", fmt::join(index.columns, ", "))));
  return Status(Code::kUnsupported,
                fmt::format("table '{}': only the program can insert and remove rows and change indexed columns, because its key functions "
                            "are not in the files (index {})",
                            shown(table.schema().name), indexes));
}

namespace {

Status set_all(RowEditor& editor, std::span<const FieldValue> values) {
  for (const auto& [field, value] : values)
    if (Status status = editor.set(*field, value); !status.ok()) return status;
  return {};
}

Status put_row(Transaction& txn, const TableRef& table, const RowKey& key, std::span<const std::byte> row) {
  return table.byte_keys() ? txn.put(table, key.bytes, row) : txn.put(table, key.number, row);
}
Status insert_row(Transaction& txn, const TableRef& table, const RowKey& key, std::span<const std::byte> row) {
  return table.byte_keys() ? txn.insert(table, key.bytes, row) : txn.insert(table, key.number, row);
}

// Writes only these columns, which works if no index that was left out reads one of them.
Status write_columns(Database& db, Transaction& txn, const TableFields& table, const RowKey& key, std::span<const FieldValue> values,
                     std::span<const std::byte> row) {
  std::vector<std::string> names;
  for (const auto& [field, value] : values) {
    if (field->kind != Field::Kind::kStruct) return Status(Code::kUnsupported, fmt::format("{} cannot be changed", table.named(*field)));
    names.push_back(field->name);
  }
  if (names.empty()) return {};
  const Result<ColumnsRef> columns = db.columns(table.table(), names);
  if (!columns.ok()) return columns.status();
  return table.table().byte_keys() ? txn.write(table.table(), key.bytes, *columns, row.data())
                                   : txn.write(table.table(), key.number, *columns, row.data());
}

}  // namespace

Result<bool> update_row(Database& db, const TableFields& table, RowEditor& editor, const RowKey& key, std::span<const FieldValue> values) {
  bool inserted = false;
  Status status = db.run([&](Transaction& txn) -> Status {
    RawView old;
    Status found = table.table().byte_keys() ? txn.get(table.table(), key.bytes, {}, &old) : txn.get(table.table(), key.number, {}, &old);
    inserted = found.code() == Code::kNotFound;
    if (!found.ok() && !inserted) return found;
    if (inserted)
      editor.begin();
    else if (Status edited = editor.edit(old); !edited.ok())
      return edited;
    if (Status set = set_all(editor, values); !set.ok()) return set;
    const Result<std::span<const std::byte>> row = editor.finish();
    if (!row.ok()) return row.status();
    if (inserted) return insert_row(txn, table.table(), key, *row);
    if (needs_program(table.schema())) return write_columns(db, txn, table, key, values, *row);
    return put_row(txn, table.table(), key, *row);
  });
  if (!status.ok()) return explain(table, status);
  return inserted;
}

Status RowWriter::add(const OwnedKey& key, std::span<const std::byte> row, uint64_t line) {
  rows_.push_back({key, bytes_.size(), row.size(), line});
  bytes_.insert(bytes_.end(), row.begin(), row.end());
  return rows_.size() < kRowsMax && bytes_.size() < kBytesMax ? Status() : flush();
}

Status RowWriter::flush() {
  uint64_t skipped = 0;
  Status status = db_.run([&](Transaction& txn) -> Status {
    skipped = 0;
    for (const Row& row : rows_) {
      failed_line_ = row.line;
      if (Status written = write(txn, row, &skipped); !written.ok()) return written;
    }
    return {};
  });
  if (!status.ok()) return explain(table_, status);
  written_ += rows_.size() - skipped;
  skipped_ += skipped;
  rows_.clear();
  bytes_.clear();
  return {};
}

Status RowWriter::write(Transaction& txn, const Row& row, uint64_t* skipped) const {
  const std::span<const std::byte> bytes(bytes_.data() + row.begin, row.size);
  if (mode_ == OnConflict::kReplace) return put_row(txn, table_.table(), row.key.key(), bytes);
  Status status = insert_row(txn, table_.table(), row.key.key(), bytes);
  if (status.code() != Code::kDuplicateKey) return status;
  if (mode_ == OnConflict::kSkip) {
    ++*skipped;
    return {};
  }
  if (words_of(status) != status.message()) return status;  // the words name the unique index that has refused the row
  return Status(Code::kDuplicateKey,
                fmt::format("table '{}' already has a row with the key {}, or the file has the key twice; with --on-conflict, skip keeps "
                            "the first row, replace writes the new one, and update changes the columns that the file has",
                            shown(table_.schema().name), shown(key_text(table_.schema(), row.key.key()))));
}

}  // namespace elider::tools
