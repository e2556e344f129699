// Arguments of the form COLUMN=VALUE.
//
// null is null in a nullable column, and "..." is text with the escapes \", \\ and \xNN. All other
// values are written as tools/rows/values.h says.
// Thread safety: functions of values.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "elider/status.h"
#include "tools/rows/fields.h"

namespace elider::tools {

// A field and the text of its value. `text` is empty and `null` true for null.
struct FieldText {
  const Field* field = nullptr;
  std::string text;
  bool null = false;
};
// Divides each argument, and finds its field. `option` is named in errors.
//   kInvalidArgument  an argument lacks '=', or the column does not exist
Result<std::vector<FieldText>> parse_field_texts(const TableFields& fields, const std::vector<std::string>& arguments, const char* option);
// Reads the value, which may refer to `storage`. The message of an error names the column.
Result<RowValue> value_of(const TableFields& fields, const FieldText& argument, std::string& storage);

// Tests whether columns have given values.
class RowFilter {
 public:
  // The fields must outlive the filter.
  static Result<RowFilter> of(const TableFields& fields, const std::vector<std::string>& arguments);
  // Returns the key that a row must have, or null.
  const OwnedKey* key() const { return key_.has_value() ? &*key_ : nullptr; }
  // Returns true if the row passes, without a test of its key.
  Result<bool> passes(RowFields& row) const;

 private:
  struct Test {
    const Field* field;
    std::unique_ptr<std::string> storage;  // the value may refer to it
    RowValue value;
  };
  std::vector<Test> tests_;
  std::optional<OwnedKey> key_;
};

}  // namespace elider::tools
