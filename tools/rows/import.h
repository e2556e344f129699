// import_file(): writes the records of a CSV file or of JSON lines to a table.
// Thread safety: only main's thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "elider/database.h"
#include "elider/status.h"
#include "tools/rows/row_writer.h"

namespace elider::tools {

struct ImportOptions {
  std::string file, format;          // format: csv or jsonl
  std::string key;                   // the file's column that has the keys; empty for the name of the table's key
  std::vector<std::string> columns;  // the file's columns to import; all if empty
  OnConflict on_conflict = OnConflict::kFail;
};
struct Imported {
  uint64_t written = 0, skipped = 0;
};
// Rows are written in batches, each of them a transaction. After an error, the rows that *imported
// counts are in the table.
//   kInvalidArgument  the file does not fit the table; the message names the file, the line and the
//                     column
// and the statuses of RecordReader and RowWriter.
Status import_file(Database& db, const TableFields& table, const ImportOptions& options, Imported* imported);

// Reads the whole file, and describes a table of described rows whose columns can hold all of its
// values. `types` gives the types of columns, as "column:type" or, for nullable columns,
// "column:type?". All other columns are nullable. Keys are numbers if all of them are numbers,
// and otherwise text. Digits that a number would lose make a column text. *description is a text
// about the keys and the columns.
//   kInvalidArgument  the file does not have a column for the keys, or a type is unknown
Result<Schema> infer_schema(const std::string& table, const ImportOptions& options, const std::vector<std::string>& types,
                            std::string* description);

}  // namespace elider::tools
