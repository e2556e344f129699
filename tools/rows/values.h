// Values of columns as text and as JSON, and values that are read from text.
//
//   type               text                                      JSON
//   bool               true, false                               the same
//   integers, decimal  digits: -5, 12.50                         a number
//   float, double      the shortest digits that are read as the  a number; nan and inf are text
//                      same number: 0.1, 1.0, 1e+30, inf, nan
//   timestamp          2026-11-29T22:16:20.000000Z               text
//   uuid               0e37df36-f698-11e6-8dd4-cb9ced3df976      text
//   text               itself                                    text
//   json               itself                                    the value; text in a dump
//   bytes              0x01ff                                    text
//   bytes of structs,  themselves if they are text, otherwise    text
//   byte keys, `value`  0x01ff
//
// The text of a struct's bytes ends before the zero bytes that fill the column.
//
// Each text is read as the value that it was written for. A NaN with unusual bits is nan(0x...),
// and a time that is not in the years 1 to 9999 is timestamp(microseconds).
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "elider/row_column.h"
#include "elider/row_value.h"
#include "elider/schema.h"
#include "elider/status.h"

namespace elider::tools {

// How a column's values are written and read.
struct ValueType {
  enum class Form : uint8_t {
    kPlain,   // as RowType says
    kPadded,  // bytes of a struct's column: text that fills the column with zero bytes, or hexadecimal
    kOpen,    // bytes of any size: text or hexadecimal
  };
  RowType type = RowType::kInt64;
  uint8_t scale = 0;  // kDecimal
  Form form = Form::kPlain;
  uint32_t size = 0;  // kPadded
};
ValueType value_type_of(const Column& column);
ValueType value_type_of(const RowColumn& column);
std::string type_name(const ValueType& type);  // "int32", "decimal(2)", "bytes(16)"
// Returns false if the name, such as "decimal(2)", is not a type of described rows.
bool parse_type(std::string_view name, ValueType* type);
// The names of the types that parse_type() knows: "bool, int8, ..., decimal(SCALE), json".
std::string known_types();

// Returns the value of a float column. A RowValue holds floats as doubles, and the conversion
// changes some NaNs. A NaN is therefore represented by an integer, its bits, here and in all
// functions below.
RowValue float_value(float number);
// Returns the number of a float column's value.
float float_of(const RowValue& value);

// Appends the value as text. Null appends nothing.
void append_text(std::string& out, const ValueType& type, const RowValue& value);
// Appends the value as JSON. With `exact`, a JSON document is written as a string, so that its
// spaces and its null are preserved.
void append_json(std::string& out, const ValueType& type, const RowValue& value, bool exact);
// Append a value that is not in a RowValue.
void append_text(std::string& out, int64_t number);
void append_text(std::string& out, uint64_t number);
void append_text(std::string& out, float number);
void append_text(std::string& out, double number);
void append_text(std::string& out, Timestamp time);
void append_json_string(std::string& out, std::string_view text);
// Bytes that are not UTF-8 are appended as themselves. shown() replaces them and control characters
// by \xNN.
std::string shown(std::string_view text);

// Lists names, at most ten: "'a', 'b' and 5 others".
std::string listed(const std::vector<std::string>& names);

// Appends bytes as text, or as 0x... if they are not text or begin with 0x. Control characters are
// not text, except for tabs and ends of lines if `lines` is true.
void append_bytes(std::string& out, std::string_view bytes, bool lines);
// Reads bytes that append_bytes() has written.
//   kInvalidArgument  the text begins with 0x, but is not hexadecimal
Result<std::string_view> parse_bytes_text(std::string_view text, std::string& storage);
// Reads "..." with the escapes \", \\ and \xNN.
//   kInvalidArgument  the text does not end with a quotation mark, or contains another escape
Result<std::string_view> parse_quoted(std::string_view text, std::string& storage);

// Reads a value that is not null. The value refers to `text` or to `storage`.
//   kInvalidArgument  the text is not a value of this type; the message says why
Result<RowValue> parse_value(const ValueType& type, std::string_view text, std::string& storage);

// Returns true if two values of a column of this type are equal. All NaNs are equal, and so are
// both zeros.
bool same_value(const ValueType& type, const RowValue& a, const RowValue& b);

}  // namespace elider::tools
