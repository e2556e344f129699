// row_schema_of(): the schemas of row_fuzz.cc and of its corpus. Thread safety: a pure function.
#pragma once

#include <string>

#include "elider/row_schema.h"

namespace elider::fuzz {

// All types, in an order that mixes fixed and variable columns. Each schema begins elsewhere, so
// that columns are nullable in one and not in another.
inline RowSchema row_schema_of(size_t number) {
  RowSchema schema("fuzz");
  const size_t columns = number % 4 == 0 ? 3 : number % 4 == 1 ? 17 : number % 4 == 2 ? 70 : 9;
  for (size_t i = 0; i < columns; ++i) {
    const auto type = static_cast<RowType>((7 * i + number) % kRowTypes);
    const uint8_t scale = type == RowType::kDecimal ? 2 : 0;
    schema.column("c" + std::to_string(i), type, {.nullable = (i + number) % 3 != 0, .scale = scale});
  }
  return schema;
}

}  // namespace elider::fuzz
