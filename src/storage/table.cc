#include "storage/table.h"

#include <algorithm>
#include <iterator>

#include "base/key_text.h"
#include "base/status_words.h"
#include "base/utf8.h"
#include "elider/described.h"
#include "elider/tuple.h"

namespace elider {

bool Schema::same_as(const Schema& other) const { return storage::difference(*this, other).empty(); }

namespace storage {

namespace {

Status wrong(const Schema& schema, const std::string& what) {
  return Status::invalid_argument("table '" + schema.name + "': " + what);
}

uint32_t size_of(ColumnType type) {
  switch (type) {
    case ColumnType::kInt8: case ColumnType::kUInt8: return 1;
    case ColumnType::kInt16: case ColumnType::kUInt16: return 2;
    case ColumnType::kInt32: case ColumnType::kUInt32: case ColumnType::kFloat: return 4;
    case ColumnType::kInt64: case ColumnType::kUInt64: case ColumnType::kDouble: return 8;
    case ColumnType::kBytes: return 0;
  }
  return 0;
}

Status check_columns(const Schema& schema) {
  if (schema.columns.size() > kColumnsMax)
    return wrong(schema, std::to_string(schema.columns.size()) + " columns are described; the maximum is " + std::to_string(kColumnsMax));
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const Column& column = schema.columns[i];
    const std::string named = "column '" + column.name + "' ";
    if (column.name.empty()) return wrong(schema, "column " + std::to_string(i) + " is unnamed");
    if (column.size == 0) return wrong(schema, named + "is in a column group but is not described, or has 0 bytes");
    if (column.size > schema.row_bytes || column.offset > schema.row_bytes - column.size)
      return wrong(schema, named + "extends past the row's " + std::to_string(schema.row_bytes) + " bytes");
    if (column.type > ColumnType::kBytes) return wrong(schema, named + "has an unknown type");
    if (size_of(column.type) != 0 && size_of(column.type) != column.size)
      return wrong(schema, named + "has " + std::to_string(column.size) + " bytes, which does not match its type");
    if (column.group >= kColumnGroupsMax)
      return wrong(schema, named + "is in group " + std::to_string(column.group) + ", but a table has at most " +
                               std::to_string(kColumnGroupsMax) + " groups");
    for (size_t j = 0; j < i; ++j) {
      const Column& other = schema.columns[j];
      if (other.name == column.name) return wrong(schema, named + "is described twice");
      if (column.offset < other.offset + other.size && other.offset < column.offset + column.size)
        return wrong(schema, named + "overlaps column '" + other.name + "'");
    }
  }
  return {};
}

Status check_name(const char* what, std::string_view name) {
  bool all_text = true;
  if (name.size() > kNameBytesMax)
    return Status::invalid_argument(std::string(what) + " '" + printable(name.substr(0, 64), &all_text) + "...': the name has " +
                                    std::to_string(name.size()) + " bytes; the maximum is " + std::to_string(kNameBytesMax));
  const std::string shown = printable(name, &all_text);
  if (all_text) return {};
  return Status::invalid_argument(std::string(what) + " '" + shown + "': the name is not UTF-8, or contains control characters");
}

}  // namespace

Status check_names(const Schema& schema) {
  if (Status status = check_name("table", schema.name); !status.ok()) return status;
  for (const Column& column : schema.columns)
    if (Status status = check_name("column", column.name); !status.ok()) return status;
  for (const SecondaryIndex& index : schema.indexes)
    if (Status status = check_name("index", index.name); !status.ok()) return status;
  return {};
}

Status check_rows(const Schema& schema) {
  if (schema.name.empty()) return Status::invalid_argument("a table needs a name");
  if (const uint32_t most = schema.sized_rows ? kSizedRowBytesMax : kRowBytesMax; schema.row_bytes == 0 || schema.row_bytes > most)
    return wrong(schema, "a row has " + std::to_string(schema.row_bytes) + " bytes; 1 to " + std::to_string(most) + " are possible");
  if (static_cast<size_t>(schema.key_index) >= std::size(kKeyIndexes)) return wrong(schema, "its key index has an unknown kind");
  if (schema.key_kind > KeyKind::kBytes) return wrong(schema, "its keys have an unknown kind");
  if (schema.key_kind == KeyKind::kBytes) {
    if (schema.inline_rows != 0) return wrong(schema, "inline_rows needs number keys");
    if (schema.zones != 0) return wrong(schema, "zones need number keys");
  } else if (!schema.key_fields.empty()) {
    return wrong(schema, "its number keys have fields");
  }
  if (Status status = schema.key_fields.empty() ? Status() : check_key_fields(schema.key_fields); !status.ok())
    return reworded(Code::kInvalidArgument, "table '" + schema.name + "': ", status);
  if (schema.inline_rows != 0) {
    if (schema.key_index != KeyIndex::kHashed) return wrong(schema, "inline_rows needs a hashed table");
    if (schema.sized_rows) return wrong(schema, "inline_rows needs fixed-size rows");
    if (schema.row_bytes > kInlineRowBytesMax)
      return wrong(schema, "inline_rows needs rows of at most " + std::to_string(kInlineRowBytesMax) + " bytes; these have " +
                               std::to_string(schema.row_bytes));
    if (schema.inline_rows > kInlineRowsMax)
      return wrong(schema, "inline_rows is " + std::to_string(schema.inline_rows) + "; the maximum is " + std::to_string(kInlineRowsMax));
  }
  if (schema.zones != 0) {
    if (schema.zones > storage::Zones::kZonesMax && schema.zones != kZonesAutomatic)
      return wrong(schema, "zones is " + std::to_string(schema.zones) + "; the maximum is " + std::to_string(storage::Zones::kZonesMax));
    if (schema.sized_rows) return wrong(schema, "zones need fixed-size rows");
    if (schema.inline_rows != 0) return wrong(schema, "zones and inline_rows cannot be combined");
  }
  if (!schema.row_columns.empty() && (!schema.sized_rows || !schema.columns.empty()))
    return wrong(schema, "described rows have a variable size and no other columns (elider/described.h)");
  if (schema.row_columns.size() > kRowColumnsMax)
    return wrong(schema,
                 std::to_string(schema.row_columns.size()) + " columns are described; the maximum is " + std::to_string(kRowColumnsMax));
  if (!schema.row_columns.empty())
    if (auto described = RowSchema::of(schema); !described.ok()) return Status::invalid_argument(words_of(described.status()));
  if (schema.sized_rows)
    for (const Column& column : schema.columns)
      if (column.group != 0)
        return wrong(schema, "column '" + column.name + "' is in group " + std::to_string(column.group) +
                                 ", but variable-size rows have only one group");
  return check_columns(schema);
}

namespace {

// Checks the columns of an index by columns. `named` begins the messages.
Status check_index_columns(const Schema& schema, const SecondaryIndex& index, const std::string& named) {
  if (index.key) return wrong(schema, named + "is by columns and has a key function");
  if (index.columns.size() > kIndexColumnsMax)
    return wrong(schema, named + "has " + std::to_string(index.columns.size()) + " columns; the maximum is " +
                             std::to_string(kIndexColumnsMax));
  if (!index.descending.empty() && index.descending.size() != index.columns.size())
    return wrong(schema, named + "has " + std::to_string(index.columns.size()) + " columns, but " +
                             std::to_string(index.descending.size()) + " directions");
  for (size_t i = 0; i < index.columns.size(); ++i) {
    const std::string& name = index.columns[i];
    const auto has_name = [&](const auto& column) { return column.name == name; };
    if (std::find(index.columns.begin(), index.columns.begin() + static_cast<std::ptrdiff_t>(i), name) !=
        index.columns.begin() + static_cast<std::ptrdiff_t>(i))
      return wrong(schema, named + "has column '" + name + "' twice");
    const auto is_live = [&](const RowColumn& column) { return !column.dropped && has_name(column); };
    if (const auto found = std::find_if(schema.row_columns.begin(), schema.row_columns.end(), is_live);
        found != schema.row_columns.end()) {
      if (found->type == RowType::kJson) return wrong(schema, named + "has column '" + name + "', but JSON cannot be indexed");
      continue;
    }
    const auto found = std::find_if(schema.columns.begin(), schema.columns.end(), has_name);
    if (found == schema.columns.end()) return wrong(schema, named + "has column '" + name + "', which is not described");
    const uint32_t entry_bytes_max = index.ranked ? kRankedEntryBytesMax : kIndexEntryBytesMax;
    if (found->size > entry_bytes_max)
      return wrong(schema, named + "has column '" + name + "' of " + std::to_string(found->size) + " bytes; an entry has at most " +
                               std::to_string(entry_bytes_max));
  }
  return {};
}

}  // namespace

Status check_schema(const Schema& schema, bool may_lack) {
  if (Status status = check_rows(schema); !status.ok()) return status;
  if (schema.indexes.size() > kSecondaryIndexesMax)
    return wrong(schema, "more than " + std::to_string(kSecondaryIndexesMax) + " secondary indexes are described");
  for (size_t i = 0; i < schema.indexes.size(); ++i) {
    const SecondaryIndex& index = schema.indexes[i];
    const std::string named = "index '" + index.name + "' ";
    if (index.name.empty()) return wrong(schema, "secondary index " + std::to_string(i) + " is unnamed");
    for (size_t j = 0; j < i; ++j)
      if (schema.indexes[j].name == index.name) return wrong(schema, named + "is declared twice");
    if (index.columns.empty()) return wrong(schema, named + "reads no columns");
    if (index.by_columns) {
      if (Status status = check_index_columns(schema, index, named); !status.ok()) return status;
      continue;
    }
    if (!index.descending.empty()) return wrong(schema, named + "has directions, but is not by columns");
    if (index.ranked) return wrong(schema, named + "is ranked, but has a key function; only an index by columns can be ranked");
    if (!index.key && !(may_lack && lacks_key_functions(schema))) return wrong(schema, named + "lacks a key function");
    if (index.key && may_lack && lacks_key_functions(schema))
      return wrong(schema, named + "has a key function, but another index lacks one");
    for (const std::string& name : index.columns)
      if (std::none_of(schema.columns.begin(), schema.columns.end(), [&](const Column& c) { return c.name == name; }))
        return wrong(schema, named + "reads column '" + name + "', which is not described");
    if (!index.key) continue;
    if (const std::string column = column_read_unnamed(schema, index); !column.empty())
      return wrong(schema, named + "reads " + column + " but does not list it; list every column that the key function reads");
  }
  return {};
}

namespace {

std::string_view name_of(ColumnType type) {
  constexpr std::string_view kNames[] = {"int8",   "int16",  "int32", "int64",  "uint8", "uint16",
                                         "uint32", "uint64", "float", "double", "bytes"};
  const auto i = static_cast<size_t>(type);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

std::string list(const std::vector<std::string>& names) {
  std::string words;
  for (const std::string& name : names) words += (words.empty() ? "'" : ", '") + name + "'";
  return words;
}

std::string keys_of(const Schema& schema) {
  if (schema.key_kind == KeyKind::kNumbers) return "number keys";
  return schema.key_fields.empty() ? "byte keys" : "tuple keys " + text_of(schema.key_fields);
}
bool same_keys(const Schema& a, const Schema& b) { return a.key_kind == b.key_kind && a.key_fields == b.key_fields; }

constexpr const char* kCopyRows = "; change the description, or copy the rows to another table";

// Composes the descriptions of differences.
class Difference {
 public:
  Difference(const Schema& a, const Schema& b, const SchemaSides& sides) : a_(a), b_(b), sides_(sides) {}

  std::string words() const {
    if (a_.name != b_.name) return differ("the name is ", quoted(a_.name), quoted(b_.name), "");
    if (a_.row_bytes != b_.row_bytes) return differ("rows have ", bytes(a_.row_bytes), bytes(b_.row_bytes), rows_advice());
    if (a_.sized_rows != b_.sized_rows)
      return differ("rows have ", sized(a_), sized(b_), kCopyRows);
    if ((a_.zones != 0) != (b_.zones != 0)) return differ("the table is ", zoned(a_), zoned(b_), kCopyRows);
    if (!same_keys(a_, b_)) return differ("there are ", keys_of(a_), keys_of(b_), kCopyRows);
    if (a_.key_index != b_.key_index)
      return differ("the key index is ", quoted(name_of(a_.key_index)), quoted(name_of(b_.key_index)), kCopyRows);
    if (a_.columns.size() != b_.columns.size())
      return differ("there are ", std::to_string(a_.columns.size()) + " columns", std::to_string(b_.columns.size()), kCopyRows);
    for (size_t i = 0; i < a_.columns.size(); ++i)
      if (!(a_.columns[i] == b_.columns[i])) return of_columns(i, a_.columns[i], b_.columns[i]);
    if (std::string words = of_row_columns(); !words.empty()) return words;
    return of_indexes();
  }

 private:
  static std::string quoted(std::string_view name) { return '\'' + std::string(name) + '\''; }
  static std::string bytes(uint64_t count) { return std::to_string(count) + " bytes"; }
  static std::string zoned(const Schema& schema) { return schema.zones != 0 ? "zoned" : "not zoned"; }
  static std::string sized(const Schema& schema) { return schema.sized_rows ? "variable size" : "fixed size"; }
  static std::string described(const Schema& schema) { return schema.row_columns.empty() ? "not described" : "described"; }
  const char* rows_advice() const {
    return a_.row_columns.empty() || b_.row_columns.empty() ? kCopyRows
                                                            : "; give RowSchema::row_bytes_max() the number of the table";
  }

  std::string differ(const std::string& what, const std::string& x, const std::string& y, const std::string& advice) const {
    return what + x + ' ' + sides_.a + ", but " + y + ' ' + sides_.b + (sides_.advises ? advice : "");
  }

  std::string of_columns(size_t place, const Column& a, const Column& b) const {
    if (a.name != b.name) return differ("column " + std::to_string(place) + " is ", quoted(a.name), quoted(b.name), kCopyRows);
    const std::string named = "column '" + a.name + "' has ";
    if (a.type != b.type) return differ(named + "type ", std::string(name_of(a.type)), std::string(name_of(b.type)), kCopyRows);
    const auto numbers = [&](const char* what, uint32_t x, uint32_t y) {
      return differ(named + what, std::to_string(x), std::to_string(y), kCopyRows);
    };
    if (a.offset != b.offset) return numbers("offset ", a.offset, b.offset);
    if (a.size != b.size) return numbers("size ", a.size, b.size);
    return numbers("column group ", a.group, b.group);
  }

  using Live = std::vector<const RowColumn*>;
  // Dropped columns do not take part.
  static Live live(const std::vector<RowColumn>& columns) {
    Live all;
    for (const RowColumn& column : columns)
      if (!column.dropped) all.push_back(&column);
    return all;
  }
  static bool contains(const Live& columns, const std::string& name) {
    return std::any_of(columns.begin(), columns.end(), [&](const RowColumn* column) { return column->name == name; });
  }

  std::string of_row_columns() const {
    if (a_.row_columns.empty() != b_.row_columns.empty())
      return differ("rows are ", described(a_), described(b_), kCopyRows);
    const Live a = live(a_.row_columns), b = live(b_.row_columns);
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      if (*a[i] == *b[i]) continue;
      if (a[i]->name == b[i]->name) return of_row_columns(*a[i], *b[i]);
      const bool order = contains(a, b[i]->name) || contains(b, a[i]->name);
      return differ("column " + std::to_string(i) + " is ", quoted(a[i]->name), quoted(b[i]->name),
                    order ? "; describe the columns in the order of the table, and new columns after them"
                          : "; rename it with Database::rename_column(), or change the description");
    }
    if (a.size() == b.size()) return {};
    const bool lacks = a.size() < b.size();
    const std::string& name = (lacks ? b[a.size()] : a[b.size()])->name;
    if (!sides_.advises) return "only one of the records has column '" + name + "'";
    if (lacks)
      return "the program describes column '" + name +
             "', which the table does not have; add it with Database::add_column(), or set Options::upgrade";
    return "the table has column '" + name +
           "', which the program does not describe; describe it, or open the table with Database::described_table()";
  }

  std::string of_row_columns(const RowColumn& a, const RowColumn& b) const {
    const std::string named = "column '" + a.name + "' ";
    const auto advice = [](const char* what) {
      return std::string("; change the description, or add a column with another name, because a column keeps its ") + what;
    };
    if (a.type != b.type)
      return differ(named + "has type ", std::string(elider::name_of(a.type)), std::string(elider::name_of(b.type)), advice("type"));
    if (a.nullable != b.nullable)
      return differ(named + "is ", a.nullable ? "nullable" : "not nullable", b.nullable ? "nullable" : "not nullable", advice("type"));
    if (a.scale != b.scale) return differ(named + "has scale ", std::to_string(a.scale), std::to_string(b.scale), advice("scale"));
    const std::string x = default_of(a), y = default_of(b);
    return differ(named + "has ", x, x == y ? "another default" : y, advice("default"));
  }
  static std::string default_of(const RowColumn& column) { return column.default_bytes ? "a default" : "no default"; }

  std::string of_indexes() const {
    for (size_t i = 0; i < std::min(a_.indexes.size(), b_.indexes.size()); ++i)
      if (std::string words = of_indexes(i, a_.indexes[i], b_.indexes[i]); !words.empty()) return words;
    if (a_.indexes.size() == b_.indexes.size()) return {};
    const bool lacks = a_.indexes.size() < b_.indexes.size();
    const SecondaryIndex& index = lacks ? b_.indexes[a_.indexes.size()] : a_.indexes[b_.indexes.size()];
    if (!sides_.advises) return "only one of the records has index '" + index.name + "'";
    if (lacks)
      return "the program describes index '" + index.name + "', which the table does not have; " +
             (index.by_columns ? "create it with Database::create_index(), or set Options::upgrade"
                                    : "only an index by columns can be added to a table");
    return "the table has index '" + index.name + "', which the program does not describe; describe it, or drop it with "
           "Database::drop_index()";
  }

  // Returns "" if no difference can be found.
  std::string of_indexes(size_t place, const SecondaryIndex& a, const SecondaryIndex& b) const {
    if (a.name != b.name)
      return differ("secondary index " + std::to_string(place) + " is ", quoted(a.name), quoted(b.name),
                    "; describe the indexes of the table in its order, and new indexes after them");
    const std::string named = "secondary index '" + a.name + "' ";
    const char* const advice = b.by_columns ? "; change the description, or call Database::drop_index() and create_index()"
                                            : "; change the description";
    const auto one_is = [&](bool it_is_a, const char* yes, const char* no) {
      return differ(named, it_is_a ? yes : no, it_is_a ? no : yes, advice);
    };
    if (a.unique != b.unique) return one_is(a.unique, "is unique", "is not unique");
    if (a.by_columns != b.by_columns) return one_is(a.by_columns, "is by columns", "has a key function");
    if (a.ranked != b.ranked) return one_is(a.ranked, "is ranked", "is not ranked");
    if (a.columns != b.columns) return differ(named + "reads columns ", list(a.columns), list(b.columns), advice);
    for (size_t i = 0; i < a.columns.size(); ++i)
      if (a.is_descending(i) != b.is_descending(i))
        return differ(named + "has column '" + a.columns[i] + "' ", a.is_descending(i) ? "descending" : "ascending",
                      b.is_descending(i) ? "descending" : "ascending", advice);
    return {};
  }

  const Schema& a_;
  const Schema& b_;
  const SchemaSides& sides_;
};

}  // namespace

std::string key_difference(const Schema& a, const Schema& b) {
  return same_keys(a, b) ? std::string() : keys_of(a) + ", but the program asks for " + keys_of(b);
}

std::string difference(const Schema& a, const Schema& b, const SchemaSides& sides) { return Difference(a, b, sides).words(); }

Result<Schema> with_column(const Schema& stored, const RowColumn& column) {
  const std::string named = "table '" + stored.name + "': ";
  if (stored.row_columns.empty())
    return Status::invalid_argument(named + "columns can be changed only in a table of described rows (elider/described.h)");
  if (stored.row_columns.size() >= kRowColumnsMax)
    return Status::invalid_argument(named + "it already has " + std::to_string(kRowColumnsMax) +
                                    " columns, the maximum, which includes dropped columns");
  for (const RowColumn& other : stored.row_columns)
    if (!other.dropped && other.name == column.name) return Status::invalid_argument(named + "column '" + column.name + "' already exists");
  if (!column.nullable && !column.default_bytes)
    return Status::invalid_argument(named + "column '" + column.name +
                                    "' needs a default, or must be nullable, because the existing rows do not have a value");
  Schema changed = stored;
  changed.row_columns.push_back(column);
  return changed;
}

Result<Schema> upgraded(const Schema& stored, const Schema& wanted) {
  Schema changed = stored;
  size_t live = 0;
  for (const RowColumn& column : stored.row_columns) live += column.dropped ? 0 : 1;
  for (size_t i = live; i < wanted.row_columns.size(); ++i) {
    Result<Schema> longer = with_column(changed, wanted.row_columns[i]);
    if (!longer.ok()) return Status(Code::kSchemaMismatch, words_of(longer.status()));
    changed = *std::move(longer);
  }
  for (size_t i = stored.indexes.size(); i < wanted.indexes.size() && wanted.indexes[i].by_columns; ++i)
    changed.indexes.push_back(wanted.indexes[i]);
  if (const std::string what = difference(changed, wanted); !what.empty()) return Status(Code::kSchemaMismatch, what);
  return changed;
}

}  // namespace storage

namespace detail {
const ColumnSet* compile_columns(TableBase& table, const ColumnSpan* spans, size_t count) { return &table.layout().of_spans(spans, count); }
const ColumnSet* all_columns(const TableBase& table) { return &table.layout().all(); }
const Schema& schema_of(const TableBase& table) { return table.schema(); }
const std::atomic<const RowSchema*>& row_schema_of(const TableBase& table) { return table.versions().rows(); }
Status check_builder(const TableBase* table, const RowSchema& schema, const RowBuilder& row) {
  if (table != nullptr && row.layout().is_of_same_table(*schema.layout())) return {};
  const std::string reason = row.table_name() == schema.table_name() ? "another description of the table, with other columns or limits"
                                                                     : "table '" + printable(row.table_name()) + '\'';
  return schema.layout()->refuse("the row was built for " + reason + "; make the RowBuilder from the table that stores the row");
}
Status check_opened(const TableRef& table, const Schema& typed) {
  if (!table) return Status::invalid_argument("the table handle is empty");
  const Schema& schema = table.schema();
  const auto mismatch = [&](const std::string& words) {
    return Status(Code::kSchemaMismatch, "table '" + printable(schema.name) + "' has " + words);
  };
  if (!typed.row_columns.empty()) {
    if (!table.described()) return mismatch("rows that are not described; use Database::table()");
  } else if (table.described()) {
    return mismatch("described rows; use RowsOf, or Database::described_table()");
  } else if (!schema.sized_rows || !schema.columns.empty()) {
    return mismatch("rows with columns; use Database::table()");
  }
  const std::string words = storage::key_difference(schema, typed);
  return words.empty() ? Status() : mismatch(words);
}
Status refuse_value(const TableRef& table, size_t bytes) {
  return Status::invalid_argument("table '" + printable(table.schema().name) + "': the value has " + std::to_string(bytes) +
                                  " bytes, but the maximum is " + std::to_string(table.schema().row_bytes) +
                                  "; store less, or raise ValueSchema::value_bytes_max()");
}
bool has_described_rows(const TableBase* table) { return table != nullptr && !table->schema().row_columns.empty(); }
Status check_described_row(const TableBase& table, KeyRef key, std::span<const std::byte> row) {
  const Result<RowReader> reader = RowReader::open(*row_schema_of(table).load(std::memory_order_acquire), row);
  const Status status = reader.ok() ? reader->check_for_write() : reader.status();
  if (status.ok()) return {};
  // The caller of the public function has not converted a number key yet.
  const std::string text = table.schema().key_kind == KeyKind::kNumbers ? std::to_string(key.number()) : table.key_text(key);
  return reworded(Code::kInvalidArgument, "the bytes for key " + text + " are not a row of the table: ", status,
                  "; build rows with a RowBuilder");
}
KeyShape key_shape_of(const TableBase* table) {
  if (table == nullptr || table->schema().key_kind == KeyKind::kNumbers) return KeyShape::kNumbers;
  return table->schema().key_fields.empty() ? KeyShape::kBytes : KeyShape::kTuples;
}

Status TableBase::bytes_error(Code code, Cause cause, KeyRef key) const {
  if (schema().key_kind == KeyKind::kNumbers) return Status(code, cause, name_id(), number_of(key));  // the caller does not know the bytes
  return Status(code, cause, name_id(), bytes_of(key).text(), !schema().key_fields.empty());
}
std::string TableBase::key_text(KeyRef key) const {
  if (schema().key_kind == KeyKind::kNumbers) return std::to_string(number_of(key));
  return schema().key_fields.empty() ? quoted_key(bytes_of(key).text()) : tuple_to_text(bytes_of(key).span());
}

void TableBase::make_zones(Memory& memory) {
  if (schema().zones == 0 || byte_keys()) return;
  zones_ = std::make_unique<storage::Zones>(memory, layout_, storage::zones_wanted(schema().zones));
  layout_.set_zones(zones_.get());
}
bool TableBase::make_inline_rows(Memory& memory) {
  if (schema().inline_rows == 0 || byte_keys()) return true;
  inline_rows_ = storage::InlineRows::make(memory, layout_, schema().inline_rows);
  layout_.set_inline_rows(inline_rows_.get());
  return inline_rows_ != nullptr;
}
void TableBase::free_places() {
  if (zones_ != nullptr) zones_->free_extents();
  if (inline_rows_ != nullptr) inline_rows_->free_places();
}
}  // namespace detail

}  // namespace elider
