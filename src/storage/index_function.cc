#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "storage/table.h"

namespace elider::storage {

namespace {

// Nothing where it throws: rows of zeros and ones may be none that it takes.
std::optional<uint64_t> value_of(const SecondaryIndex& index, const std::byte* row) {
  try {
    return index.key(row);
  } catch (...) {
    return {};
  }
}

// A small number, which also a bool, or a length, may be.
void put_one(const Column& column, std::byte* row) {
  if (column.type == ColumnType::kBytes) std::memset(row + column.offset, 1, column.size);
  else row[column.offset] = std::byte{1};
}

// The bytes that no column describes, with a one in each.
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
  std::vector<std::byte> base(schema.row_bytes), changed;
  for (const bool ones : {false, true}) {  // in the columns that it names: it may look at others by what is in those
    for (const Column& column : schema.columns)
      if (ones && named(column) && column.type != ColumnType::kBytes) put_one(column, base.data());
    const std::optional<uint64_t> value = value_of(index, base.data());
    if (!value) continue;
    const auto notices = [&] {
      const std::optional<uint64_t> other = value_of(index, changed.data());
      return other && *other != *value;
    };
    for (const Column& column : schema.columns) {
      if (named(column)) continue;
      changed = base;
      put_one(column, changed.data());
      if (notices()) return "column '" + column.name + "'";
    }
    changed = base;
    if (const std::string rest = changed_rest(schema, &changed); !rest.empty() && notices()) return rest;
  }
  return {};
}

}  // namespace elider::storage
