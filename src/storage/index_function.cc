#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "storage/table.h"

namespace elider::storage {

namespace {

// Returns an empty result if the key function throws an exception, because the function may reject
// a row that consists of small numbers.
std::optional<uint64_t> value_of(const SecondaryIndex& index, const std::byte* row) {
  try {
    return index.key(row);
  } catch (...) {
    return {};
  }
}

template <class T>
void put_as(int number, std::byte* to) {
  const T value = static_cast<T>(number);
  std::memcpy(to, &value, sizeof value);
}

// Stores a number in a column of any type. In a kBytes column it sets each byte.
void put(const Column& column, int number, std::byte* row) {
  std::byte* const to = row + column.offset;
  if (column.type == ColumnType::kBytes) std::memset(to, number, column.size);
  else if (column.type == ColumnType::kFloat) put_as<float>(number, to);
  else if (column.type == ColumnType::kDouble) put_as<double>(number, to);
  else *to = static_cast<std::byte>(number);  // the lowest byte
}

// Sets each byte that no column describes to 1. Returns a description of these bytes, or "".
std::string changed_rest(const Schema& schema, std::vector<std::byte>* row) {
  std::vector<bool> described(schema.row_bytes);
  for (const Column& column : schema.columns)
    std::fill_n(described.begin() + column.offset, column.size, true);
  std::string found;
  for (uint32_t i = 0; i < schema.row_bytes; ++i) {
    if (described[i]) continue;
    (*row)[i] = std::byte{1};
    found = "bytes that no column describes";
  }
  return found;
}

}  // namespace

std::string column_read_unnamed(const Schema& schema, const SecondaryIndex& index) {
  const auto named = [&](const Column& column) {
    return std::find(index.columns.begin(), index.columns.end(), column.name) != index.columns.end();
  };
  // The named columns get small nonzero numbers, which differ if there are at most eight such
  // columns. A key function may divide by a column or by the difference of two columns, or use a
  // column as an array index.
  std::vector<std::byte> base(schema.row_bytes), changed;
  int number = 0;
  for (const Column& column : schema.columns)
    if (named(column) && column.type != ColumnType::kBytes) put(column, number = number % 8 + 1, base.data());
  const std::optional<uint64_t> value = value_of(index, base.data());
  if (!value) return {};
  const auto notices = [&] {
    const std::optional<uint64_t> other = value_of(index, changed.data());
    return other && *other != *value;
  };
  for (const Column& column : schema.columns) {
    if (named(column)) continue;
    for (const int other : {1, 2, 120}) {  // several values, because a function may read only some bits, or divide
      changed = base;
      put(column, other, changed.data());
      if (notices()) return "column '" + column.name + "'";
    }
  }
  changed = base;
  if (const std::string rest = changed_rest(schema, &changed); !rest.empty() && notices()) return rest;
  return {};
}

}  // namespace elider::storage
