#include "python/src/rows.h"

#include <cstring>

#include "python/src/keys.h"

namespace elider::python {

namespace {

nb::handle json(const char* function) {
  static PyObject* const loads = nb::object(nb::module_::import_("json").attr("loads")).release().ptr();
  static PyObject* const dumps = nb::object(nb::module_::import_("elider._values").attr("to_json")).release().ptr();
  return function[0] == 'l' ? loads : dumps;
}

std::string column_text(const std::string& table, const ColumnPlan& column) {
  return "table '" + table + "', column '" + column.text + "' (" + std::string(name_of(column.type)) + ")";
}

}  // namespace

void set_column(RowBuilder& row, const std::string& table, const ColumnPlan& column, nb::handle value, nb::handle key) {
  PyObject* const object = value.ptr();
  const Place place{.table = table, .column = column.text, .key = key};
  const auto wrong = [&](const std::string& words) {
    raise(Code::kInvalidArgument, column_text(table, column) + " " + words + ", not " + shown(value), place);
  };
  const auto built = [&] {
    if (!row.status().ok()) [[unlikely]] raise(row.status(), place);
  };
  if (value.is_none()) {
    if (!column.nullable) wrong("is not nullable: it needs a value");
    row.set_null(column.position);
    return built();
  }
  switch (column.type) {
    case RowType::kBool:
      if (!PyBool_Check(object)) wrong("needs a bool");
      row.set(column.position, object == Py_True);
      break;
    case RowType::kFloat:
    case RowType::kDouble: {
      const bool may_be = PyFloat_Check(object) || (!PyUnicode_Check(object) && !PyBool_Check(object) && !PyBytes_Check(object));
      const double number = may_be ? PyFloat_AsDouble(object) : -1;
      if (!may_be || (number == -1 && PyErr_Occurred())) PyErr_Clear(), wrong("needs a number");
      if (column.type == RowType::kFloat) row.set(column.position, static_cast<float>(number));
      else row.set(column.position, number);
      break;
    }
    case RowType::kText: {
      if (!PyUnicode_Check(object)) wrong("needs a str");
      Py_ssize_t size = 0;
      const char* const utf8 = PyUnicode_AsUTF8AndSize(object, &size);
      if (utf8 == nullptr) PyErr_Clear(), wrong("needs text that UTF-8 can represent");
      row.set(column.position, std::string_view(utf8, static_cast<size_t>(size)));
      break;
    }
    case RowType::kJson: {
      std::string text;
      try {
        text = nb::cast<std::string>(json("dumps")(value));
      } catch (nb::python_error& error) {
        wrong(std::string("needs a value that JSON can represent (") + error.what() + ")");
      }
      row.set(column.position, std::string_view(text));
      return built();
    }
    case RowType::kBytes: {
      std::string_view bytes;
      nb::object owner;
      if (!bytes_of(value, &bytes, &owner)) wrong("needs bytes");
      row.set(column.position, Bytes(bytes));
      return built();
    }
    case RowType::kTimestamp: {
      int64_t micros = 0;
      try {
        micros = to_micros(value);
      } catch (nb::python_error&) {
        wrong("needs a datetime with a time zone");
      }
      row.set(column.position, Timestamp(std::chrono::microseconds(micros)));
      break;
    }
    case RowType::kUuid: {
      try {
        row.set(column.position, to_uuid(value));
      } catch (nb::builtin_exception&) {
        wrong("needs a uuid.UUID");
      }
      break;
    }
    case RowType::kDecimal: {
      std::string text;
      try {
        text = nb::cast<std::string>(nb::module_::import_("elider._values").attr("decimal_text")(value));
      } catch (nb::python_error&) {
        wrong("needs a decimal.Decimal or an int");
      }
      const Result<Decimal> decimal = Decimal::parse(text);
      if (!decimal.ok()) raise(decimal.status(), place);
      row.set(column.position, *decimal);
      break;
    }
    default: {
      nb::object number;
      PyObject* integer = object;
      if (!PyLong_CheckExact(object)) {
        if (PyBool_Check(object) || !PyIndex_Check(object)) wrong("needs an int");
        number = steal(PyNumber_Index(object));
        integer = number.ptr();
      }
      int overflow = 0;
      const long long signed_number = PyLong_AsLongLongAndOverflow(integer, &overflow);
      if (overflow == 0) {
        row.set(column.position, static_cast<int64_t>(signed_number));
      } else {
        const uint64_t unsigned_number = overflow > 0 ? PyLong_AsUnsignedLongLong(integer) : ~uint64_t{0};
        if (overflow < 0 || (unsigned_number == ~uint64_t{0} && PyErr_Occurred())) PyErr_Clear(), wrong("cannot represent the number");
        row.set(column.position, unsigned_number);
      }
    }
  }
  built();
}

namespace {

template <class T>
T got(const RowReader& row, const std::string& table, const ColumnPlan& column) {
  Result<T> value = row.get<T>(column.position);
  if (!value.ok()) [[unlikely]] raise(value.status(), {.table = table, .column = column.text});
  return *value;
}

}  // namespace

nb::object get_column(const RowReader& row, const std::string& table, const ColumnPlan& column) {
  if (column.nullable && row.is_null(column.position)) return nb::none();
  switch (column.type) {
    case RowType::kBool: return nb::bool_(got<bool>(row, table, column));
    case RowType::kUInt64: return steal(PyLong_FromUnsignedLongLong(got<uint64_t>(row, table, column)));
    case RowType::kFloat:
    case RowType::kDouble: return steal(PyFloat_FromDouble(got<double>(row, table, column)));
    case RowType::kTimestamp: return from_micros(got<Timestamp>(row, table, column).time_since_epoch().count());
    case RowType::kText: return text_object(got<std::string_view>(row, table, column));
    case RowType::kJson: return json("loads")(text_object(got<std::string_view>(row, table, column)));
    case RowType::kBytes: return bytes_object(got<Bytes>(row, table, column).text());
    case RowType::kUuid: return from_uuid(got<Uuid>(row, table, column));
    case RowType::kDecimal: return from_decimal(got<Decimal>(row, table, column));
    default: return steal(PyLong_FromLongLong(got<int64_t>(row, table, column)));
  }
}

RowCodec::RowCodec(const TableRef& table, std::string name, nb::object type, std::vector<std::string> fields)
    : table_(table), name_(std::move(name)), type_(std::move(type)), fields_(std::move(fields)) {
  values_ = !table.described();
  dict_ = type_.ptr() == reinterpret_cast<PyObject*>(&PyDict_Type);
  if (!values_) rows_ = CurrentRowSchema(detail::row_schema_of(*table.base()));
  if (!values_ && !dict_) fast_ = nb::cast<bool>(nb::module_::import_("elider._schema").attr("is_plain")(type_));
}

std::shared_ptr<const RowPlan> RowCodec::plan() {
  const RowSchema& schema = rows_.row_schema();
  if (plan_ != nullptr && plan_->schema == &schema) [[likely]] return plan_;
  RowPlan plan;
  plan.schema = &schema;
  const auto add = [&](size_t position) {
    const RowColumn& column = schema.column(position);
    nb::object name = steal(PyUnicode_InternFromString(column.name.c_str()));
    plan.columns.push_back({position, column.type, column.nullable, std::move(name), column.name});
  };
  size_t columns = 0;
  for (size_t i = 0; i < schema.columns(); ++i) {
    if (schema.column(i).dropped) continue;
    ++columns;
    if (dict_) add(i);
    else if (std::find(fields_.begin(), fields_.end(), schema.column(i).name) == fields_.end()) plan.missing = schema.column(i).name;
  }
  if (!dict_)
    for (const std::string& field : fields_) {
      const Result<size_t> position = schema.position(field);
      if (!position.ok())
        raise(Code::kSchemaMismatch,
              "table '" + name_ + "': the row type " + shown(type_) + " has the field '" + field + "', but the table lacks this column",
              {.table = name_, .column = field});
      add(*position);
    }
  plan.partial = plan.columns.size() < columns;
  plan_ = std::make_shared<const RowPlan>(std::move(plan));
  return plan_;
}

nb::object RowCodec::decode(const RawView& view) {
  if (values_) return bytes_object({reinterpret_cast<const char*>(view.bytes()), view.size()});
  const auto plan = this->plan();
  const Result<RowReader> row = RowReader::open(*plan->schema, view);
  if (!row.ok()) [[unlikely]] raise(row.status(), {.table = name_});
  return decode(*plan, *row);
}

nb::object RowCodec::decode(std::span<const std::byte> bytes) {
  if (values_) return bytes_object({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const auto plan = this->plan();
  const Result<RowReader> row = RowReader::open(*plan->schema, bytes);
  if (!row.ok()) [[unlikely]] raise(row.status(), {.table = name_});
  return decode(*plan, *row);
}

nb::object RowCodec::decode(const RowPlan& plan, const RowReader& row) {
  if (dict_) {
    nb::object dict = steal(PyDict_New());
    for (const ColumnPlan& column : plan.columns) {
      const nb::object value = get_column(row, name_, column);
      if (PyDict_SetItem(dict.ptr(), column.name.ptr(), value.ptr()) != 0) throw nb::python_error();
    }
    return dict;
  }
  if (fast_) {  // a dataclass whose __init__ only assigns the fields
    PyTypeObject* const type = reinterpret_cast<PyTypeObject*>(type_.ptr());
    nb::object object = steal(PyType_GenericAlloc(type, 0));
    for (const ColumnPlan& column : plan.columns) {
      const nb::object value = get_column(row, name_, column);
      if (PyObject_GenericSetAttr(object.ptr(), column.name.ptr(), value.ptr()) != 0) throw nb::python_error();
    }
    return object;
  }
  nb::object arguments = steal(PyDict_New());
  for (const ColumnPlan& column : plan.columns)
    if (PyDict_SetItem(arguments.ptr(), column.name.ptr(), get_column(row, name_, column).ptr()) != 0) throw nb::python_error();
  nb::object none = steal(PyTuple_New(0));
  return steal(PyObject_Call(type_.ptr(), none.ptr(), arguments.ptr()));
}

std::unique_ptr<RowBuilder> RowCodec::take_builder() {
  if (builders_.empty()) return std::make_unique<RowBuilder>(rows_);
  std::unique_ptr<RowBuilder> builder = std::move(builders_.back());
  builders_.pop_back();
  return builder;
}

void RowCodec::give_back(std::unique_ptr<RowBuilder> builder) {
  if (builders_.size() < 4 && builder->memory_bytes() < 1 << 20) builders_.push_back(std::move(builder));
}

RowCodec::Encoded::~Encoded() {
  if (builder_ != nullptr) codec_.give_back(std::move(builder_));
}

const ColumnPlan& RowCodec::column(const RowPlan& plan, const std::string& name, nb::handle key) {
  for (const ColumnPlan& column : plan.columns)
    if (column.text == name) return column;
  std::string names;
  for (const ColumnPlan& column : plan.columns) names += (names.empty() ? "" : ", ") + column.text;
  raise(Code::kInvalidArgument, "table '" + name_ + "' lacks the column '" + name + "'. Its columns are " + names,
        {.table = name_, .column = name, .key = key});
}

void RowCodec::encode(nb::handle row, nb::handle key, bool replaces, Encoded* to) {
  if (values_) {
    std::string_view bytes;
    if (!bytes_of(row, &bytes, &to->owner_))
      raise(Code::kInvalidArgument, "table '" + name_ + "': rows are bytes, not " + shown(row), {.table = name_, .key = key});
    to->bytes = std::as_bytes(std::span(bytes));
    return;
  }
  const std::shared_ptr<const RowPlan> kept = this->plan();
  const RowPlan& plan = *kept;
  to->builder_ = take_builder();
  RowBuilder& builder = to->builder_->begin();
  if (PyDict_Check(row.ptr()) || dict_) {
    size_t found = 0;
    if (!PyDict_Check(row.ptr()) && !PyMapping_Check(row.ptr()))
      raise(Code::kInvalidArgument, "table '" + name_ + "': a row is a dict of its columns, not " + shown(row), {.table = name_,
          .key = key});
    nb::object copy;
    if (!PyDict_Check(row.ptr())) copy = nb::module_::import_("elider._values").attr("to_dict")(row), row = copy;
    for (const ColumnPlan& column : plan.columns) {
      PyObject* const value = PyDict_GetItemWithError(row.ptr(), column.name.ptr());
      if (value == nullptr) {
        if (PyErr_Occurred()) throw nb::python_error();
        continue;
      }
      ++found;
      set_column(builder, name_, column, nb::borrow(value), key);
    }
    if (found != static_cast<size_t>(PyDict_Size(row.ptr()))) {
      for (nb::handle name : nb::borrow<nb::dict>(row).keys()) {
        if (!nb::isinstance<nb::str>(name))
          raise(Code::kInvalidArgument, "table '" + name_ + "': names of columns are of type str, not " + shown(name), {.table = name_,
              .key = key});
        column(plan, nb::cast<std::string>(name), key);
      }
    }
    if (!dict_ && found < plan.columns.size() + (plan.partial ? 1 : 0) && replaces && plan.partial)
      raise(Code::kSchemaMismatch, "table '" + name_ + "' has the column '" + plan.missing + "', which a put() of this row would lose",
            {.table = name_, .column = plan.missing, .key = key});
  } else {
    const int is = PyObject_IsInstance(row.ptr(), type_.ptr());
    if (is < 0) throw nb::python_error();
    if (is == 0)
      raise(Code::kInvalidArgument, "table '" + name_ + "': a row is a " + nb::cast<std::string>(type_.attr("__name__")) +
          " or a dict, not " +
                                        shown(row), {.table = name_, .key = key});
    if (plan.partial && replaces)
      raise(Code::kSchemaMismatch,
            "table '" + name_ + "' has the column '" + plan.missing + "', which " + nb::cast<std::string>(type_.attr("__name__")) +
                " lacks, so a put() would lose it. Use update(), or open the table with a row type that has the column",
            {.table = name_, .column = plan.missing, .key = key});
    for (const ColumnPlan& column : plan.columns) {
      nb::object value = steal(PyObject_GetAttr(row.ptr(), column.name.ptr()));
      set_column(builder, name_, column, value, key);
    }
  }
  const auto finished = builder.finish();
  if (!finished.ok()) raise(finished.status(), {.table = name_, .key = key});
  to->bytes = *finished;
}

void RowCodec::change(const RawView& old, nb::dict columns, nb::handle key, Encoded* to) {
  if (values_) raise(Code::kInvalidArgument, "table '" + name_ + "': rows are bytes without columns, so use put()", {.table = name_,
      .key = key});
  const std::shared_ptr<const RowPlan> kept = this->plan();
  const RowPlan& plan = *kept;
  const Result<RowReader> row = RowReader::open(*plan.schema, old);
  if (!row.ok()) raise(row.status(), {.table = name_, .key = key});
  to->builder_ = take_builder();
  to->builder_->edit(*row);
  for (auto [name, value] : columns) set_column(*to->builder_, name_, column(plan, nb::cast<std::string>(name), key), value, key);
  const auto finished = to->builder_->finish();
  if (!finished.ok()) raise(finished.status(), {.table = name_, .key = key});
  to->bytes = *finished;
}

}  // namespace elider::python
