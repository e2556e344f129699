// scan_table(): reads the rows of a table from one snapshot, in the order of their keys.
// Thread safety: functions of a Database.
#pragma once

#include <cstdint>

#include "elider/database.h"
#include "elider/function_ref.h"
#include "elider/status.h"
#include "tools/rows/keys.h"

namespace elider::tools {

// Calls visit(key, row) for each row of the range until it returns false. The key and the row are
// valid until `visit` returns. Memory is bounded, except for hashed tables: their keys are copied
// and sorted first. Returns the statuses of Database::run_read_only().
Status scan_table(Database& db, const TableRef& table, const RowRange& range, bool reverse,
                  FunctionRef<bool(const RowKey&, const RawView&)> visit);

// Calls visit() with the row of this key, if it exists.
Status get_row(Database& db, const TableRef& table, const RowKey& key, FunctionRef<void(const RawView&)> visit);

}  // namespace elider::tools
