// Opens a database for a command that reads or changes its rows, without the program's key
// functions (Options::leave_out_indexes).
// Thread safety: only main's thread.
#pragma once

#include <string>

#include "elider/database.h"
#include "elider/status.h"
#include "tools/data/data_commands.h"
#include "tools/rows/fields.h"

namespace elider::tools {

enum class Access {
  kRead,  // the files are not changed
  kWrite,
  kCreate,  // like kWrite; creates a folder that does not exist
};
// Shows the progress of the recovery on a terminal. Returns the statuses of Database::open().
Result<Database> open_for_rows(const Place& place, Access access);

// Finds a table and its fields.
//   kNotFound  the table does not exist; the message lists the tables
Result<TableFields> find_fields(const Database& db, const std::string& table);

// Returns an error if the table belongs to elider itself.
Status refuse_internal_table(const std::string& table);

}  // namespace elider::tools
