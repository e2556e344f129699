// dump_database(), load_database(): a whole database as JSON lines, and back.
//
//   {"elider_dump": 1}
//   {"schema": {...}}                                        for each table
//   {"table": "orders", "key": 17, "row": {"price": 12.50}}  for each row, in the order of the keys
//   {"end": {"tables": 1, "rows": 1}}                        without it, the dump is incomplete
//
// tools/rows/schema_json.h describes the schemas. A row contains all bytes of the row
// (tools/rows/fields.h), so that the loaded rows are the same. Sequences are a table. Key functions
// of indexes are not in a dump; the loaded database has the indexes' descriptions, like a backup.
// Thread safety: only main's thread.
#pragma once

#include <cstdint>

#include "elider/database.h"
#include "elider/status.h"
#include "tools/rows/output_file.h"
#include "tools/rows/record_reader.h"

namespace elider::tools {

struct Dumped {
  uint64_t tables = 0, rows = 0;
};
//   kInvalidArgument  a name of a table or a column, which an older version wrote, is not UTF-8
Status dump_database(Database& db, OutputFile& out, Dumped* dumped);

// Reads the beginning of the file.
//   kInvalidArgument  the file is not a dump
Status check_dump(InputFile& in);

// Creates the tables and their rows. With `merge`, tables may exist, if their schemas are the same;
// loaded rows replace rows with the same keys.
//   kInvalidArgument  the file is malformed or incomplete, or a table exists; the message names the
//                     line
Status load_database(Database& db, InputFile& in, bool merge, Dumped* loaded);

}  // namespace elider::tools
