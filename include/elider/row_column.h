// RowColumn: a column of described rows (elider/described.h), as the schema of a table stores it.
// Programs describe columns with RowSchema::column(). Thread safety: the types are values.
#pragma once

#include "elider/language.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace elider {

inline constexpr uint32_t kRowColumnsMax = 1000;
inline constexpr uint32_t kRowColumnNameBytesMax = 255;
inline constexpr uint8_t kDecimalScaleMax = 18;

// The numbers are stored in files, so they must not change.
enum class RowType : uint8_t {
  kBool = 0, kInt8 = 1, kInt16 = 2, kInt32 = 3, kInt64 = 4, kUInt8 = 5, kUInt16 = 6, kUInt32 = 7, kUInt64 = 8,
  kFloat = 9, kDouble = 10,
  kTimestamp = 11,
  kText = 12, kBytes = 13,
  kUuid = 14,
  kDecimal = 15,
  kJson = 16,
};
inline constexpr size_t kRowTypes = 17;
std::string_view name_of(RowType type);  // "bool", "int8", ...
// The number of bytes of a value, or 0 if values have different sizes.
constexpr uint32_t fixed_bytes_of(RowType type) {
  constexpr uint8_t kBytesOf[kRowTypes] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 8, 0, 0, 16, 8, 0};
  return kBytesOf[static_cast<size_t>(type)];
}

struct RowColumn {
  std::string name;
  RowType type = RowType::kInt64;
  bool nullable = false;
  uint8_t scale = 0;
  // The default as it is stored in a row, if there is one.
  std::optional<std::string> default_bytes = {};
  // Database::drop_column() has dropped the column. Its position stays, without a value, so that
  // the positions of other columns do not change.
  bool dropped = false;
  friend bool operator==(const RowColumn&, const RowColumn&) = default;
};

}  // namespace elider
