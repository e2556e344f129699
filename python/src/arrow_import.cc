// Loads rows from the Arrow C stream interface.
#include <cstring>

#include <nanobind/stl/vector.h>

#include "python/src/arrow.h"
#include "python/src/tables.h"

namespace elider::python {

namespace {

// One column of a batch. value() converts an element to a RowValue, which refers to the batch.
class Column {
 public:
  // Returns false if the format is not supported.
  bool set_format(const ArrowSchema& schema) {
    const std::string_view format = schema.format;
    name_ = schema.name == nullptr ? "" : schema.name;
    dictionary_ = schema.dictionary != nullptr;
    if (dictionary_) {
      values_ = std::make_unique<Column>();
      if (!values_->set_format(*schema.dictionary)) return false;
    }
    kind_ = format.size() == 1 ? format[0] : 0;
    if (format.starts_with("ts") && format.size() >= 4) {
      kind_ = 't';
      unit_ = format[2];
    } else if (format == "tdD" || format == "tdm") {
      kind_ = 't', unit_ = format[2] == 'D' ? 'D' : 'd';
    } else if (format.starts_with("w:")) {
      kind_ = 'w', width_ = static_cast<size_t>(std::atoll(schema.format + 2));
    } else if (format.starts_with("d:")) {
      const size_t comma = format.find(',');
      if (comma == std::string_view::npos || format.find(',', comma + 1) != std::string_view::npos) return false;
      kind_ = 'd', scale_ = std::atoi(schema.format + comma + 1);
      if (scale_ < 0 || scale_ > kDecimalScaleMax) return false;
    } else if (format == "vu" || format == "vz") {
      kind_ = format[1] == 'u' ? 'v' : 'y';
    }
    return kind_ != 0 && std::strchr("nbcCsSiIlLfguUzZtwdvy", kind_) != nullptr;
  }
  void set_batch(const ArrowArray& array, int64_t parent_offset) {
    array_ = &array;
    offset_ = array.offset + parent_offset;
    nulls_ = array.n_buffers > 0 && array.null_count != 0 ? static_cast<const uint8_t*>(array.buffers[0]) : nullptr;
    if (dictionary_) values_->set_batch(*array.dictionary, 0);
  }
  const std::string& name() const { return name_; }
  char kind() const { return dictionary_ ? 0 : kind_; }
  bool is_null(int64_t row) const {
    const int64_t at = row + offset_;
    return kind_ == 'n' || (nulls_ != nullptr && (nulls_[at / 8] >> at % 8 & 1) == 0);
  }
  template <class T>
  T at(int64_t row) const { return static_cast<const T*>(array_->buffers[1])[row + offset_]; }

  RowValue value(int64_t row, bool uuid) const {
    if (is_null(row)) return {};
    if (dictionary_) {
      const RowValue index = plain(row, false);
      return values_->value(static_cast<int64_t>(index.word()), uuid);
    }
    return plain(row, uuid);
  }

 private:
  std::string_view text(int64_t row) const {
    const int64_t at = row + offset_;
    if (kind_ == 'v' || kind_ == 'y') {  // a view: 4 bytes of size, then 12 bytes or a prefix, a buffer and an offset
      const char* const view = static_cast<const char*>(array_->buffers[1]) + 16 * at;
      int32_t size, buffer, offset;
      std::memcpy(&size, view, 4);
      if (size <= 12) return {view + 4, static_cast<size_t>(size)};
      std::memcpy(&buffer, view + 8, 4);
      std::memcpy(&offset, view + 12, 4);
      return {static_cast<const char*>(array_->buffers[2 + buffer]) + offset, static_cast<size_t>(size)};
    }
    const auto slice = [&](const auto* ends) {
      return std::string_view(static_cast<const char*>(array_->buffers[2]) + ends[at], static_cast<size_t>(ends[at + 1] - ends[at]));
    };
    if (kind_ == 'u' || kind_ == 'z') return slice(static_cast<const int32_t*>(array_->buffers[1]));
    return slice(static_cast<const int64_t*>(array_->buffers[1]));
  }
  RowValue plain(int64_t row, bool uuid) const {
    switch (kind_) {
      case 'b': {
        const int64_t place = row + offset_;
        return RowValue((static_cast<const uint8_t*>(array_->buffers[1])[place / 8] >> place % 8 & 1) != 0);
      }
      case 'c': return RowValue(at<int8_t>(row));
      case 'C': return RowValue(at<uint8_t>(row));
      case 's': return RowValue(at<int16_t>(row));
      case 'S': return RowValue(at<uint16_t>(row));
      case 'i': return RowValue(at<int32_t>(row));
      case 'I': return RowValue(at<uint32_t>(row));
      case 'l': return RowValue(at<int64_t>(row));
      case 'L': return RowValue(at<uint64_t>(row));
      case 'f': return RowValue(at<float>(row));
      case 'g': return RowValue(at<double>(row));
      case 't': {
        int64_t time = unit_ == 'D' ? at<int32_t>(row) : at<int64_t>(row);
        if (unit_ == 's') time *= 1'000'000;
        else if (unit_ == 'm' || unit_ == 'd') time *= 1'000;
        else if (unit_ == 'n') time = time / 1'000 - (time % 1'000 < 0 ? 1 : 0);
        else if (unit_ == 'D') time *= 86'400'000'000;
        return RowValue(Timestamp(std::chrono::microseconds(time)));
      }
      case 'd': {
        const auto* const words = static_cast<const int64_t*>(array_->buffers[1]) + 2 * (row + offset_);
        if ((words[0] < 0 ? -1 : 0) != words[1]) return RowValue("a decimal of more than 64 bits");
        return RowValue(Decimal{words[0], static_cast<uint8_t>(scale_)});
      }
      case 'w': {
        const char* const bytes = static_cast<const char*>(array_->buffers[1]) + width_ * static_cast<size_t>(row + offset_);
        if (!uuid || width_ != 16) return RowValue(Bytes(std::string_view(bytes, width_)));
        Uuid its;
        std::memcpy(its.bytes.data(), bytes, 16);
        return RowValue(its);
      }
      case 'z':
      case 'Z':
      case 'y': return RowValue(Bytes(text(row)));
      default: return RowValue(text(row));
    }
  }

  std::string name_;
  char kind_ = 0, unit_ = 'u';
  bool dictionary_ = false;
  size_t width_ = 0;
  int scale_ = 0;
  std::unique_ptr<Column> values_;
  const ArrowArray* array_ = nullptr;
  int64_t offset_ = 0;
  const uint8_t* nulls_ = nullptr;
};

// A schema or an array, which this object releases.
template <class T>
struct Owned {
  T its{};
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { clear(); }
  void clear() {
    if (its.release != nullptr) its.release(&its);
    its.release = nullptr;
  }
};

// Sets columns of one exact type without a RowValue.
template <class T>
void set_as(RowBuilder& row, size_t position, const Column& column, int64_t at) { row.set(position, column.at<T>(at)); }

struct Mapped {
  const Column* column;
  size_t position;
  RowType type;
  void (*set)(RowBuilder&, size_t, const Column&, int64_t) = nullptr;
};

void choose(Mapped& mapped) {
  const char kind = mapped.column->kind();
  switch (mapped.type) {
    case RowType::kInt8: if (kind == 'c') mapped.set = &set_as<int8_t>; break;
    case RowType::kInt16: if (kind == 's') mapped.set = &set_as<int16_t>; break;
    case RowType::kInt32: if (kind == 'i') mapped.set = &set_as<int32_t>; break;
    case RowType::kInt64: if (kind == 'l') mapped.set = &set_as<int64_t>; break;
    case RowType::kUInt8: if (kind == 'C') mapped.set = &set_as<uint8_t>; break;
    case RowType::kUInt16: if (kind == 'S') mapped.set = &set_as<uint16_t>; break;
    case RowType::kUInt32: if (kind == 'I') mapped.set = &set_as<uint32_t>; break;
    case RowType::kUInt64: if (kind == 'L') mapped.set = &set_as<uint64_t>; break;
    case RowType::kFloat: if (kind == 'f') mapped.set = &set_as<float>; break;
    case RowType::kDouble: if (kind == 'g') mapped.set = &set_as<double>; break;
    default: break;
  }
}

class Loader {
 public:
  Loader(Table& table, std::vector<std::string> key_names, bool replace, size_t rows_a_transaction, nb::object progress)
      : table_(table), key_names_(std::move(key_names)), replace_(replace), rows_max_(rows_a_transaction), progress_(std::move(progress)) {}

  size_t load(ArrowArrayStream& stream) {
    Owned<ArrowSchema> schema;
    if (stream.get_schema(&stream, &schema.its) != 0) failed(stream, "the stream did not give a schema");
    describe(schema.its);
    builder_ = table_.rows.values() ? nullptr : table_.rows.take_builder();
    for (;;) {
      Owned<ArrowArray> array;
      int error = 0;
      {
        const Unlocked unlocked(*table_.core);
        error = stream.get_next(&stream, &array.its);
      }
      check_signals();
      if (error != 0) failed(stream, "the stream failed");
      if (array.its.release == nullptr) break;
      for (size_t i = 0; i < columns_.size(); ++i) columns_[i]->set_batch(*array.its.children[i], array.its.offset);
      for (int64_t row = 0; row < array.its.length;) {
        Status status;
        std::string column;
        {
          const Unlocked unlocked(*table_.core);
          const int64_t end = std::min(array.its.length, row + static_cast<int64_t>(rows_max_ - batch_.size()));
          for (; row < end && status.ok(); ++row) status = add(row, &column);
        }
        if (!status.ok()) refuse(status, row - 1, column);
        if (batch_.size() >= rows_max_) write();
      }
    }
    write();
    if (builder_ != nullptr) table_.rows.give_back(std::move(builder_));
    return loaded_;
  }

 private:
  [[noreturn]] void failed(ArrowArrayStream& stream, const char* what) {
    check_signals();
    const char* const words = stream.get_last_error(&stream);
    raise(Code::kInvalidArgument, "table '" + table_.name + "': " + what + (words == nullptr ? "" : std::string(": ") + words),
        {.table = table_.name});
  }
  [[noreturn]] void refuse(const Status& status, int64_t row, const std::string& column) {
    nb::object key = nb::none();
    std::string words = status.message();
    if (words.find("table '") == std::string::npos) words = "table '" + table_.name + "': " + words;
    raise(status.code(), words + " (row " + std::to_string(loaded_ + batch_.size()) + " of the load, row " + std::to_string(row) +
                             " of its batch; the " + std::to_string(loaded_) + " rows of earlier transactions are loaded)",
          {.table = table_.name, .column = column, .key = key});
  }

  void describe(const ArrowSchema& schema) {
    if (std::string_view(schema.format) != "+s") raise(Code::kInvalidArgument, "the stream is not a table: it consists of single values");
    std::string names;
    std::vector<std::string> used;
    for (int64_t i = 0; i < schema.n_children; ++i) {
      columns_.push_back(std::make_unique<Column>());
      const ArrowSchema& its = *schema.children[i];
      const std::string name = its.name == nullptr ? "" : its.name;
      names += (names.empty() ? "" : ", ") + name;
      if (!columns_.back()->set_format(its))
        raise(Code::kInvalidArgument, "table '" + table_.name + "', column '" + name + "': the Arrow format '" + its.format +
            "' cannot be loaded",
              {.table = table_.name, .column = name});
    }
    for (const std::string& name : key_names_) {
      const auto found = std::find_if(columns_.begin(), columns_.end(), [&](const auto& column) { return column->name() == name; });
      if (found == columns_.end())
        raise(Code::kInvalidArgument, "table '" + table_.name + "': the key column '" + name + "' is missing. The columns are " + names +
                                          ". Name the key column with key=", {.table = table_.name, .column = name});
      keys_.push_back(found->get());
    }
    for (const auto& column : columns_) {
      if (std::find(keys_.begin(), keys_.end(), column.get()) != keys_.end()) continue;
      if (table_.rows.values()) {
        if (value_ != nullptr) raise(Code::kInvalidArgument, "table '" + table_.name +
            "': rows are bytes, so the stream has two columns: key and value");
        value_ = column.get();
        continue;
      }
      const RowSchema& rows = table_.rows.schema();
      const Result<size_t> position = rows.position(column->name());
      check(position.status(), {.table = table_.name, .column = column->name()});
      mapped_.push_back({column.get(), *position, rows.column(*position).type});
      choose(mapped_.back());
    }
    if (table_.rows.values() && value_ == nullptr) raise(Code::kInvalidArgument, "table '" + table_.name +
        "': the stream lacks a column of values");
  }

  Status add(int64_t row, std::string* column) {
    std::span<const std::byte> bytes;
    if (value_ != nullptr) {
      const RowValue value = value_->value(row, false);
      if (value.kind() != RowValue::Kind::kBytes && value.kind() != RowValue::Kind::kText) return *column = value_->name(),
          Status::invalid_argument("the value is not bytes");
      bytes = value.bytes().span();
    } else {
      builder_->begin();
      for (const Mapped& mapped : mapped_) {
        if (mapped.set != nullptr && !mapped.column->is_null(row)) mapped.set(*builder_, mapped.position, *mapped.column, row);
        else builder_->set(mapped.position, mapped.column->value(row, mapped.type == RowType::kUuid));
        if (!builder_->status().ok()) [[unlikely]] return *column = mapped.column->name(), builder_->status();
      }
      const auto finished = builder_->finish();
      if (!finished.ok()) return finished.status();
      bytes = *finished;
    }
    return add_key(row, bytes, column);
  }
  Status add_key(int64_t row, std::span<const std::byte> bytes, std::string* column) {
    if (keys_.size() == 1) *column = keys_[0]->name();
    if (table_.keys.form() == KeyCodec::Form::kNumber) {
      const RowValue key = keys_[0]->value(row, false);
      if (key.kind() != RowValue::Kind::kInteger || key.negative()) return Status::invalid_argument("the key " + key.to_text() +
          " is not a number from 0 to 2**64 - 1");
      return batch_.add(key.word(), bytes), Status();
    }
    if (table_.keys.form() != KeyCodec::Form::kTuple) {
      const RowValue key = keys_[0]->value(row, false);
      const bool fits = key.kind() == (table_.keys.form() == KeyCodec::Form::kText ? RowValue::Kind::kText : RowValue::Kind::kBytes);
      if (!fits || key.text().size() > kKeyBytesMax) return Status::invalid_argument("the key " + key.to_text() +
          " has another type, or is longer than 1024 bytes");
      return batch_.add(Bytes(key.text()), bytes), Status();
    }
    std::array<std::byte, kKeyBytesMax> room;
    TupleWriter writer(room);
    for (size_t i = 0; i < keys_.size(); ++i) {
      const KeyField& field = table_.keys.fields()[i];
      const RowValue value = keys_[i]->value(row, field.type == KeyFieldType::kUuid);
      *column = keys_[i]->name();
      if (value.is_null()) put(writer, std::nullopt, field.null == KeyFieldNull::kLast);
      else if (value.kind() == RowValue::Kind::kBool) put(writer, value.boolean(), field.descending);
      else if (value.kind() == RowValue::Kind::kInteger && value.negative()) put(writer, static_cast<int64_t>(value.word()),
          field.descending);
      else if (value.kind() == RowValue::Kind::kInteger) put(writer, value.word(), field.descending);
      else if (value.kind() == RowValue::Kind::kFloat && field.type == KeyFieldType::kFloat) put(writer,
          static_cast<float>(value.number()), field.descending);
      else if (value.kind() == RowValue::Kind::kFloat || value.kind() == RowValue::Kind::kDouble) put(writer, value.number(),
          field.descending);
      else if (value.kind() == RowValue::Kind::kTimestamp) put(writer, value.timestamp(), field.descending);
      else if (value.kind() == RowValue::Kind::kUuid) put(writer, value.uuid(), field.descending);
      else if (value.kind() == RowValue::Kind::kText) put(writer, value.text(), field.descending);
      else put(writer, value.bytes().span(), field.descending);
    }
    const Result<size_t> size = writer.finish();
    if (!size.ok()) return size.status();
    const std::span<const std::byte> key(room.data(), *size);
    if (Status status = check_tuple_key(table_.keys.fields(), key); !status.ok()) return status;
    return batch_.add(Bytes(key), bytes), Status();
  }
  template <class T>
  static void put(TupleWriter& writer, const T& value, bool descending) {
    if (descending) writer.add(Descending<T>{value});
    else writer.add(value);
  }

  void write() {
    if (batch_.size() == 0) return;
    const auto body = [&](Transaction& txn) { return batch_.write(txn, table_, replace_); };
    run_unlocked(*table_.core, "load()", false, {}, body);
    loaded_ += batch_.size();
    batch_.clear();
    check_signals();
    if (!progress_.is_none()) progress_(loaded_);
  }

  Table& table_;
  std::vector<std::string> key_names_;
  const bool replace_;
  const size_t rows_max_;
  nb::object progress_;
  std::vector<std::unique_ptr<Column>> columns_;
  std::vector<const Column*> keys_;
  std::vector<Mapped> mapped_;
  const Column* value_ = nullptr;
  std::unique_ptr<RowBuilder> builder_;
  Batch batch_;
  size_t loaded_ = 0;
};

size_t load(nb::handle table_object, nb::handle source, std::vector<std::string> key_names, bool replace, size_t rows_a_transaction,
    nb::object progress) {
  Table& table = nb::cast<Table&>(table_object);
  check_outside(*table.core, "load()");
  const InUse in_use(*table.core);
  if (rows_a_transaction < 1 || rows_a_transaction > 10'000'000) raise(Code::kInvalidArgument,
      "rows_per_transaction must be from 1 to 10000000");
  if (!nb::hasattr(source, "__arrow_c_stream__"))
    raise(Code::kInvalidArgument,
        "load() takes an object with the Arrow stream interface (__arrow_c_stream__), such as a table of pyarrow, "
                                  "polars or pandas, not " + shown(source));
  nb::object capsule = source.attr("__arrow_c_stream__")();
  auto* const stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
  if (stream == nullptr) throw nb::python_error();
  Owned<ArrowArrayStream> owned;  // the consumer of a stream owns it, and must release it
  owned.its = *stream;
  stream->release = nullptr;
  return Loader(table, std::move(key_names), replace, rows_a_transaction, std::move(progress)).load(owned.its);
}

// Describes the columns of a schema as (name, type, nullable, scale, None).
nb::list arrow_columns(nb::handle source) {
  nb::object capsule = source.attr("__arrow_c_schema__")();
  auto* const schema = static_cast<ArrowSchema*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_schema"));
  if (schema == nullptr) throw nb::python_error();
  nb::list columns;
  for (int64_t i = 0; i < schema->n_children; ++i) {
    const ArrowSchema& its = *schema->children[i];
    const std::string_view format = its.dictionary != nullptr ? its.dictionary->format : its.format;
    const char* type = nullptr;
    int scale = 0;
    if (format.size() == 1)
      for (const auto& [letter, name] : {std::pair('b', "bool"), {'c', "int8"}, {'s', "int16"}, {'i', "int32"}, {'l', "int64"}, {'C',
          "uint8"},
                                         {'S', "uint16"}, {'I', "uint32"}, {'L', "uint64"}, {'f', "float"}, {'g', "double"}, {'u', "text"},
                                         {'U', "text"}, {'z', "bytes"}, {'Z', "bytes"}})
        if (format[0] == letter) type = name;
    if (format == "vu") type = "text";
    else if (format == "vz") type = "bytes";
    else if (format == "w:16") type = "uuid";
    else if (format.starts_with("w:")) type = "bytes";
    else if (format.starts_with("ts") || format == "tdD" || format == "tdm") type = "timestamp";
    else if (format.starts_with("d:")) type = "decimal", scale = std::atoi(its.format + format.find(',') + 1);
    if (type == nullptr)
      raise(Code::kInvalidArgument, "column '" + std::string(its.name) + "': columns cannot have the Arrow format '" + std::string(format) +
          "'",
            {.column = its.name});
    columns.append(nb::make_tuple(its.name, type, (its.flags & kArrowNullable) != 0, scale, nb::none()));
  }
  return columns;
}

}  // namespace

void bind_arrow_import(nb::module_& module) {
  module.def("load", &load, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  module.def("arrow_columns", &arrow_columns);
}

}  // namespace elider::python
