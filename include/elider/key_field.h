// KeyField: describes one field of a table's tuple keys (Schema::key_fields).
// Thread safety: values and pure functions.
#pragma once

#include "elider/language.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "elider/status.h"

namespace elider {

// The values that a field of a tuple key accepts. The encoding of an integer does not contain its
// width, so an integer type only limits the range of values.
enum class KeyFieldType : uint8_t {
  kBool, kInt8, kInt16, kInt32, kInt64, kUInt8, kUInt16, kUInt32, kUInt64, kFloat, kDouble, kTimestamp, kText, kBytes, kUuid,
  kTuple,  // a nested tuple, whose fields are KeyField::fields
};
inline constexpr size_t kKeyFieldTypes = 16;
std::string_view name_of(KeyFieldType type);  // "bool", "int32", "text", ...

// Whether a field can be null, and where null sorts.
enum class KeyFieldNull : uint8_t {
  kNever,
  kFirst,  // null sorts before all other values
  kLast,   // null sorts after all other values
};

struct KeyField {
  KeyFieldType type = KeyFieldType::kUInt64;
  bool descending = false;
  KeyFieldNull null = KeyFieldNull::kNever;
  std::vector<KeyField> fields = {};  // only for kTuple
  friend bool operator==(const KeyField&, const KeyField&) = default;
};

// The maximum number of fields in a key, including the fields of nested tuples.
inline constexpr size_t kKeyFieldsMax = 64;

// Checks that the fields can describe a key: at least one field, known types, and limits.
//   kInvalidArgument  the message says what is wrong
Status check_key_fields(std::span<const KeyField> fields);
// Checks that the bytes are an encoded tuple with these fields.
//   kInvalidArgument  the message names the field, or the offset if the bytes are not a tuple
Status check_tuple_key(std::span<const KeyField> fields, std::span<const std::byte> key);
// Like check_tuple_key(), but the tuple may have fewer fields, and its last field may be the
// beginning of a text (elider::StartsWith), of which only the type is checked.
Status check_tuple_prefix(std::span<const KeyField> fields, std::span<const std::byte> prefix);
// Prints the types of the fields: (uint32, text, timestamp desc or null last).
std::string text_of(std::span<const KeyField> fields);

}  // namespace elider
