// Described rows: rows whose columns are known from a description at run time, and not from a C++
// struct. They have up to 1,000 columns: numbers, text, bytes, JSON, timestamps, decimals, UUIDs.
//
//   ELIDER_ASSIGN(auto orders, db.create_table(elider::RowSchema("orders")
//                                                  .column("customer", elider::RowType::kText)
//                                                  .column("quantity", elider::RowType::kInt32)));
//   ELIDER_ASSIGN(const size_t quantity, orders.position("quantity"));
//   elider::RowBuilder row(orders);
//   ELIDER_TRY(db.run([&](elider::Transaction& txn) -> elider::Status {
//     ELIDER_TRY(txn.insert(orders, 17, row.begin().set("customer", "Ada").set(quantity, 5)));
//     return txn.update(orders, 17, row, [&](elider::RowBuilder& change,
//                                              const elider::RowReader& old) {
//       change.set(quantity, *old.get<int32_t>(quantity) - 1);
//     });
//   }));
//
// elider/row_schema.h has the description, elider/row.h the reader and the builder, and
// elider/transaction.h, "encoded rows", the operations. elider/struct_table.h reads and writes
// described rows as C++ structs. docs/described-rows.md explains when to use described rows, and
// what they cost.
//
// To the engine, a described row is a row of variable size without columns (Schema::sized_rows).
// Therefore, conflicts are detected per row, and tables of described rows do not have column
// groups. Their secondary indexes are indexes by columns (SecondaryIndex).
#pragma once

#include "elider/language.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "elider/byte_key.h"
#include "elider/database.h"
#include "elider/row.h"
#include "elider/row_schema.h"
#include "elider/row_value.h"
#include "elider/status.h"
#include "elider/table.h"

namespace elider {

namespace detail {
// The parameter types for keys and ranges of a table whose rows are encoded.
template <class KeyType>
struct EncodedKeys {
  using Parameter = KeyArgument<KeyType>;
  using Range = ByteRange;
};
template <>
struct EncodedKeys<Key> {
  using Parameter = Key;
  using Range = KeyRange;
};
// Returns ok if the row was built with an earlier description of the table, and otherwise the
// reason why the table does not accept the row.
[[gnu::cold]] Status check_builder(const TableBase* table, const RowSchema& schema, const RowBuilder& row);
// Checks that the table's rows are described or, if `typed` does not describe rows, are byte
// strings without columns, and that its keys are those of `typed`.
//   kSchemaMismatch   they are not
//   kInvalidArgument  the TableRef is empty
Status check_opened(const TableRef& table, const Schema& typed);
// Reports that a value is longer than the table accepts.
[[gnu::cold]] Status refuse_value(const TableRef& table, size_t bytes);
}  // namespace detail

// A secondary index of a table whose rows are encoded, for Transaction::scan(). Database::index()
// makes it. The index is valid as long as the database is open.
template <class EncodedTable>
struct EncodedIndex : IndexRef {
  using Encoded = EncodedTable;
  Encoded encoded;
};

// A table of described rows. Database::create_table() and described_table() return it. KeyType is
// the type of the keys, as for Table. The handle refers to the table's current description, so it
// remains valid when columns are added, renamed or dropped (Database::add_column). Positions of
// columns do not change.
// Thread safety: all threads may use a table.
template <class KeyType_ = Key>
class DescribedTable : public TableRef, public CurrentRowSchema {
 public:
  using KeyType = KeyType_;
  using KeyParameter = typename detail::EncodedKeys<KeyType>::Parameter;
  using Range = typename detail::EncodedKeys<KeyType>::Range;
  using Reader = RowReader;
  using Builder = RowBuilder;
  using Argument = RowBuilder&;
  using IndexType = EncodedIndex<DescribedTable>;

  DescribedTable() = default;
  explicit DescribedTable(detail::TableBase* table) : TableRef(table), CurrentRowSchema(detail::row_schema_of(*table)) {}

  operator const RowSchema&() const { return row_schema(); }
  Result<size_t> position(std::string_view name) const { return row_schema().position(name); }

  // Reads the row that a view of this table shows.
  Result<RowReader> reader(const RawView& view) const { return RowReader::open(row_schema(), view); }
  // Finishes a row, which must have been built for this table.
  Result<std::span<const std::byte>> finished(RowBuilder& row) const {
    if (!row.builds(row_schema())) [[unlikely]]
      if (Status status = detail::check_builder(base(), row_schema(), row); !status.ok()) return status;
    return row.finish();
  }
};

template <class KeyType = Key>
using DescribedIndex = EncodedIndex<DescribedTable<KeyType>>;

template <class KeyType>
Result<DescribedTable<KeyType>> Database::described_table(std::string_view name) const {
  Schema typed;
  typed.sized_rows = true;
  if constexpr (ByteKeyType<KeyType>) {
    typed.key_kind = KeyKind::kBytes;
    typed.key_fields = detail::KeyFace<KeyType>::fields();
  }
  auto table = find_table(name, &typed);
  if (!table.ok()) return table.status();
  return DescribedTable<KeyType>(table->base());
}

}  // namespace elider
