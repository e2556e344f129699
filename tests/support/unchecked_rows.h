// UncheckedRows: writes any bytes to a table of described rows, which Transaction::put() refuses.
// Tests use it to show what damaged rows lead to.
//
// Thread safety: a value.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "elider/elider.h"

namespace elider::test {

class UncheckedRows : public TableRef {
 public:
  using KeyType = Key;
  using KeyParameter = Key;
  using Reader = RawView;
  using Argument = std::string_view;

  explicit UncheckedRows(const TableRef& table) : TableRef(table) {}
  Result<std::span<const std::byte>> finished(std::string_view row) const { return std::as_bytes(std::span(row)); }
};

}  // namespace elider::test
