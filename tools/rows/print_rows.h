// print_rows(): prints the rows of a table that a command was asked for.
//
// If the table is ordered and the format allows it, several threads print: one after the other
// reads a page of rows from one snapshot, all convert their pages, and the pages are written in
// order.
// Thread safety: only main's thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "elider/database.h"
#include "elider/status.h"
#include "tools/rows/fields.h"
#include "tools/rows/keys.h"
#include "tools/rows/output_file.h"

namespace elider::tools {

struct RowsAsked {
  KeyBounds bounds;
  bool reverse = false;
  std::vector<std::string> where;    // COLUMN=VALUE
  std::vector<std::string> columns;  // all that are not hidden if empty
  uint64_t limit = ~uint64_t{0};
  RowFormat format = RowFormat::kTable;
  bool shows_progress = false;  // on standard error
};
// Counts the printed rows in *rows.
//   kInvalidArgument  a key, a value or the name of a column is wrong
//   kCorrupt          a row is damaged; the message names its key
Status print_rows(Database& db, const TableFields& table, const RowsAsked& asked, OutputFile& out, uint64_t* rows);

}  // namespace elider::tools
