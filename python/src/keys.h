// KeyCodec: keys as Python values, and as the engine stores them.
//
//   int    a number from 0 to 2^64 - 1
//   bytes  a byte string
//   str    a byte string, which is the text in UTF-8
//   tuple  an encoded tuple (elider/tuple.h)
#pragma once

#include <array>
#include <string>
#include <vector>

#include "python/src/core.h"

namespace elider::python {

// A key in the engine's format. It refers to the Python object that it was made from.
struct EngineKey {
  Key number = 0;
  Bytes bytes;
  nb::object owner;
  std::array<std::byte, kKeyBytesMax> room;
  EngineKey() {}  // NOLINT: the room is not initialized
};

class KeyCodec {
 public:
  enum class Form : uint8_t { kNumber, kBytes, kText, kTuple };

  // `form` is "int", "bytes", "str" or "tuple"; `fields` are those of a tuple.
  KeyCodec(std::string table, const std::string& form, std::vector<KeyField> fields);

  bool numbers() const { return form_ == Form::kNumber; }
  Form form() const { return form_; }
  const std::vector<KeyField>& fields() const { return fields_; }

  // Raises InvalidArgument if the value is not a key of the table.
  void encode(nb::handle value, EngineKey* key) const;
  // Encodes the first fields of a tuple, or the first bytes of another byte key.
  void encode_prefix(nb::handle value, EngineKey* key) const;
  nb::object decode(Bytes key) const;
  static nb::object decode(Key key) { return steal(PyLong_FromUnsignedLongLong(key)); }

 private:
  void encode_tuple(nb::handle value, EngineKey* key, bool prefix) const;
  [[noreturn]] void refuse(nb::handle value, const std::string& why) const;
  std::string table_;
  Form form_;
  std::vector<KeyField> fields_;
};

// A list of ("type", descending, nullable) describes the fields of a tuple key.
std::vector<KeyField> key_fields_of(nb::handle description);
// Describes fields in this form.
nb::object described(const std::vector<KeyField>& fields);

// Values of single columns and fields. from_micros() and the like return Python's datetime, Decimal
// and UUID.
nb::object from_micros(int64_t micros);
int64_t to_micros(nb::handle value);  // raises TypeError, ValueError
nb::object from_uuid(const Uuid& uuid);
Uuid to_uuid(nb::handle value);       // raises TypeError
nb::object from_decimal(Decimal value);
nb::object text_object(std::string_view utf8);  // raises UnicodeDecodeError
inline nb::object bytes_object(std::string_view bytes) {
  return steal(PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
}
// Returns the bytes of a bytes object, or of another object with a buffer, of which `owner` keeps a
// copy. Returns false for other objects.
bool bytes_of(nb::handle value, std::string_view* bytes, nb::object* owner);

}  // namespace elider::python
