#include "txn/log_entry.h"

namespace elider::txn {

namespace {

void put(std::vector<std::byte>* out, uint64_t value) {
  std::byte bytes[10];
  out->insert(out->end(), bytes, put_varint(bytes, value));
}
void put(std::vector<std::byte>* out, const std::string& text) {
  put(out, text.size());
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  out->insert(out->end(), bytes, bytes + text.size());
}

bool take(std::span<const std::byte>* from, uint32_t* value) {
  uint64_t wide = 0;
  if (!take_varint(from, &wide) || wide > ~uint32_t{0}) return false;
  *value = static_cast<uint32_t>(wide);
  return true;
}
bool take(std::span<const std::byte>* from, std::string* text) {
  uint64_t size = 0;
  if (!take_varint(from, &size) || size > from->size()) return false;
  text->assign(reinterpret_cast<const char*>(from->data()), size);
  *from = from->subspan(size);
  return true;
}

bool take_column(std::span<const std::byte>* from, Column* column) {
  uint32_t type = 0;
  if (!take(from, &column->name) || !take(from, &type) || type > static_cast<uint32_t>(ColumnType::kBytes)) return false;
  column->type = static_cast<ColumnType>(type);
  return take(from, &column->offset) && take(from, &column->size) && take(from, &column->group);
}

bool take_index(std::span<const std::byte>* from, SecondaryIndex* index) {
  uint32_t unique = 0, count = 0;
  if (!take(from, &index->name) || !take(from, &unique) || unique > 1 || !take(from, &count) || count > kColumnsMax) return false;
  index->unique = unique == 1;
  index->columns.resize(count);
  for (std::string& name : index->columns)
    if (!take(from, &name)) return false;
  return true;
}

}  // namespace

void encode_table(uint32_t id, const Schema& schema, std::vector<std::byte>* out) {
  out->push_back(static_cast<std::byte>(RecordKind::kTable));
  put(out, id);
  put(out, schema.name);
  put(out, static_cast<uint64_t>(schema.key_index));
  put(out, schema.row_bytes);
  put(out, schema.columns.size());
  for (const Column& column : schema.columns) {
    put(out, column.name);
    put(out, static_cast<uint64_t>(column.type));
    put(out, column.offset);
    put(out, column.size);
    put(out, column.group);
  }
  put(out, schema.indexes.size());
  for (const SecondaryIndex& index : schema.indexes) {
    put(out, index.name);
    put(out, uint64_t{index.unique});
    put(out, index.columns.size());
    for (const std::string& name : index.columns) put(out, name);
  }
}

bool decode_table(std::span<const std::byte> from, uint32_t* id, Schema* schema) {
  *schema = {};
  if (from.empty() || from.front() != static_cast<std::byte>(RecordKind::kTable)) return false;
  from = from.subspan(1);
  uint32_t key_index = 0, columns = 0, indexes = 0;
  if (!take(&from, id) || !take(&from, &schema->name) || !take(&from, &key_index) || key_index > static_cast<uint32_t>(KeyIndex::kHashed))
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

}  // namespace elider::txn
