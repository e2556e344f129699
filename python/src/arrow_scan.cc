// Scans of tables as Arrow streams.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <exception>

#include "python/src/arrow.h"
#include "python/src/tables.h"

namespace elider::python {

std::string arrow_format(RowType type, uint8_t scale) {
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
    case RowType::kBytes: return "z";
    case RowType::kUuid: return "w:16";
    case RowType::kDecimal: return "d:19," + std::to_string(scale);
    default: return "u";
  }
}

namespace {

// A column of a scan: of the rows, or of the keys.
struct ScanColumn {
  std::string name;
  RowType type;
  uint8_t scale = 0;
  bool nullable = false;
  size_t position = 0;  // in the row, or in a tuple key
};

// The values of one column of a batch.
struct Values {
  std::vector<std::byte> fixed;    // numbers, or the bits of bools
  std::vector<int32_t> ends{0};    // of text and bytes
  std::vector<char> text;
  std::vector<uint8_t> valid;      // bits; empty without nulls
  int64_t nulls = 0;
};

// What a batch owns until the consumer releases it.
struct BatchMemory {
  std::vector<Values> columns;
  std::vector<ArrowArray> arrays;
  std::vector<ArrowArray*> children;
  std::vector<std::array<const void*, 3>> buffers;
  const void* no_buffer = nullptr;
};

void release_child(ArrowArray* array) { array->release = nullptr; }
void release_batch(ArrowArray* array) {
  delete static_cast<BatchMemory*>(array->private_data);
  array->release = nullptr;
}

// Collects rows, column by column.
class Builder {
 public:
  Builder(std::vector<ScanColumn> keys, std::vector<ScanColumn> rows, size_t batch_rows)
      : keys_(std::move(keys)), rows_(std::move(rows)), batch_rows_(batch_rows) {
    renew();
  }
  size_t size() const { return count_; }
  bool full() const { return count_ >= batch_rows_ || text_bytes_ >= size_t{256} << 20; }

  Status add(Key key, const RowSchema* schema, const RawView& view) {
    put(memory_->columns[0], &key, sizeof key);
    return add_row(schema, view);
  }
  Status add(Bytes key, const RowSchema* schema, const RawView& view, bool tuple) {
    if (!tuple) put_text(memory_->columns[0], key.text());
    else if (Status status = add_tuple(key); !status.ok()) return status;
    return add_row(schema, view);
  }

  // Hands the rows on, and begins a new batch.
  ArrowArray finish() {
    BatchMemory& memory = *memory_;
    const size_t columns = memory.columns.size();
    memory.arrays.resize(columns);
    memory.buffers.resize(columns);
    for (size_t i = 0; i < columns; ++i) {
      const ScanColumn& column = column_at(i);
      Values& values = memory.columns[i];
      const bool has_text = fixed_bytes_of(column.type) == 0;
      if (values.nulls != 0) values.valid.resize((count_ + 7) / 8);
      memory.buffers[i] = {values.nulls != 0 ? values.valid.data() : nullptr,
                           has_text ? static_cast<const void*>(values.ends.data()) : values.fixed.data(), values.text.data()};
      memory.arrays[i] = {static_cast<int64_t>(count_), values.nulls, 0, has_text ? 3 : 2, 0, memory.buffers[i].data(), nullptr, nullptr,
                          release_child, nullptr};
      memory.children.push_back(&memory.arrays[i]);
    }
    const ArrowArray array{static_cast<int64_t>(count_), 0, 0, 1, static_cast<int64_t>(columns), &memory.no_buffer, memory.children.data(),
                           nullptr, release_batch, memory_.release()};
    renew();
    return array;
  }

 private:
  const ScanColumn& column_at(size_t i) const { return i < keys_.size() ? keys_[i] : rows_[i - keys_.size()]; }
  void renew() {
    memory_ = std::make_unique<BatchMemory>();
    memory_->columns.resize(keys_.size() + rows_.size());
    for (size_t i = 0; i < memory_->columns.size(); ++i)
      if (const size_t bytes = fixed_bytes_of(column_at(i).type); bytes != 0 && column_at(i).type != RowType::kBool)
        memory_->columns[i].fixed.reserve(batch_rows_ * (column_at(i).type == RowType::kDecimal ? 16 : bytes));
    count_ = text_bytes_ = 0;
  }
  static void put(Values& values, const void* value, size_t bytes) {
    const auto* from = static_cast<const std::byte*>(value);
    values.fixed.insert(values.fixed.end(), from, from + bytes);
  }
  void put_text(Values& values, std::string_view text) {
    values.text.insert(values.text.end(), text.begin(), text.end());
    values.ends.push_back(static_cast<int32_t>(values.text.size()));
    text_bytes_ += text.size();
  }
  void put_bool(Values& values, bool value) {
    values.fixed.resize(count_ / 8 + 1);
    if (value) values.fixed[count_ / 8] |= static_cast<std::byte>(1u << count_ % 8);
  }
  void put_null(Values& values, RowType type) {
    if (values.nulls++ == 0) values.valid.assign(count_ / 8 + 1, 0xff);
    values.valid.resize(count_ / 8 + 1, 0xff);
    values.valid[count_ / 8] = static_cast<uint8_t>(values.valid[count_ / 8] & ~(1u << count_ % 8));
    static constexpr std::byte kZero[16]{};
    if (type == RowType::kBool) put_bool(values, false);
    else if (const size_t bytes = fixed_bytes_of(type); bytes != 0) put(values, kZero, type == RowType::kDecimal ? 16 : bytes);
    else put_text(values, {});
  }
  template <class T>
  Status put_number(Values& values, const RowReader& row, size_t position) {
    const Result<T> value = row.get<T>(position);
    if (!value.ok()) [[unlikely]] return value.status();
    put(values, &*value, sizeof(T));
    return {};
  }

  Status add_row(const RowSchema* schema, const RawView& view) {
    Values* values = memory_->columns.data() + keys_.size();
    if (schema == nullptr) {
      if (!rows_.empty()) put_text(*values, {reinterpret_cast<const char*>(view.bytes()), view.size()});
      return ++count_, Status();
    }
    const Result<RowReader> row = RowReader::open(*schema, view);
    if (!row.ok()) [[unlikely]] return row.status();
    for (const ScanColumn& column : rows_) {
      if (Status status = add_column(*values++, column, *row); !status.ok()) [[unlikely]] return status;
    }
    return ++count_, Status();
  }
  Status add_column(Values& values, const ScanColumn& column, const RowReader& row) {
    const size_t at = column.position;
    if (column.nullable && row.is_null(at)) return put_null(values, column.type), Status();
    if (values.nulls != 0 && count_ % 8 == 0) values.valid.resize(count_ / 8 + 1, 0xff);
    switch (column.type) {
      case RowType::kBool: {
        const Result<bool> value = row.get<bool>(at);
        if (value.ok()) put_bool(values, *value);
        return value.status();
      }
      case RowType::kInt8: return put_number<int8_t>(values, row, at);
      case RowType::kInt16: return put_number<int16_t>(values, row, at);
      case RowType::kInt32: return put_number<int32_t>(values, row, at);
      case RowType::kInt64: return put_number<int64_t>(values, row, at);
      case RowType::kUInt8: return put_number<uint8_t>(values, row, at);
      case RowType::kUInt16: return put_number<uint16_t>(values, row, at);
      case RowType::kUInt32: return put_number<uint32_t>(values, row, at);
      case RowType::kUInt64: return put_number<uint64_t>(values, row, at);
      case RowType::kFloat: return put_number<float>(values, row, at);
      case RowType::kDouble: return put_number<double>(values, row, at);
      case RowType::kTimestamp: return put_number<Timestamp>(values, row, at);
      case RowType::kUuid: return put_number<Uuid>(values, row, at);
      case RowType::kDecimal: {
        const Result<Decimal> value = row.get<Decimal>(at);
        if (!value.ok()) return value.status();
        const int64_t words[2] = {value->units, value->units < 0 ? -1 : 0};
        put(values, words, sizeof words);
        return {};
      }
      case RowType::kBytes: {
        const Result<Bytes> value = row.get<Bytes>(at);
        if (value.ok()) put_text(values, value->text());
        return value.status();
      }
      default: {
        const Result<std::string_view> value = row.get<std::string_view>(at);
        if (value.ok()) put_text(values, *value);
        return value.status();
      }
    }
  }
  Status add_tuple(Bytes key) {
    TupleReader reader(key.span());
    size_t i = 0;
    for (TupleField field; i < keys_.size() && reader.next(&field); ++i) {
      Values& values = memory_->columns[i];
      const RowType type = keys_[i].type;
      if (field.type == TupleType::kNull) {
        put_null(values, type);
        continue;
      }
      if (values.nulls != 0 && count_ % 8 == 0) values.valid.resize(count_ / 8 + 1, 0xff);
      switch (field.type) {
        case TupleType::kBool: put_bool(values, field.boolean); break;
        case TupleType::kInteger: {
          const uint64_t word = field.negative ? static_cast<uint64_t>(field.as_int64()) : field.integer;
          put(values, &word, fixed_bytes_of(type));  // the low bytes come first
          break;
        }
        case TupleType::kFloat: put(values, &field.number32, sizeof field.number32); break;
        case TupleType::kDouble: put(values, &field.number, sizeof field.number); break;
        case TupleType::kTimestamp: put(values, &field.timestamp, sizeof field.timestamp); break;
        case TupleType::kUuid: put(values, &field.uuid, sizeof field.uuid); break;
        default: put_text(values, field.text);
      }
    }
    return i == keys_.size() ? reader.status() : Status(Code::kCorrupt, "a key has fewer fields than the table's keys");
  }

  std::vector<ScanColumn> keys_, rows_;
  size_t batch_rows_;
  std::unique_ptr<BatchMemory> memory_;
  size_t count_ = 0, text_bytes_ = 0;
};

RowType key_type_of(KeyFieldType type) {
  switch (type) {
    case KeyFieldType::kTimestamp: return RowType::kTimestamp;
    case KeyFieldType::kText: return RowType::kText;
    case KeyFieldType::kUuid: return RowType::kUuid;
    case KeyFieldType::kBytes:
    case KeyFieldType::kTuple: return RowType::kBytes;
    default: return static_cast<RowType>(type);  // bool and numbers
  }
}
static_assert(static_cast<int>(KeyFieldType::kDouble) == static_cast<int>(RowType::kDouble));

// A scan that is read batch by batch, from any thread, without the GIL.
class Scan : public Child {
 public:
  Scan(std::shared_ptr<Core> its_core, const Table& table, std::vector<ScanColumn> keys, std::vector<ScanColumn> rows, size_t batch_rows)
      : Child(std::move(its_core)), ref_(table.ref), schema_(table.rows.values() ? nullptr : &table.rows.schema()), keys_(keys), rows_(rows),
        builder_(std::move(keys), std::move(rows), batch_rows) {
    Result<HeldSnapshot> held = core->db.hold_snapshot();
    check(held.status(), {.table = table.name});
    held_ = *std::move(held);
  }
  ~Scan() override {
    end();
    for (ArrowArray& batch : ready_) batch.release(&batch);
  }
  void end() noexcept override {
    const std::lock_guard lock(mutex_);
    if (core->forked()) new HeldSnapshot(std::move(held_));
    else held_ = HeldSnapshot();
  }
  const std::vector<ScanColumn>& keys() const { return keys_; }
  const std::vector<ScanColumn>& rows() const { return rows_; }

  // Returns false at the end. Sets *status if it fails.
  bool next(ArrowArray* out, Status* status) {
    core->unlocked.fetch_add(1);
    const bool any = read(out, status);
    core->unlocked.fetch_sub(1);
    return any;
  }

 private:
  bool read(ArrowArray* out, Status* status) {
    const std::lock_guard lock(mutex_);
    if (core->forked()) return *status = Status(Code::kFinished, "the scan belongs to a parent process"), false;
    if (ready_.empty() && !done_) {
      if (!held_) return *status = Status(Code::kFinished, "the scan has ended, because the database is closed"), false;
      Status failed;
      *status = core->db.run_read_only([&](Transaction& txn) -> Status { return fill(txn, &failed); }, {.snapshot = &held_});
      if (!failed.ok()) *status = failed;
      if (!status->ok()) return false;
      if (builder_.size() != 0) ready_.push_back(builder_.finish());
      if (done_) held_ = HeldSnapshot();
    }
    if (ready_.empty()) return false;
    *out = ready_.front();
    ready_.pop_front();
    return true;
  }
  Status fill(Transaction& txn, Status* failed) {
    const bool hashed = ref_.schema().key_index == KeyIndex::kHashed, tuple = ref_.tuple_keys();
    bool ended = true;
    const auto number = [&](Key key, const RawView& view) {
      *failed = builder_.add(key, schema_, view);
      if (!failed->ok()) return false;
      if (!builder_.full()) return true;
      if (hashed) return ready_.push_back(builder_.finish()), true;
      ended = key == ~Key{0};
      numbers_.first = key + 1;
      return false;
    };
    const auto bytes = [&](Bytes key, const RawView& view) {
      *failed = builder_.add(key, schema_, view, tuple);
      if (!failed->ok()) return false;
      if (!builder_.full()) return true;
      if (hashed) return ready_.push_back(builder_.finish()), true;
      ended = false;
      range_ = range_.after(key);
      return false;
    };
    Status status;
    if (hashed && !ref_.byte_keys()) status = txn.scan_rows(ref_, RowScanOptions(), [&](Key key, RawView view, unsigned) { return number(key, view); });
    else if (hashed) status = txn.scan_rows(ref_, RowScanOptions(), [&](Bytes key, RawView view, unsigned) { return bytes(key, view); });
    else if (!ref_.byte_keys()) status = txn.scan(ref_, KeyRange(numbers_), ScanOptions(), [&](Key key, RawView view) { return number(key, view); });
    else status = txn.scan(ref_, ByteRange(range_), ScanOptions(), [&](Bytes key, RawView view) { return bytes(key, view); });
    done_ = ended;
    return status;
  }

  std::mutex mutex_;  // never held by a thread that waits for the GIL
  TableRef ref_;
  const RowSchema* schema_;
  std::vector<ScanColumn> keys_, rows_;
  Builder builder_;
  HeldSnapshot held_;
  std::deque<ArrowArray> ready_;
  KeyRange numbers_;
  ByteRange range_;
  bool done_ = false;
};

// What a stream owns: the scan, and the message of the last error.
struct StreamMemory {
  std::shared_ptr<Scan> scan;
  std::string error;
};

struct SchemaMemory {
  std::vector<std::string> names, formats;
  std::vector<ArrowSchema> schemas;
  std::vector<ArrowSchema*> children;
};
void release_child_schema(ArrowSchema* schema) { schema->release = nullptr; }
void release_schema(ArrowSchema* schema) {
  delete static_cast<SchemaMemory*>(schema->private_data);
  schema->release = nullptr;
}

int fail(ArrowArrayStream* stream, int code, const std::string& words) noexcept {
  try {
    static_cast<StreamMemory*>(stream->private_data)->error = words;
  } catch (...) {
  }
  return code;
}

void make_schema(const Scan& scan, ArrowSchema* out) {
  auto memory = std::make_unique<SchemaMemory>();
  for (const auto* columns : {&scan.keys(), &scan.rows()})
    for (const ScanColumn& column : *columns) {
      memory->names.push_back(column.name);
      memory->formats.push_back(arrow_format(column.type, column.scale));
      memory->schemas.push_back({nullptr, nullptr, nullptr, column.nullable ? kArrowNullable : 0, 0, nullptr, nullptr, release_child_schema, nullptr});
    }
  for (size_t i = 0; i < memory->schemas.size(); ++i) {
    memory->schemas[i].format = memory->formats[i].c_str();
    memory->schemas[i].name = memory->names[i].c_str();
    memory->children.push_back(&memory->schemas[i]);
  }
  *out = {"+s", "", nullptr, 0, static_cast<int64_t>(memory->children.size()), memory->children.data(), nullptr, release_schema, nullptr};
  out->private_data = memory.release();
}

int stream_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  try {
    make_schema(*static_cast<StreamMemory*>(stream->private_data)->scan, out);
    return 0;
  } catch (const std::exception& error) {
    return fail(stream, ENOMEM, error.what());
  }
}

// Python's signal handlers run when control returns to Python. A scan that has been interrupted
// ends early, and the interrupt is raised there.
bool interrupted() {
  if (Py_IsInitialized() == 0) return false;
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  const bool is = PyErr_CheckSignals() != 0;
  if (is) {
    PyErr_Clear();
    PyErr_SetInterrupt();
  }
  PyErr_Restore(type, value, trace);
  PyGILState_Release(state);
  return is;
}

int stream_next(ArrowArrayStream* stream, ArrowArray* out) {
  try {
    out->release = nullptr;
    if (interrupted()) return fail(stream, EINTR, "the scan was interrupted");
    Status status;
    static_cast<StreamMemory*>(stream->private_data)->scan->next(out, &status);
    return status.ok() ? 0 : fail(stream, EIO, status.message());
  } catch (const std::exception& error) {
    return fail(stream, ENOMEM, error.what());
  }
}
const char* stream_error(ArrowArrayStream* stream) { return static_cast<StreamMemory*>(stream->private_data)->error.c_str(); }
void stream_release(ArrowArrayStream* stream) {
  auto* const memory = static_cast<StreamMemory*>(stream->private_data);
  stream->release = nullptr;
  if (Py_IsInitialized() == 0) return;  // the process ends
  const PyGILState_STATE state = PyGILState_Ensure();  // the database may end with its last scan
  delete memory;
  PyGILState_Release(state);
}

void delete_capsule(PyObject* capsule) {
  auto* const stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, "arrow_array_stream"));
  if (stream == nullptr) return PyErr_Clear();
  if (stream->release != nullptr) stream->release(stream);
  delete stream;
}
void delete_schema_capsule(PyObject* capsule) {
  auto* const schema = static_cast<ArrowSchema*>(PyCapsule_GetPointer(capsule, "arrow_schema"));
  if (schema == nullptr) return PyErr_Clear();
  if (schema->release != nullptr) schema->release(schema);
  delete schema;
}

struct Stream {
  std::shared_ptr<Scan> scan;  // empty after it was handed on
  std::vector<std::string> names;
};

Stream* scan(Table& table, const std::string& key_name, nb::handle names, size_t batch_rows) {
  check_outside(*table.core, "scan()");
  if (batch_rows == 0 || batch_rows > size_t{1} << 24)
    raise(Code::kInvalidArgument, "batch_rows must be from 1 to 2**24, not " + std::to_string(batch_rows), {.table = table.name});
  std::vector<ScanColumn> keys, rows, all;
  if (table.keys.numbers()) keys.push_back({key_name, RowType::kUInt64, 0, false, 0});
  else if (table.keys.form() == KeyCodec::Form::kTuple) {
    for (size_t i = 0; i < table.keys.fields().size(); ++i) {
      const KeyField& field = table.keys.fields()[i];
      keys.push_back({key_name + "_" + std::to_string(i), key_type_of(field.type), 0, field.null != KeyFieldNull::kNever, i});
    }
  } else keys.push_back({key_name, table.keys.form() == KeyCodec::Form::kText ? RowType::kText : RowType::kBytes, 0, false, 0});
  if (table.rows.values()) all.push_back({"value", RowType::kBytes, 0, false, 0});
  else {
    const RowSchema& schema = table.rows.schema();
    for (size_t i = 0; i < schema.columns(); ++i)
      if (const RowColumn& column = schema.column(i); !column.dropped) all.push_back({column.name, column.type, column.scale, column.nullable, i});
  }
  if (names.is_none()) rows = all;
  else
    for (nb::handle item : names) {
      const auto name = nb::cast<std::string>(item);
      const auto found = std::find_if(all.begin(), all.end(), [&](const ScanColumn& column) { return column.name == name; });
      if (found == all.end()) raise(Code::kInvalidArgument, "table '" + table.name + "' has no column '" + name + "'", {.table = table.name, .column = name});
      rows.push_back(*found);
    }
  std::vector<std::string> all_names;
  for (const auto* columns : {&keys, &rows})
    for (const ScanColumn& column : *columns) all_names.push_back(column.name);
  return new Stream{std::make_shared<Scan>(table.core, table, std::move(keys), std::move(rows), batch_rows), std::move(all_names)};
}

}  // namespace

void bind_arrow_scan(nb::module_& module) {
  nb::class_<Stream>(module, "Stream")
      .def("__arrow_c_stream__",
           [](Stream& self, nb::handle) {
             if (self.scan == nullptr) raise(Code::kFinished, "the stream has been read; make another one with scan()");
             auto* const stream = new ArrowArrayStream{stream_schema, stream_next, stream_error, stream_release, new StreamMemory{std::move(self.scan), {}}};
             self.scan = nullptr;
             return steal(PyCapsule_New(stream, "arrow_array_stream", delete_capsule));
           },
           nb::arg("requested_schema") = nb::none())
      .def("__arrow_c_schema__",
           [](Stream& self) {
             if (self.scan == nullptr) raise(Code::kFinished, "the stream has been read; make another one with scan()");
             auto* const schema = new ArrowSchema;
             make_schema(*self.scan, schema);
             return steal(PyCapsule_New(schema, "arrow_schema", delete_schema_capsule));
           })
      .def("__repr__", [](Stream& self) {
        std::string words = "<elider.Stream of";
        for (const std::string& name : self.names) words += " " + name;
        return words + (self.scan == nullptr ? ", read>" : ">");
      });
  module.def("scan", &scan, nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::rv_policy::take_ownership);
}

}  // namespace elider::python
