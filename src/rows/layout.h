// Functions on columns that the schema, the builder and the reader of described rows share.
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "elider/row_schema.h"
#include "elider/row_value.h"
#include "elider/status.h"

namespace elider::rows {

// Returns "int32", "decimal(2)", ...
std::string type_text(RowType type, uint8_t scale);
// Names the C++ type that a program uses for a column of this type.
const char* cpp_type_of(RowType type);
// Reads a value as it is stored. Returns false if no value is stored like this.
bool decode(const detail::RowPlace& place, std::string_view bytes, RowValue* value);
// Checks text or JSON. Returns "", or a sentence that says what is wrong. The check of other types
// always succeeds.
std::string mistake_in(RowType type, std::string_view text);
// Reports that the table does not have a column of this name. The message lists the columns.
Status no_column(const detail::RowLayout& layout, std::string_view name);
// Returns true if both describe the same rows of tables with the same name.
bool same_columns(const detail::RowLayout& a, const detail::RowLayout& b);

}  // namespace elider::rows
