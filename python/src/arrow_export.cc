// Streams of a table's rows in the Arrow C stream interface. A stream reads one snapshot. Its
// consumer may call it from any thread, without the GIL.
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <nanobind/stl/vector.h>

#include "python/src/arrow.h"
#include "python/src/tables.h"

namespace elider::python {

namespace {

// Memory for the buffers of columns, which grows without initializing it.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)),
      room_(std::exchange(other.room_, 0)) {}
  ~Buffer() { std::free(data_); }
  char* take(size_t bytes) {
    if (size_ + bytes > room_) [[unlikely]] grow(size_ + bytes);
    char* const at = data_ + size_;
    size_ += bytes;
    return at;
  }
  template <class T>
  void add(T value) { std::memcpy(take(sizeof value), &value, sizeof value); }
  void reserve(size_t bytes) { if (bytes > room_) grow(bytes); }
  char* data() { return data_; }
  size_t size() const { return size_; }

 private:
  void grow(size_t bytes) {
    bytes = std::max({bytes, room_ * 2, size_t{64}});
    void* const grown = std::realloc(data_, bytes);
    if (grown == nullptr) throw std::bad_alloc();
    data_ = static_cast<char*>(grown), room_ = bytes;
  }
  char* data_ = nullptr;
  size_t size_ = 0, room_ = 0;
};

enum class Layout : uint8_t { kBits, kFixed, kVariable };

struct ExportedColumn {
  std::string name, format;
  RowType type = RowType::kInt64;
  Layout layout = Layout::kFixed;
  uint32_t bytes = 8;      // of a value, if it is fixed
  bool nullable = false;
  int key_field = -1;      // the field of a tuple key; -1 if the column is not part of the key
  bool key = false;        // the whole key
  size_t position = 0;     // in the row
};

const char* format_of(RowType type) {
  switch (type) {
    case RowType::kBool: return "b";
    case RowType::kInt8: return "c";
    case RowType::kInt16: return "s";
    case RowType::kInt32: return "i";
    case RowType::kInt64: return "l";
    case RowType::kUInt8: return "C";
    case RowType::kUInt16: return "S";
    case RowType::kUInt32: return "I";
    case RowType::kUInt64: return "L";
    case RowType::kFloat: return "f";
    case RowType::kDouble: return "g";
    case RowType::kTimestamp: return "tsu:UTC";
    case RowType::kText:
    case RowType::kJson: return "u";
    case RowType::kBytes: return "z";
    case RowType::kUuid: return "w:16";
    case RowType::kDecimal: return "d:";
  }
  return "";
}

ExportedColumn exported(std::string name, RowType type, bool nullable, uint8_t scale) {
  ExportedColumn column;
  column.name = std::move(name);
  column.type = type;
  column.nullable = nullable;
  column.format = format_of(type);
  if (type == RowType::kDecimal) column.format += "19," + std::to_string(scale);
  if (type == RowType::kBool) column.layout = Layout::kBits;
  else if (fixed_bytes_of(type) == 0) column.layout = Layout::kVariable;
  else column.bytes = type == RowType::kDecimal ? 16 : fixed_bytes_of(type);
  return column;
}

RowType row_type_of(KeyFieldType type) {
  for (size_t i = 0; i < kRowTypes; ++i)
    if (name_of(static_cast<RowType>(i)) == name_of(type)) return static_cast<RowType>(i);
  return type == KeyFieldType::kUuid ? RowType::kUuid : RowType::kBytes;
}

// One column of the batch that is being built.
struct Building {
  Buffer values, ends, nulls;  // `ends`: the offsets of a column of variable size
  int64_t rows = 0, null_count = 0;

  void begin(const ExportedColumn& column, size_t rows_max) {
    if (column.layout == Layout::kVariable) ends.reserve((rows_max + 1) * 4), ends.add<int32_t>(0);
    else if (column.layout == Layout::kFixed) values.reserve(rows_max * column.bytes);
    if (column.nullable) nulls.reserve(rows_max / 8 + 1);
  }
  static void add_bit(Buffer& bits, int64_t row, bool bit) {
    if (row % 8 == 0) bits.add<uint8_t>(0);
    bits.data()[row / 8] = static_cast<char>(bits.data()[row / 8] | (bit ? 1 << row % 8 : 0));
  }
  void valid(const ExportedColumn& column) {
    if (column.nullable) [[unlikely]] add_bit(nulls, rows, true);
  }
  void null(const ExportedColumn& column) {
    add_bit(nulls, rows, false);
    ++null_count;
    if (column.layout == Layout::kBits) add_bit(values, rows, false);
    else if (column.layout == Layout::kFixed) std::memset(values.take(column.bytes), 0, column.bytes);
    else ends.add(static_cast<int32_t>(values.size()));
    ++rows;
  }
  template <class T>
  void add(const ExportedColumn& column, const T& value) {
    valid(column);
    values.add(value);
    ++rows;
  }
  void add_bool(const ExportedColumn& column, bool value) {
    valid(column);
    add_bit(values, rows, value);
    ++rows;
  }
  void add_text(const ExportedColumn& column, std::string_view text) {
    valid(column);
    if (!text.empty()) std::memcpy(values.take(text.size()), text.data(), text.size());
    ends.add(static_cast<int32_t>(values.size()));
    ++rows;
  }
  void add_decimal(const ExportedColumn& column, int64_t units) {
    valid(column);
    values.add(units);
    values.add<int64_t>(units < 0 ? -1 : 0);
    ++rows;
  }
};

// What an exported array owns.
struct ExportedArray {
  std::vector<Building> columns;
  std::vector<ArrowArray> arrays;
  std::vector<ArrowArray*> children;
  std::vector<std::array<const void*, 3>> buffers;
  const void* no_buffer[1] = {nullptr};
};

void release_child(ArrowArray* array) { array->release = nullptr; }
void release_array(ArrowArray* array) {
  delete static_cast<ExportedArray*>(array->private_data);
  array->release = nullptr;
}

struct ExportedSchema {
  std::vector<ExportedColumn> columns;
  std::vector<ArrowSchema> schemas;
  std::vector<ArrowSchema*> children;
};
void release_schema_child(ArrowSchema* schema) { schema->release = nullptr; }
void release_schema(ArrowSchema* schema) {
  delete static_cast<ExportedSchema*>(schema->private_data);
  schema->release = nullptr;
}

constexpr size_t kBatchBytesMax = size_t{1} << 28;  // of text and bytes, whose offsets have 31 bits

class Stream : public Child {
 public:
  Stream(std::shared_ptr<Core> its_core, TableRef table, std::vector<ExportedColumn> columns, size_t batch_rows)
      : Child(std::move(its_core)), table_(table), columns_(std::move(columns)), batch_rows_(batch_rows) {
    if (table_.described()) schema_ = CurrentRowSchema(detail::row_schema_of(*table_.base())).row_schema();
    Result<ActiveTransaction> begun = core->db.begin_read_only();
    check(begun.status());
    active_ = *std::move(begun);
  }
  ~Stream() override { end(); }
  void end() noexcept override {
    const std::lock_guard lock(using_);
    if (core->forked()) new ActiveTransaction(std::move(active_));
    else active_ = ActiveTransaction();
  }

  void schema(ArrowSchema* out) const {
    auto owner = std::make_unique<ExportedSchema>();
    owner->columns = columns_;
    owner->schemas.resize(columns_.size());
    owner->children.resize(columns_.size());
    for (size_t i = 0; i < columns_.size(); ++i) {
      const ExportedColumn& column = owner->columns[i];
      owner->schemas[i] = {column.format.c_str(), column.name.c_str(), nullptr, column.nullable ? kArrowNullable : 0,
                           0, nullptr, nullptr, &release_schema_child, nullptr};
      owner->children[i] = &owner->schemas[i];
    }
    *out = {"+s", "", nullptr, 0, static_cast<int64_t>(columns_.size()), owner->children.data(), nullptr, &release_schema, nullptr};
    out->private_data = owner.release();
  }

  // Returns an error message, or an empty one. After the last row, out->release is null.
  std::string next(ArrowArray* out) {
    std::memset(out, 0, sizeof *out);
    const std::lock_guard lock(using_);
    if (core->forked()) return "the stream was made before fork(), so this child process cannot use it";
    if (!active_) return done_ ? std::string() : "the stream has ended: the database was closed";
    auto owner = std::make_unique<ExportedArray>();
    owner->columns.resize(columns_.size());
    for (size_t i = 0; i < columns_.size(); ++i) owner->columns[i].begin(columns_[i], std::min<size_t>(batch_rows_, 1 << 16));
    const Result<size_t> rows = read(owner->columns);
    if (!rows.ok()) return rows.status().message();
    if (*rows == 0) {
      done_ = true;
      active_ = ActiveTransaction();
      return {};
    }
    finish(std::move(owner), *rows, out);
    return {};
  }
  std::string error;

 private:
  Result<size_t> read(std::vector<Building>& columns) {
    size_t rows = 0;
    Status failed;
    const auto visit = [&](const auto& key, const RawView& view) {
      failed = add(columns, key, view);
      if (!failed.ok()) return false;
      ++rows;
      return rows < batch_rows_ && (rows % 256 != 0 || bytes_of(columns) < kBatchBytesMax);
    };
    Status status;
    Transaction& txn = *active_;
    const bool hashed = table_.schema().key_index == KeyIndex::kHashed;
    if (table_.byte_keys()) {
      const auto call = [&](Bytes key, RawView view) { return last_bytes_ = OwnedBytes(key), visit(key, view); };
      if (hashed) status = hashed_scan<Bytes>(txn, visit);
      else status = txn.scan(table_, started_ ? ByteRange().after(last_bytes_) : ByteRange(), ScanOptions(), call);
    } else {
      const auto call = [&](Key key, RawView view) { return last_ = key, visit(key, view); };
      if (hashed) status = hashed_scan<Key>(txn, visit);
      else status = txn.scan(table_, started_ ? KeyRange().after(last_) : KeyRange(), ScanOptions(), call);
    }
    started_ = true;
    if (!failed.ok()) return failed;
    if (!status.ok()) return status;
    return rows;
  }
  // A hash table cannot continue a scan, so the whole table becomes one batch.
  template <class KeyType, class Visit>
  Status hashed_scan(Transaction& txn, Visit& visit) {
    if (started_) return {};
    batch_rows_ = ~size_t{0};
    return txn.scan_rows(table_, RowScanOptions(), [&](KeyType key, RawView view, unsigned) { return visit(key, view); });
  }
  static size_t bytes_of(const std::vector<Building>& columns) {
    size_t bytes = 0;
    for (const Building& column : columns) bytes = std::max(bytes, column.values.size());
    return bytes;
  }

  template <class KeyType>
  Status add(std::vector<Building>& columns, const KeyType& key, const RawView& view) {
    RowReader row;
    if (schema_) {
      Result<RowReader> opened = RowReader::open(*schema_, view);
      if (!opened.ok()) [[unlikely]] return opened.status();
      row = *opened;
    }
    for (size_t i = 0; i < columns_.size(); ++i) {
      const ExportedColumn& column = columns_[i];
      Building& to = columns[i];
      if (column.key || column.key_field >= 0) [[unlikely]] {
        if constexpr (std::is_same_v<KeyType, Key>) to.add(column, key);
        else if (column.key) to.add_text(column, key.text());
        else if (Status status = add_fields(columns, i, key); !status.ok()) return status;
        continue;
      }
      if (!schema_) {
        to.add_text(column, {reinterpret_cast<const char*>(view.bytes()), view.size()});
        continue;
      }
      if (Status status = add_value(to, column, row); !status.ok()) [[unlikely]] return status;
    }
    return {};
  }
  template <class T>
  static Status add_as(Building& to, const ExportedColumn& column, const RowReader& row) {
    const Result<T> value = row.get<T>(column.position);
    if (!value.ok()) [[unlikely]] return value.status();
    if constexpr (std::is_same_v<T, bool>) to.add_bool(column, *value);
    else if constexpr (std::is_same_v<T, std::string_view>) to.add_text(column, *value);
    else if constexpr (std::is_same_v<T, Bytes>) to.add_text(column, value->text());
    else if constexpr (std::is_same_v<T, Decimal>) to.add_decimal(column, value->units);
    else to.add(column, *value);
    return {};
  }
  static Status add_value(Building& to, const ExportedColumn& column, const RowReader& row) {
    if (column.nullable && row.is_null(column.position)) return to.null(column), Status();
    switch (column.type) {
      case RowType::kBool: return add_as<bool>(to, column, row);
      case RowType::kInt8: return add_as<int8_t>(to, column, row);
      case RowType::kInt16: return add_as<int16_t>(to, column, row);
      case RowType::kInt32: return add_as<int32_t>(to, column, row);
      case RowType::kInt64: return add_as<int64_t>(to, column, row);
      case RowType::kUInt8: return add_as<uint8_t>(to, column, row);
      case RowType::kUInt16: return add_as<uint16_t>(to, column, row);
      case RowType::kUInt32: return add_as<uint32_t>(to, column, row);
      case RowType::kUInt64: return add_as<uint64_t>(to, column, row);
      case RowType::kFloat: return add_as<float>(to, column, row);
      case RowType::kDouble: return add_as<double>(to, column, row);
      case RowType::kTimestamp: return add_as<Timestamp>(to, column, row);
      case RowType::kText:
      case RowType::kJson: return add_as<std::string_view>(to, column, row);
      case RowType::kBytes: return add_as<Bytes>(to, column, row);
      case RowType::kUuid: return add_as<Uuid>(to, column, row);
      case RowType::kDecimal: return add_as<Decimal>(to, column, row);
    }
    return {};
  }
  // Adds the fields of a tuple key that are columns, when their first one is column `i`.
  Status add_fields(std::vector<Building>& columns, size_t i, Bytes key) {
    const ExportedColumn& column = columns_[i];
    TupleReader reader(key.span());
    int at = 0;
    for (TupleField field; reader.next(&field); ++at) {
      if (at != column.key_field) continue;
      Building& to = columns[i];
      switch (field.type) {
        case TupleType::kNull: to.null(column); break;
        case TupleType::kBool: to.add_bool(column, field.boolean); break;
        case TupleType::kInteger: std::memcpy(to.values.take(column.bytes), &field.integer, column.bytes), to.valid(column), ++to.rows;
            break;
        case TupleType::kFloat: to.add(column, field.number32); break;
        case TupleType::kDouble: to.add(column, field.number); break;
        case TupleType::kTimestamp: to.add(column, field.timestamp); break;
        case TupleType::kUuid: to.add(column, field.uuid); break;
        default: to.add_text(column, field.text);
      }
    }
    return reader.status();
  }

  void finish(std::unique_ptr<ExportedArray> owner, size_t rows, ArrowArray* out) const {
    const size_t count = columns_.size();
    owner->arrays.resize(count), owner->children.resize(count), owner->buffers.resize(count);
    for (size_t i = 0; i < count; ++i) {
      Building& built = owner->columns[i];
      auto& buffers = owner->buffers[i];
      const bool variable = columns_[i].layout == Layout::kVariable;
      buffers[0] = built.null_count == 0 ? nullptr : built.nulls.data();
      built.values.reserve(1);  // consumers expect an address
      buffers[1] = variable ? built.ends.data() : built.values.data();
      buffers[2] = built.values.data();
      owner->arrays[i] = {static_cast<int64_t>(rows), built.null_count, 0, variable ? 3 : 2, 0, buffers.data(), nullptr, nullptr,
                          &release_child, nullptr};
      owner->children[i] = &owner->arrays[i];
    }
    *out = {static_cast<int64_t>(rows), 0, 0, 1, static_cast<int64_t>(count), owner->no_buffer, owner->children.data(), nullptr,
            &release_array, nullptr};
    out->private_data = owner.release();
  }

  std::mutex using_;
  TableRef table_;
  std::optional<RowSchema> schema_;
  std::vector<ExportedColumn> columns_;
  size_t batch_rows_;
  ActiveTransaction active_;
  Key last_ = 0;
  OwnedBytes last_bytes_;
  bool started_ = false, done_ = false;
};

// The interface's functions. private_data is a Stream, which belongs to the consumer.
int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  try {
    static_cast<Stream*>(stream->private_data)->schema(out);
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}
int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  Stream* const its = static_cast<Stream*>(stream->private_data);
  try {
    its->error = its->next(out);
    return its->error.empty() ? 0 : EIO;
  } catch (const std::bad_alloc&) {
    its->error = "not enough memory";
    return ENOMEM;
  }
}
const char* get_last_error(ArrowArrayStream* stream) {
  const std::string& error = static_cast<Stream*>(stream->private_data)->error;
  return error.empty() ? nullptr : error.c_str();
}
void release_stream(ArrowArrayStream* stream) {
  delete static_cast<Stream*>(stream->private_data);
  stream->release = nullptr;
}

void end_capsule(PyObject* capsule) {
  auto* const stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, "arrow_array_stream"));
  if (stream == nullptr) return PyErr_Clear();
  if (stream->release != nullptr) stream->release(stream);
  delete stream;
}

// Returns a capsule with a stream of the table's rows.
nb::object scan(nb::handle table_object, std::vector<std::string> key_names, nb::handle chosen, size_t batch_rows) {
  Table& table = nb::cast<Table&>(table_object);
  check_outside(*table.core, "scan()");
  const InUse in_use(*table.core);
  if (batch_rows < 1 || batch_rows > size_t{1} << 24) raise(Code::kInvalidArgument, "batch_rows must be from 1 to 16777216");
  std::vector<ExportedColumn> columns;
  if (table.keys.form() == KeyCodec::Form::kTuple) {
    for (size_t i = 0; i < table.keys.fields().size(); ++i) {
      const KeyField& field = table.keys.fields()[i];
      ExportedColumn column = exported(i < key_names.size() ? key_names[i] : "key" + std::to_string(i), row_type_of(field.type),
                                       field.null != KeyFieldNull::kNever, 0);
      column.key_field = static_cast<int>(i);
      columns.push_back(column);
    }
  } else {
    const RowType type = table.keys.numbers() ? RowType::kUInt64 : table.keys.form() == KeyCodec::Form::kText ? RowType::kText
        : RowType::kBytes;
    ExportedColumn column = exported(key_names.at(0), type, false, 0);
    column.key = true;
    columns.push_back(column);
  }
  if (table.rows.values()) columns.push_back(exported("value", RowType::kBytes, false, 0));
  else
    for (size_t i = 0; i < table.rows.schema().columns(); ++i) {
      const RowColumn& its = table.rows.schema().column(i);
      if (its.dropped) continue;
      columns.push_back(exported(its.name, its.type, its.nullable, its.scale));
      columns.back().position = i;
    }
  if (!chosen.is_none()) {
    std::vector<ExportedColumn> some;
    for (const auto& name : nb::cast<std::vector<std::string>>(chosen)) {
      const auto found = std::find_if(columns.begin(), columns.end(), [&](const ExportedColumn& column) { return column.name == name; });
      if (found == columns.end())
        raise(Code::kInvalidArgument, "table '" + table.name + "' lacks the column '" + name + "'", {.table = table.name, .column = name});
      some.push_back(*found);
    }
    columns = std::move(some);
  }
  auto stream = std::make_unique<ArrowArrayStream>(ArrowArrayStream{&get_schema, &get_next, &get_last_error, &release_stream, nullptr});
  stream->private_data = new Stream(table.core, table.ref, std::move(columns), batch_rows);
  return steal(PyCapsule_New(stream.release(), "arrow_array_stream", &end_capsule));
}

}  // namespace

void bind_arrow_import(nb::module_& module);
void bind_arrow(nb::module_& module) {
  module.def("scan", &scan, nb::arg(), nb::arg(), nb::arg().none(), nb::arg());
  bind_arrow_import(module);
}

}  // namespace elider::python
