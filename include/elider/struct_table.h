// RowsOf, StructTable: described rows that the program uses as a C++ struct, which may contain text
// and bytes of any length, and members that may be null.
//
//   struct Customer {
//     uint32_t age;
//     elider::Text name;
//     std::optional<elider::Timestamp> since;
//     elider::Bytes photo;
//   };
//   ELIDER_ASSIGN(auto customers, db.create_table(elider::RowsOf<Customer>("customers")
//                                                     .column("age", &Customer::age)
//                                                     .column("name", &Customer::name)
//                                                     .column("since", &Customer::since)
//                                                     .column("photo", &Customer::photo)
//                                                     .index("by_name", {"name"})));
//   ELIDER_TRY(txn.put(customers, 17, {.age = 36, .name = "Ada", .since = {}, .photo = {}}));
//   ELIDER_ASSIGN(auto customer, txn.get(customers, 17));
//   if (customer->name == "Ada") ...
//   ELIDER_TRY(txn.update(customers, 17, [](Customer& change) { change.age += 1; }));
//
// The table is an ordinary table of described rows (elider/described.h). Tools show its columns,
// other programs open it with Database::described_table(), and its columns can be changed while the
// program runs (docs/schema-changes.md). A read decodes all members, and a write encodes them.
// Neither allocates memory per member.
//
// Text and bytes that are read refer to the row. They are valid as long as the StructView, which
// must not outlive its transaction or, in a scan, the visitor. Copy them to keep them longer. Text
// and bytes that are written are copied, so they must exist only until the operation returns.
//
// Thread safety: RowsOf, Text and StructView are values. All threads may use a StructTable.
#pragma once

#include "elider/language.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "elider/byte_key.h"
#include "elider/described.h"
#include "elider/row.h"
#include "elider/row_schema.h"
#include "elider/row_value.h"
#include "elider/schema.h"
#include "elider/status.h"
#include "elider/table.h"

namespace elider {

// A member that is a text column. It does not own its text. Writes check that it is UTF-8.
using Text = std::string_view;

template <class Row, class KeyType = Key>
class StructTable;

struct MemberOptions {
  // The value for old rows, if the column is added to a table that exists (Options::upgrade), and
  // for rows of programs that do not set the column. Null: no default.
  RowValue default_value = {};
  uint8_t scale = 0;  // Decimal: digits after the point, 0 to kDecimalScaleMax
};

namespace detail {

template <class T>
inline constexpr bool kIsRowView = std::same_as<T, Text> || std::same_as<T, Bytes>;

// The type of the column of a member of type T, or -1.
template <class T>
constexpr int member_type() {
  if constexpr (TupleEnum<T>) return kRowTypeOf<std::underlying_type_t<T>>;
  else if constexpr (std::same_as<T, Text>) return static_cast<int>(RowType::kText);
  else if constexpr (std::same_as<T, Bytes>) return static_cast<int>(RowType::kBytes);
  else if constexpr (std::same_as<T, Decimal>) return static_cast<int>(RowType::kDecimal);
  else return kRowTypeOf<T>;
}
template <class T>
struct MemberValue {
  using Type = T;
};
template <class T>
struct MemberValue<std::optional<T>> {
  using Type = T;
};

// A member of a struct and its column.
struct StructMember {
  std::string column;
  RowType type;
  bool nullable;
  uint32_t offset;      // in the struct
  size_t position = 0;  // in the rows
  // Reads the column into the member at `to`. Otherwise sets *why and returns false.
  bool (*load)(const RowReader& row, size_t position, std::byte* to, Status* why);
  // Sets the column to the member at `from`. If `before` is not null, it is the same member as it
  // was read from the row that the builder edits; a member that is unchanged is not set again.
  void (*store)(RowBuilder& row, size_t position, const std::byte* from, const std::byte* before);
};

template <class Member>
bool load_member(const RowReader& row, size_t position, std::byte* to, Status* why) {
  using Value = typename MemberValue<Member>::Type;
  constexpr bool kOptional = !std::same_as<Value, Member>;
  Member& member = *reinterpret_cast<Member*>(to);
  const auto take = [&]<class Stored>(std::type_identity<Stored>) {
    const auto value = row.get<std::conditional_t<kOptional, std::optional<Stored>, Stored>>(position);
    if (!value.ok()) [[unlikely]] return *why = value.status(), false;
    if constexpr (!kOptional) member = static_cast<Value>(*value);
    else if (value->has_value()) member = static_cast<Value>(**value);
    else member.reset();
    return true;
  };
  if constexpr (TupleEnum<Value>) return take(std::type_identity<std::underlying_type_t<Value>>());
  else return take(std::type_identity<Value>());
}

// Returns true if both values are stored as the same bytes. May return false for equal text.
template <class Value>
bool is_same_value(const Value& a, const Value& b) {
  if constexpr (kIsRowView<Value>) return a.data() == b.data() && a.size() == b.size();
  else if constexpr (std::floating_point<Value>) return std::memcmp(&a, &b, sizeof a) == 0;
  else return a == b;
}

template <class Member>
void store_member(RowBuilder& row, size_t position, const std::byte* from, const std::byte* before) {
  using Value = typename MemberValue<Member>::Type;
  const auto value_at = [](const std::byte* at) -> const Value* {
    const auto* member = reinterpret_cast<const Member*>(at);
    if constexpr (std::same_as<Value, Member>) return member;
    else return member->has_value() ? &**member : nullptr;
  };
  const Value* const value = value_at(from);
  if (before != nullptr) {
    const Value* const old = value_at(before);
    if (value == nullptr ? old == nullptr : old != nullptr && is_same_value(*old, *value)) return;
  }
  if (value == nullptr) {
    row.set_null(position);
  } else if constexpr (TupleEnum<Value>) {
    row.set(position, static_cast<std::underlying_type_t<Value>>(*value));
  } else {
    row.set(position, *value);
  }
}

using StructMembers = std::vector<StructMember>;

// Sets the position of each member.
//   kSchemaMismatch  the table does not have the column, or the column has another type
Status find_columns(const RowSchema& schema, StructMembers* members);
// Decodes a row into the struct at `to`.
Status decode_struct(const StructMembers& members, const RowReader& row, std::byte* to);
// Encode the struct at `from`, the second function with the columns of `old` that are not members.
// The bytes are valid until the thread encodes another struct.
Result<std::span<const std::byte>> encode_struct(const StructMembers& members, const RowSchema& schema, const std::byte* from);
Result<std::span<const std::byte>> encode_struct(const StructMembers& members, const RowSchema& schema, const std::byte* from,
                                                 const RowReader& old, const std::byte* before);

}  // namespace detail

// Describes a table whose rows are the struct Row. KeyType is the type of the keys, as for
// SchemaOf. Members may be bool, integers, enumerations, float, double, Timestamp, Uuid, Decimal,
// Text, Bytes, and std::optional of these, whose columns are nullable. Members without a column are
// not stored. Database::create_table() reports mistakes.
template <class Row, class KeyType = Key>
class RowsOf {
  static_assert(std::same_as<KeyType, Key> || ByteKeyType<KeyType>,
                "the key type must be uint64_t, std::string_view, elider::Bytes, or a std::tuple (elider/tuple_key.h)");
  static_assert(std::is_trivially_copyable_v<Row> && std::is_default_constructible_v<Row>,
                "the struct must be trivially copyable; use elider::Text and elider::Bytes for text and bytes");

 public:
  using TableType = StructTable<Row, KeyType>;

  explicit RowsOf(std::string table_name) : schema_(std::move(table_name)) {}

  template <class Member>
  RowsOf& column(std::string name, Member Row::*member, const MemberOptions& options = {}) {
    using Value = typename detail::MemberValue<Member>::Type;
    constexpr int kType = detail::member_type<Value>();
    static_assert(kType >= 0,
                  "a member must be bool, an integer, an enumeration, float, double, elider::Timestamp, elider::Uuid, elider::Decimal, "
                  "elider::Text, elider::Bytes, or std::optional of one of these");
    constexpr auto type = static_cast<RowType>(kType);
    constexpr bool nullable = !std::same_as<Value, Member>;
    schema_.column(name, type, {.nullable = nullable, .default_value = options.default_value, .scale = options.scale});
    members_.push_back({std::move(name), type, nullable, offset_of(member), 0, &detail::load_member<Member>,
                        &detail::store_member<Member>});
    return *this;
  }
  // The table's key index. By default kOrdered for number keys, and kRadix for others.
  RowsOf& key_index(KeyIndex kind) { return schema_.key_index(kind), *this; }
  RowsOf& ordered() { return key_index(KeyIndex::kOrdered); }
  RowsOf& hashed() { return key_index(KeyIndex::kHashed); }
  RowsOf& radix() { return key_index(KeyIndex::kRadix); }
  // Adds an index by columns, such as index("by_name", {"name", descending("age")}).
  RowsOf& index(std::string name, const std::vector<IndexColumn>& columns) { return schema_.index(std::move(name), columns), *this; }
  RowsOf& unique_index(std::string name, const std::vector<IndexColumn>& columns) {
    return schema_.unique_index(std::move(name), columns), *this;
  }
  // Like index() and unique_index(), but with counts (SecondaryIndex::ranked).
  RowsOf& ranked_index(std::string name, const std::vector<IndexColumn>& columns) {
    return schema_.ranked_index(std::move(name), columns), *this;
  }
  RowsOf& unique_ranked_index(std::string name, const std::vector<IndexColumn>& columns) {
    return schema_.unique_ranked_index(std::move(name), columns), *this;
  }
  // The maximum size of a row, up to kDescribedRowBytesMax. kRowBytesMax by default.
  RowsOf& row_bytes_max(uint32_t bytes) { return schema_.row_bytes_max(bytes), *this; }

  const RowSchema& row_schema() const { return schema_; }
  // Returns the schema of the table, for Options::schemas.
  Result<Schema> table_schema() const { return schema_.template table_schema<KeyType>(); }
  // Uses the struct for a table that exists, which finds the columns by name. The table may have
  // other columns in addition: put() and insert() write their defaults, or null, and update() keeps
  // their values.
  //   kSchemaMismatch   the table lacks a column, or its rows or keys are of other types; the
  //                     message names the first difference
  //   kInvalidArgument  the description is invalid
  Result<TableType> open(const TableRef& table) const {
    Result<Schema> typed = table_schema();
    if (!typed.ok()) return typed.status();
    if (Status status = detail::check_opened(table, *typed); !status.ok()) return status;
    auto members = std::make_shared<detail::StructMembers>(members_);
    TableType opened(table.base(), members);
    if (Status status = detail::find_columns(opened.row_schema(), members.get()); !status.ok()) return status;
    return opened;
  }

 private:
  RowSchema schema_;
  detail::StructMembers members_;
};

// A row as a struct, as it was read. It does not show writes that its own transaction makes later.
// It is valid as long as a View: until the transaction ends or, if it was passed to a scan's
// visitor, until the visitor returns. Using an empty StructView, or one whose memory has been
// reused, aborts the process with a message. References to the struct, and its text and bytes, are
// valid as long as the StructView.
template <class Row, class KeyType = Key>
class StructView : View<Row, KeyType> {
  using Base = View<Row, KeyType>;

 public:
  StructView() = default;  // empty
  StructView(const RawView& view, const Row& row) : Base(view), row_(row) {}
  explicit operator bool() const { return Base::operator bool(); }
  using Base::shows;
  using Base::key;
  const Row& operator*() const& { return Base::must_show(), row_; }
  Row operator*() && { return Base::must_show(), row_; }
  const Row* operator->() const { return Base::must_show(), &row_; }
  operator const Row&() const& { return **this; }  // for visitors that take a const Row&
  operator const Row&() && = delete;  // the reference would not outlive the view; write **view to copy the struct

 private:
  Row row_{};
};

// A table of structs. Database::create_table() and RowsOf::open() return it. The handle remains
// valid when columns are added or renamed. If a column of a member is dropped, all operations that
// read or write rows return kSchemaMismatch.
template <class Row_, class KeyType_>
class StructTable : public TableRef, public CurrentRowSchema {
 public:
  using Row = Row_;
  using KeyType = KeyType_;
  using KeyParameter = typename detail::EncodedKeys<KeyType>::Parameter;
  using Range = typename detail::EncodedKeys<KeyType>::Range;
  using Reader = StructView<Row, KeyType>;
  using Argument = const Row&;
  using Element = Row;
  using IndexType = EncodedIndex<StructTable>;

  StructTable() = default;
  StructTable(detail::TableBase* table, std::shared_ptr<const detail::StructMembers> members)
      : TableRef(table), CurrentRowSchema(detail::row_schema_of(*table)), members_(std::move(members)) {}

  // The functions below are used by Transaction.
  Result<Reader> reader(const RawView& view) const {
    const Result<RowReader> row = RowReader::open(row_schema(), view);
    if (!row.ok()) [[unlikely]] return row.status();
    Row decoded{};
    if (Status status = detail::decode_struct(*members_, *row, bytes_of(decoded)); !status.ok()) [[unlikely]] return status;
    return Reader(view, decoded);
  }
  Result<std::span<const std::byte>> finished(const Row& row) const {
    if (members_ == nullptr) [[unlikely]] return Status::invalid_argument("the operation was given an empty StructTable");
    return detail::encode_struct(*members_, row_schema(), bytes_of(row));
  }
  // A row that update() changes.
  struct Edit {
    const RowSchema* schema;
    RowReader old;
    Row before{};
    Row row{};
  };
  Result<Edit> edit(const RawView& view) const {
    Edit begun{&row_schema(), {}};
    const Result<RowReader> old = RowReader::open(*begun.schema, view);
    if (!old.ok()) [[unlikely]] return old.status();
    begun.old = *old;
    if (Status status = detail::decode_struct(*members_, *old, bytes_of(begun.before)); !status.ok()) [[unlikely]] return status;
    begun.row = begun.before;
    return begun;
  }
  Result<std::span<const std::byte>> finished(const Edit& edited) const {
    return detail::encode_struct(*members_, *edited.schema, bytes_of(edited.row), edited.old, bytes_of(edited.before));
  }

 private:
  static std::byte* bytes_of(Row& row) { return reinterpret_cast<std::byte*>(&row); }
  static const std::byte* bytes_of(const Row& row) { return reinterpret_cast<const std::byte*>(&row); }

  std::shared_ptr<const detail::StructMembers> members_;
};

template <class Row, class KeyType = Key>
using StructIndex = EncodedIndex<StructTable<Row, KeyType>>;

}  // namespace elider
