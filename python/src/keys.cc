#include "python/src/keys.h"

#include <cstring>

namespace elider::python {

namespace {

// Objects of Python's modules, which are imported once and kept.
nb::handle kept(PyObject*& slot, const char* module, const char* name) {
  if (slot == nullptr) slot = nb::object(nb::module_::import_(module).attr(name)).release().ptr();
  return slot;
}
PyObject *from_micros_, *to_micros_, *uuid_, *decimal_;

// Adds a value to a tuple, as a descending field if the field is one.
template <class T>
void put(TupleWriter& writer, const T& value, bool descending) {
  if (descending) writer.add(Descending<T>{value});
  else writer.add(value);
}

bool is_signed(KeyFieldType type) { return type >= KeyFieldType::kInt8 && type <= KeyFieldType::kInt64; }

// Takes the current Python error as text.
std::string taken_error() {
  nb::python_error error;
  return error.what();
}

}  // namespace

nb::object from_micros(int64_t micros) { return kept(from_micros_, "elider._values", "from_micros")(micros); }
int64_t to_micros(nb::handle value) { return nb::cast<int64_t>(kept(to_micros_, "elider._values", "to_micros")(value)); }
nb::object from_uuid(const Uuid& uuid) {
  return kept(uuid_, "uuid", "UUID")(nb::arg("bytes") = nb::bytes(uuid.bytes.data(), uuid.bytes.size()));
}
Uuid to_uuid(nb::handle value) {
  if (!PyObject_IsInstance(value.ptr(), kept(uuid_, "uuid", "UUID").ptr())) throw nb::type_error("a uuid.UUID is needed");
  Uuid uuid;
  nb::bytes bytes(value.attr("bytes"));
  std::memcpy(uuid.bytes.data(), bytes.data(), uuid.bytes.size());
  return uuid;
}
nb::object from_decimal(Decimal value) { return kept(decimal_, "decimal", "Decimal")(value.text()); }

nb::object text_object(std::string_view utf8) {
  return steal(PyUnicode_DecodeUTF8(utf8.data(), static_cast<Py_ssize_t>(utf8.size()), nullptr));
}

bool bytes_of(nb::handle value, std::string_view* bytes, nb::object* owner) {
  PyObject* object = value.ptr();
  if (!PyBytes_Check(object)) {
    if (!PyByteArray_Check(object) && !PyMemoryView_Check(object)) return false;
    *owner = steal(PyBytes_FromObject(object));
    object = owner->ptr();
  }
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(object, &data, &size) != 0) throw nb::python_error();
  *bytes = {data, static_cast<size_t>(size)};
  return true;
}

KeyCodec::KeyCodec(std::string table, const std::string& form, std::vector<KeyField> fields)
    : table_(std::move(table)),
      form_(form == "int" ? Form::kNumber : form == "bytes" ? Form::kBytes : form == "str" ? Form::kText : Form::kTuple),
      fields_(std::move(fields)) {}

void KeyCodec::refuse(nb::handle value, const std::string& why) const {
  raise(Code::kInvalidArgument, "table '" + table_ + "': " + why + ", not " + shown(value), {.table = table_, .key = value});
}

void KeyCodec::encode(nb::handle value, EngineKey* key) const {
  PyObject* const object = value.ptr();
  switch (form_) {
    case Form::kNumber: {
      if (PyLong_CheckExact(object)) [[likely]] {
        key->number = PyLong_AsUnsignedLongLong(object);
      } else {
        PyObject* const index = PyBool_Check(object) ? nullptr : PyNumber_Index(object);
        if (index == nullptr) PyErr_Clear(), refuse(value, "keys are of type int");
        key->number = PyLong_AsUnsignedLongLong(index);
        Py_DECREF(index);
      }
      if (key->number == ~Key{0} && PyErr_Occurred()) [[unlikely]]
        PyErr_Clear(), refuse(value, "keys are numbers from 0 to 2**64 - 1 (declare key=(int,) for numbers below 0)");
      return;
    }
    case Form::kBytes: {
      std::string_view bytes;
      if (!bytes_of(value, &bytes, &key->owner)) refuse(value, "keys are of type bytes");
      key->bytes = Bytes(bytes);
      break;
    }
    case Form::kText: {
      if (!PyUnicode_Check(object)) refuse(value, "keys are of type str");
      Py_ssize_t size = 0;
      const char* const utf8 = PyUnicode_AsUTF8AndSize(object, &size);
      if (utf8 == nullptr) PyErr_Clear(), refuse(value, "keys are text that UTF-8 can represent");
      key->bytes = Bytes(std::string_view(utf8, static_cast<size_t>(size)));
      break;
    }
    case Form::kTuple: return encode_tuple(value, key, false);
  }
  if (key->bytes.size() > kKeyBytesMax) [[unlikely]]
    raise(Code::kInvalidArgument, "table '" + table_ + "': a key has at most " + std::to_string(kKeyBytesMax) +
        " bytes, and this one has " +
                                      std::to_string(key->bytes.size()), {.table = table_, .key = value});
}

void KeyCodec::encode_prefix(nb::handle value, EngineKey* key) const {
  if (form_ != Form::kTuple) return encode(value, key);
  encode_tuple(value, key, true);
}

void KeyCodec::encode_tuple(nb::handle value, EngineKey* key, bool prefix) const {
  if (!PyTuple_Check(value.ptr())) refuse(value, "keys are tuples of " + std::to_string(fields_.size()) + " fields, " + text_of(fields_));
  const auto count = static_cast<size_t>(PyTuple_Size(value.ptr()));
  if (count > fields_.size() || (count < fields_.size() && !prefix))
    refuse(value, "keys are tuples of " + std::to_string(fields_.size()) + " fields, " + text_of(fields_));
  TupleWriter writer(key->room);
  for (size_t i = 0; i < count; ++i) {
    const KeyField& field = fields_[i];
    const nb::handle item = PyTuple_GetItem(value.ptr(), static_cast<Py_ssize_t>(i));
    const auto wrong = [&](const std::string& why) {
      refuse(value, "field " + std::to_string(i) + " of the key, " + std::string(name_of(field.type)) + ", " + why);
    };
    if (item.is_none()) {
      if (field.null == KeyFieldNull::kNever) wrong("cannot be None");
      put(writer, std::nullopt, field.null == KeyFieldNull::kLast);
      continue;
    }
    switch (field.type) {
      case KeyFieldType::kBool:
        if (!PyBool_Check(item.ptr())) wrong("must be a bool");
        put(writer, item.ptr() == Py_True, field.descending);
        break;
      case KeyFieldType::kFloat:
      case KeyFieldType::kDouble: {
        const double number = PyUnicode_Check(item.ptr()) ? -1 : PyFloat_AsDouble(item.ptr());
        if (PyUnicode_Check(item.ptr()) || (number == -1 && PyErr_Occurred())) PyErr_Clear(), wrong("must be a number");
        if (field.type == KeyFieldType::kFloat) put(writer, static_cast<float>(number), field.descending);
        else put(writer, number, field.descending);
        break;
      }
      case KeyFieldType::kTimestamp: {
        int64_t micros = 0;
        try {
          micros = to_micros(item);
        } catch (nb::python_error& error) {
          wrong(std::string("must be a datetime with a time zone (") + error.what() + ")");
        }
        put(writer, Timestamp(std::chrono::microseconds(micros)), field.descending);
        break;
      }
      case KeyFieldType::kText: {
        Py_ssize_t size = 0;
        const char* const utf8 = PyUnicode_Check(item.ptr()) ? PyUnicode_AsUTF8AndSize(item.ptr(), &size) : nullptr;
        if (utf8 == nullptr) PyErr_Clear(), wrong("must be text that UTF-8 can represent");
        put(writer, std::string_view(utf8, static_cast<size_t>(size)), field.descending);
        break;
      }
      case KeyFieldType::kBytes: {
        std::string_view bytes;
        nb::object owner;
        if (!bytes_of(item, &bytes, &owner)) wrong("must be bytes");
        put(writer, std::span<const std::byte>(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()), field.descending);
        break;
      }
      case KeyFieldType::kUuid: {
        Uuid uuid;
        try {
          uuid = to_uuid(item);
        } catch (nb::builtin_exception&) {
          wrong("must be a uuid.UUID");
        }
        put(writer, uuid, field.descending);
        break;
      }
      case KeyFieldType::kTuple: wrong("is a nested tuple, which Python's tables do not support"); break;
      default: {
        if (PyBool_Check(item.ptr()) || !PyIndex_Check(item.ptr())) wrong("must be an int");
        nb::object number = steal(PyNumber_Index(item.ptr()));
        if (is_signed(field.type)) {
          const int64_t signed_number = PyLong_AsLongLong(number.ptr());
          if (signed_number == -1 && PyErr_Occurred()) PyErr_Clear(), wrong("cannot represent the number");
          put(writer, signed_number, field.descending);
        } else {
          const uint64_t unsigned_number = PyLong_AsUnsignedLongLong(number.ptr());
          if (unsigned_number == ~uint64_t{0} && PyErr_Occurred()) PyErr_Clear(), wrong("cannot represent the number");
          put(writer, unsigned_number, field.descending);
        }
      }
    }
  }
  const Result<size_t> size = writer.finish();
  if (!size.ok()) refuse(value, "the key cannot be encoded: " + size.status().message());
  key->bytes = Bytes(key->room.data(), *size);
}

nb::object KeyCodec::decode(Bytes key) const {
  if (form_ == Form::kBytes) return bytes_object(key.text());
  if (form_ == Form::kText) {
    PyObject* const text = PyUnicode_DecodeUTF8(key.text().data(), static_cast<Py_ssize_t>(key.size()), nullptr);
    if (text == nullptr) {
      const std::string why = taken_error();
      raise(Code::kInvalidArgument,
            "table '" + table_ + "': the key " + shown(bytes_object(key.text())) + " is not UTF-8. Open the table with key=bytes",
                {.table = table_});
    }
    return nb::steal(text);
  }
  nb::object tuple = steal(PyTuple_New(static_cast<Py_ssize_t>(fields_.size())));
  TupleReader reader(key.span());
  Py_ssize_t i = 0;
  for (TupleField field; reader.next(&field); ++i) {
    nb::object value = nb::none();
    switch (field.type) {
      case TupleType::kBool: value = nb::bool_(field.boolean); break;
      case TupleType::kInteger:
        value = steal(field.negative ? PyLong_FromLongLong(field.as_int64()) : PyLong_FromUnsignedLongLong(field.integer));
        break;
      case TupleType::kFloat: value = nb::float_(field.number32); break;
      case TupleType::kDouble: value = nb::float_(field.number); break;
      case TupleType::kTimestamp: value = from_micros(field.timestamp.time_since_epoch().count()); break;
      case TupleType::kText: value = text_object(field.text); break;
      case TupleType::kBytes: value = bytes_object(field.text); break;
      case TupleType::kUuid: value = from_uuid(field.uuid); break;
      default: break;
    }
    if (i >= static_cast<Py_ssize_t>(fields_.size())) break;
    PyTuple_SetItem(tuple.ptr(), i, value.release().ptr());
  }
  check(reader.status(), {.table = table_});
  return tuple;
}

std::vector<KeyField> key_fields_of(nb::handle description) {
  std::vector<KeyField> fields;
  for (nb::handle item : description) {
    KeyField field;
    const auto name = nb::cast<std::string>(item[0]);
    bool found = false;
    for (size_t type = 0; type + 1 < kKeyFieldTypes; ++type)
      if (name_of(static_cast<KeyFieldType>(type)) == name) field.type = static_cast<KeyFieldType>(type), found = true;
    if (!found) raise(Code::kInvalidArgument, "a key cannot have a field of the type '" + name + "'");
    field.descending = nb::cast<bool>(item[1]);
    if (nb::cast<bool>(item[2])) field.null = field.descending ? KeyFieldNull::kLast : KeyFieldNull::kFirst;
    fields.push_back(field);
  }
  return fields;
}

nb::object described(const std::vector<KeyField>& fields) {
  nb::list list;
  for (const KeyField& field : fields)
    list.append(nb::make_tuple(nb::cast(std::string(name_of(field.type))), field.descending, field.null != KeyFieldNull::kNever));
  return list;
}

}  // namespace elider::python
