#include "txn/table_record.h"

#include <string>

#include "base/status_words.h"
#include "elider/tuple.h"
#include "txn/log_entry.h"

namespace elider::txn {

namespace {

using Bytes = std::span<const std::byte>;

// A field consists of its tag, its size and its bytes. If a program does not support a tag, it must
// refuse the table if the tag is odd, and may skip the field if the tag is even.
enum class Tag : uint64_t {
  kId = 1,
  kName = 3,
  kKeyIndex = 5,
  kRowBytes = 7,
  kColumn = 9,
  kSecondaryIndex = 11,
  kSizedRows = 13,
  kInlineRows = 14,
  kZones = 16,
  kKeyKind = 19,
  kKeyField = 21,
  kRowColumn = 23,
  kVersion = 25,
  kDropped = 27,
  kManyIndexes = 29,     // precedes the indexes if there are more than an older program reads
  kIndexesChanged = 31,  // the version before had other secondary indexes
};
enum class ColumnTag : uint64_t { kName = 1, kType = 3, kOffset = 5, kSize = 7, kGroup = 9 };
// kDirections belongs to an index by columns. It has a byte for each column: 0, or 1 if it is
// descending. kRanked is written only if the index is ranked.
enum class IndexTag : uint64_t { kName = 1, kUnique = 3, kColumn = 5, kDirections = 7, kRanked = 33 };
enum class RowColumnTag : uint64_t { kName = 1, kType = 3, kNullable = 5, kScale = 7, kDefault = 9, kDropped = 11 };
enum class KeyFieldTag : uint64_t { kType = 1, kDescending = 3, kNull = 5, kField = 7 };

// The maximum size of an encoded number, including the bytes after it that put_varint() may
// overwrite.
constexpr size_t kVarintBytesMax = 10 + 7;

void put(std::vector<std::byte>* out, uint64_t value) {
  std::byte bytes[kVarintBytesMax];
  out->insert(out->end(), bytes, put_varint(bytes, value));
}

// An encoded list of fields: the number of fields, then the fields.
class Fields {
 public:
  template <class AnyTag>
  void put(AnyTag tag, Bytes bytes) {
    ++count_;
    txn::put(&bytes_, static_cast<uint64_t>(tag));
    txn::put(&bytes_, bytes.size());
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  template <class AnyTag>
  void put(AnyTag tag, const std::string& text) {
    put(tag, std::as_bytes(std::span(text)));
  }
  template <class AnyTag>
  void put(AnyTag tag, uint64_t value) {
    std::byte bytes[kVarintBytesMax];
    std::byte* const end = put_varint(bytes, value);
    put(tag, Bytes(bytes, end));
  }
  template <class AnyTag>
  void put(AnyTag tag, const Fields& fields) {
    std::vector<std::byte> bytes;
    fields.append_to(&bytes);
    put(tag, Bytes(bytes));
  }
  void append_to(std::vector<std::byte>* out) const {
    txn::put(out, count_);
    out->insert(out->end(), bytes_.begin(), bytes_.end());
  }

 private:
  uint64_t count_ = 0;
  std::vector<std::byte> bytes_;
};

Status does_not_fit() { return Status(Code::kCorrupt, "the table's schema is malformed"); }

// Calls field(tag, bytes) -> Status for each field.
template <class Field>
Status for_each_field(Bytes from, Field&& field) {
  uint64_t count = 0;
  if (!take_varint(&from, &count)) return does_not_fit();
  for (; count > 0; --count) {
    uint64_t tag = 0, size = 0;
    if (!take_varint(&from, &tag) || !take_varint(&from, &size) || size > from.size()) return does_not_fit();
    if (Status status = field(tag, from.first(size)); !status.ok()) return status;
    from = from.subspan(size);
  }
  return from.empty() ? Status() : does_not_fit();
}

Status take(Bytes from, uint32_t max, uint32_t* value) {
  uint64_t wide = 0;
  if (!take_varint(&from, &wide) || !from.empty() || wide > max) return does_not_fit();
  *value = static_cast<uint32_t>(wide);
  return {};
}
Status take(Bytes from, std::string* text) {
  text->assign(reinterpret_cast<const char*>(from.data()), from.size());
  return {};
}
constexpr uint32_t kAny = ~uint32_t{0};

Status unknown(const char* what, uint64_t tag) {
  if (tag % 2 == 0) return {};
  return Status(Code::kUnsupported,
                std::string(what) + " has a property (field " + std::to_string(tag) + ") that this program does not know");
}

Status take_column(Bytes from, Column* column) {
  uint32_t type = 0;
  Status status = for_each_field(from, [&](uint64_t tag, Bytes bytes) -> Status {
    switch (static_cast<ColumnTag>(tag)) {
      case ColumnTag::kName: return take(bytes, &column->name);
      case ColumnTag::kType: return take(bytes, static_cast<uint32_t>(ColumnType::kBytes), &type);
      case ColumnTag::kOffset: return take(bytes, kAny, &column->offset);
      case ColumnTag::kSize: return take(bytes, kAny, &column->size);
      case ColumnTag::kGroup: return take(bytes, kAny, &column->group);
    }
    return unknown("a column", tag);
  });
  column->type = static_cast<ColumnType>(type);
  return status;
}

// These numbers are stored, so they must not change.
static_assert(static_cast<int>(KeyFieldType::kBool) == 0 && static_cast<int>(KeyFieldType::kInt8) == 1 &&
              static_cast<int>(KeyFieldType::kInt64) == 4 && static_cast<int>(KeyFieldType::kUInt8) == 5 &&
              static_cast<int>(KeyFieldType::kUInt64) == 8 && static_cast<int>(KeyFieldType::kFloat) == 9 &&
              static_cast<int>(KeyFieldType::kDouble) == 10 && static_cast<int>(KeyFieldType::kTimestamp) == 11 &&
              static_cast<int>(KeyFieldType::kText) == 12 && static_cast<int>(KeyFieldType::kBytes) == 13 &&
              static_cast<int>(KeyFieldType::kUuid) == 14 && static_cast<int>(KeyFieldType::kTuple) == 15);
static_assert(static_cast<int>(KeyFieldNull::kNever) == 0 && static_cast<int>(KeyFieldNull::kFirst) == 1 &&
              static_cast<int>(KeyFieldNull::kLast) == 2);

Status take_key_field(Bytes from, size_t depth, KeyField* field) {
  if (depth > kTupleDepthMax) return does_not_fit();
  uint32_t type = 0, descending = 0, null = 0;
  Status status = for_each_field(from, [&](uint64_t tag, Bytes bytes) -> Status {
    switch (static_cast<KeyFieldTag>(tag)) {
      case KeyFieldTag::kType: return take(bytes, kKeyFieldTypes - 1, &type);
      case KeyFieldTag::kDescending: return take(bytes, 1, &descending);
      case KeyFieldTag::kNull: return take(bytes, static_cast<uint32_t>(KeyFieldNull::kLast), &null);
      case KeyFieldTag::kField:
        if (field->fields.size() == kKeyFieldsMax) return does_not_fit();
        return take_key_field(bytes, depth + 1, &field->fields.emplace_back());
    }
    return unknown("a field of its keys", tag);
  });
  field->type = static_cast<KeyFieldType>(type);
  field->descending = descending == 1;
  field->null = static_cast<KeyFieldNull>(null);
  return status;
}

Status take_row_column(Bytes from, RowColumn* column) {
  uint32_t type = 0, nullable = 0, scale = 0, dropped = 0;
  Status status = for_each_field(from, [&](uint64_t tag, Bytes bytes) -> Status {
    switch (static_cast<RowColumnTag>(tag)) {
      case RowColumnTag::kName: return take(bytes, &column->name);
      case RowColumnTag::kType:
        if (Status taken = take(bytes, kAny, &type); !taken.ok()) return taken;
        if (type < kRowTypes) return {};
        return Status(Code::kUnsupported,
                      "a column of its described rows has a type (" + std::to_string(type) + ") that this program does not know");
      case RowColumnTag::kNullable: return take(bytes, 1, &nullable);
      case RowColumnTag::kScale: return take(bytes, kDecimalScaleMax, &scale);
      case RowColumnTag::kDefault: return take(bytes, &column->default_bytes.emplace());
      case RowColumnTag::kDropped: return take(bytes, 1, &dropped);
    }
    return unknown("a column of its described rows", tag);
  });
  column->type = static_cast<RowType>(type);
  column->nullable = nullable == 1;
  column->dropped = dropped == 1;
  column->scale = static_cast<uint8_t>(scale);
  return status;
}

Status take_index(Bytes from, SecondaryIndex* index) {
  uint32_t unique = 0, ranked = 0;
  bool fits = true;
  Status status = for_each_field(from, [&](uint64_t tag, Bytes bytes) -> Status {
    switch (static_cast<IndexTag>(tag)) {
      case IndexTag::kName: return take(bytes, &index->name);
      case IndexTag::kUnique: return take(bytes, 1, &unique);
      case IndexTag::kColumn:
        if (index->columns.size() == kColumnsMax) return does_not_fit();
        return take(bytes, &index->columns.emplace_back());
      case IndexTag::kDirections:
        index->by_columns = true;
        for (const std::byte direction : bytes) {
          fits = fits && std::to_integer<unsigned>(direction) <= 1;
          index->descending.push_back(direction == std::byte{1});
        }
        return {};
      case IndexTag::kRanked: return take(bytes, 1, &ranked);
    }
    return unknown("a secondary index", tag);
  });
  index->unique = unique == 1;
  index->ranked = ranked == 1;
  fits = fits && (!index->by_columns || index->descending.size() == index->columns.size());
  return status.ok() && !fits ? does_not_fit() : status;
}

// -- format version 1, without tags; no longer written --------------------------------------------

bool take(Bytes* from, uint32_t* value) {
  uint64_t wide = 0;
  if (!take_varint(from, &wide) || wide > kAny) return false;
  *value = static_cast<uint32_t>(wide);
  return true;
}
bool take(Bytes* from, std::string* text) {
  uint64_t size = 0;
  if (!take_varint(from, &size) || size > from->size()) return false;
  text->assign(reinterpret_cast<const char*>(from->data()), size);
  *from = from->subspan(size);
  return true;
}

bool take_column(Bytes* from, Column* column) {
  uint32_t type = 0;
  if (!take(from, &column->name) || !take(from, &type) || type > static_cast<uint32_t>(ColumnType::kBytes)) return false;
  column->type = static_cast<ColumnType>(type);
  return take(from, &column->offset) && take(from, &column->size) && take(from, &column->group);
}

bool take_index(Bytes* from, SecondaryIndex* index) {
  uint32_t unique = 0, count = 0;
  if (!take(from, &index->name) || !take(from, &unique) || unique > 1 || !take(from, &count) || count > kColumnsMax) return false;
  index->unique = unique == 1;
  index->columns.resize(count);
  for (std::string& name : index->columns)
    if (!take(from, &name)) return false;
  return true;
}

bool take_untagged(Bytes from, uint32_t* id, Schema* schema) {
  uint32_t key_index = 0, columns = 0, indexes = 0;
  if (!take(&from, id) || !take(&from, &schema->name) || !take(&from, &key_index) || key_index > std::size(kKeyIndexes) - 1)
    return false;
  schema->key_index = static_cast<KeyIndex>(key_index);
  if (!take(&from, &schema->row_bytes) || !take(&from, &columns) || columns > kColumnsMax) return false;
  schema->columns.resize(columns);
  for (Column& column : schema->columns)
    if (!take_column(&from, &column)) return false;
  if (!take(&from, &indexes) || indexes > kSecondaryIndexesMax) return false;
  schema->indexes.resize(indexes);
  for (SecondaryIndex& index : schema->indexes)
    if (!take_index(&from, &index)) return false;
  return from.empty();
}

// Which of the mandatory fields were present.
struct Seen {
  bool id = false, name = false, row_bytes = false;
  bool all() const { return id && name && row_bytes; }
};

Status take_tagged(Bytes from, TableRecord* record) {
  Seen seen;
  Schema* const schema = &record->schema;
  uint32_t key_index = 0, key_kind = 0, sized_rows = 0, dropped = 0;
  Status status = for_each_field(from, [&](uint64_t tag, Bytes bytes) -> Status {
    switch (static_cast<Tag>(tag)) {
      case Tag::kId: return seen.id = true, take(bytes, kAny, &record->id);
      case Tag::kName: return seen.name = true, take(bytes, &schema->name);
      case Tag::kManyIndexes: return {};
      case Tag::kIndexesChanged: return record->indexes_changed = true, Status();
      case Tag::kKeyIndex: return take(bytes, std::size(kKeyIndexes) - 1, &key_index);
      case Tag::kRowBytes: return seen.row_bytes = true, take(bytes, kAny, &schema->row_bytes);
      case Tag::kColumn:
        if (schema->columns.size() == kColumnsMax) return does_not_fit();
        return take_column(bytes, &schema->columns.emplace_back());
      case Tag::kSecondaryIndex:
        if (schema->indexes.size() == kSecondaryIndexesMax) return does_not_fit();
        return take_index(bytes, &schema->indexes.emplace_back());
      case Tag::kSizedRows: return take(bytes, 1, &sized_rows);
      case Tag::kKeyKind: return take(bytes, static_cast<uint32_t>(KeyKind::kBytes), &key_kind);
      case Tag::kKeyField:
        if (schema->key_fields.size() == kKeyFieldsMax) return does_not_fit();
        return take_key_field(bytes, 0, &schema->key_fields.emplace_back());
      case Tag::kRowColumn:
        if (schema->row_columns.size() == kRowColumnsMax) return does_not_fit();
        return take_row_column(bytes, &schema->row_columns.emplace_back());
      case Tag::kVersion: return take(bytes, kAny, &record->version);
      case Tag::kDropped: return take(bytes, 1, &dropped);
      case Tag::kZones: return take(bytes, kAny, &schema->zones);
      case Tag::kInlineRows: return take_varint(&bytes, &schema->inline_rows) && bytes.empty() ? Status() : does_not_fit();
    }
    return unknown("the table", tag);
  });
  record->dropped = dropped == 1;
  if (record->dropped) seen.row_bytes = true;
  schema->key_kind = static_cast<KeyKind>(key_kind);
  schema->sized_rows = sized_rows == 1;
  schema->key_index = static_cast<KeyIndex>(key_index);
  if (status.code() == Code::kUnsupported && seen.name)
    return reworded(Code::kUnsupported, "table '" + schema->name + "': ", status);
  return status.ok() && !seen.all() ? does_not_fit() : status;
}

}  // namespace

namespace {
Fields fields_of(const KeyField& described) {
  Fields field;
  field.put(KeyFieldTag::kType, static_cast<uint64_t>(described.type));
  if (described.descending) field.put(KeyFieldTag::kDescending, uint64_t{1});
  if (described.null != KeyFieldNull::kNever) field.put(KeyFieldTag::kNull, static_cast<uint64_t>(described.null));
  for (const KeyField& nested : described.fields) field.put(KeyFieldTag::kField, fields_of(nested));
  return field;
}
Fields fields_of(const RowColumn& described) {
  Fields column;
  column.put(RowColumnTag::kName, described.name);
  column.put(RowColumnTag::kType, static_cast<uint64_t>(described.type));
  if (described.nullable) column.put(RowColumnTag::kNullable, uint64_t{1});
  if (described.scale != 0) column.put(RowColumnTag::kScale, uint64_t{described.scale});
  if (described.default_bytes) column.put(RowColumnTag::kDefault, *described.default_bytes);
  if (described.dropped) column.put(RowColumnTag::kDropped, uint64_t{1});
  return column;
}
}  // namespace

namespace {
Fields begin_table(uint32_t id, const std::string& name, uint32_t version) {
  Fields table;
  table.put(Tag::kId, uint64_t{id});
  table.put(Tag::kName, name);
  if (version != 0) table.put(Tag::kVersion, uint64_t{version});
  return table;
}
void append(const Fields& table, std::vector<std::byte>* out) {
  out->push_back(static_cast<std::byte>(RecordKind::kTable));
  table.append_to(out);
}
}  // namespace

void encode_dropped_table(uint32_t id, const std::string& name, std::vector<std::byte>* out, uint32_t version) {
  Fields table = begin_table(id, name, version);
  table.put(Tag::kDropped, uint64_t{1});
  append(table, out);
}

void encode_table(uint32_t id, const Schema& schema, std::vector<std::byte>* out, uint32_t version, bool indexes_changed) {
  Fields table = begin_table(id, schema.name, version);
  if (indexes_changed) table.put(Tag::kIndexesChanged, uint64_t{1});
  table.put(Tag::kKeyIndex, static_cast<uint64_t>(schema.key_index));
  table.put(Tag::kRowBytes, uint64_t{schema.row_bytes});
  for (const Column& described : schema.columns) {
    Fields column;
    column.put(ColumnTag::kName, described.name);
    column.put(ColumnTag::kType, static_cast<uint64_t>(described.type));
    column.put(ColumnTag::kOffset, uint64_t{described.offset});
    column.put(ColumnTag::kSize, uint64_t{described.size});
    column.put(ColumnTag::kGroup, uint64_t{described.group});
    table.put(Tag::kColumn, column);
  }
  constexpr size_t kIndexesOfOlderPrograms = 8;
  if (schema.indexes.size() > kIndexesOfOlderPrograms) table.put(Tag::kManyIndexes, uint64_t{1});
  for (const SecondaryIndex& described : schema.indexes) {
    Fields index;
    index.put(IndexTag::kName, described.name);
    index.put(IndexTag::kUnique, uint64_t{described.unique});
    for (const std::string& name : described.columns) index.put(IndexTag::kColumn, name);
    if (described.by_columns) {
      std::vector<std::byte> directions;
      for (size_t i = 0; i < described.columns.size(); ++i)
        directions.push_back(static_cast<std::byte>(described.is_descending(i) ? 1 : 0));
      index.put(IndexTag::kDirections, Bytes(directions));
    }
    if (described.ranked) index.put(IndexTag::kRanked, uint64_t{1});
    table.put(Tag::kSecondaryIndex, index);
  }
  if (schema.key_kind != KeyKind::kNumbers) table.put(Tag::kKeyKind, static_cast<uint64_t>(schema.key_kind));
  for (const KeyField& field : schema.key_fields) table.put(Tag::kKeyField, fields_of(field));
  if (schema.sized_rows) table.put(Tag::kSizedRows, uint64_t{1});
  for (const RowColumn& column : schema.row_columns) table.put(Tag::kRowColumn, fields_of(column));
  if (schema.inline_rows != 0) table.put(Tag::kInlineRows, schema.inline_rows);
  if (schema.zones != 0) table.put(Tag::kZones, uint64_t{schema.zones});
  append(table, out);
}

Status decode_table(std::span<const std::byte> bytes, TableRecord* record) {
  *record = {};
  if (bytes.empty()) return does_not_fit();
  switch (static_cast<RecordKind>(bytes.front())) {
    case RecordKind::kTable: return take_tagged(bytes.subspan(1), record);
    case RecordKind::kUntaggedTable: return take_untagged(bytes.subspan(1), &record->id, &record->schema) ? Status() : does_not_fit();
    case RecordKind::kCommit: break;
  }
  return does_not_fit();
}

}  // namespace elider::txn
