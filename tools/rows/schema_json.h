// Schemas as JSON, and back.
//
//   {"name": "orders", "key": "number", "key_index": "btree", "row": "described",
//    "columns": [{"name": "price", "type": "decimal(2)", "nullable": true, "default": 1.50}]}
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "elider/schema.h"
#include "elider/status.h"
#include "tools/common/json.h"
#include "tools/rows/fields.h"

namespace elider::tools {

const char* row_kind(const Schema& schema);  // "struct", "sized" or "described"
// Returns true if the table has an index whose key function only the program has.
bool needs_program(const Schema& schema);
// "by_price (unique) of customer, price descending"
std::string text_of_index(const SecondaryIndex& index);

Json schema_to_json(const TableFields& table);
// Reads what schema_to_json() has written. Secondary indexes are described without their key
// functions, which only Options::leave_out_indexes accepts.
//   kInvalidArgument  the JSON does not describe a schema; the message says what is wrong
Result<Schema> schema_from_json(const Json& json);

// The default of a described column, as text; empty without one.
std::string default_text(const TableFields& table, const Field& field);

}  // namespace elider::tools
