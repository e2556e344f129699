// Tables whose keys are tuples: Table<Row, std::tuple<...>>.
//
//   using OrderKey = std::tuple<uint32_t, uint32_t, elider::Descending<uint64_t>>;
//   auto orders = db.create_table(elider::SchemaOf<Order, OrderKey>("orders"));
//   txn.get(*orders, {warehouse, district, elider::Descending{number}});
//   txn.scan(*orders, elider::prefix(warehouse, district), {},
//            [&](const OrderKey& key, const auto& order) { ... });
//
// A key is the encoded tuple (elider/tuple.h), so keys are sorted like tuples. A field may be bool,
// an integer, an enumeration, float, double, Timestamp, Uuid, std::string, std::vector<std::byte>,
// a nested std::tuple, or std::optional or Descending of these. A call that takes a key also
// accepts std::string_view for std::string, and Bytes for std::vector<std::byte>, so it does not
// allocate memory. It accepts integers of any type, and returns kInvalidArgument if the field's
// type cannot represent the value. A scan decodes each key for its visitor, which allocates memory
// for strings.
//
// The table's schema contains the types of the fields (Schema::key_fields), and the files store
// them. A program that opens the table with another key type gets kSchemaMismatch. Calls without a
// row type (TableRef) take encoded tuples, and refuse bytes that are not a key of this type
// (kInvalidArgument). Thread safety: values and pure functions.
#pragma once

#include "elider/language.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "elider/byte_key.h"
#include "elider/key_field.h"
#include "elider/tuple.h"

namespace elider {

namespace detail {

// The type in which a call takes a key field of type T.
template <class T>
struct KeyArgumentOf {
  using type = T;
};
template <TupleNumber T>
struct KeyArgumentOf<T> {
  using type = CheckedInteger<T>;
};
template <>
struct KeyArgumentOf<std::string> {
  using type = std::string_view;
};
template <>
struct KeyArgumentOf<std::vector<std::byte>> {
  using type = Bytes;
};
template <class T>
struct KeyArgumentOf<Descending<T>> {
  using type = Descending<typename KeyArgumentOf<T>::type>;
};
template <class T>
struct KeyArgumentOf<std::optional<T>> {
  using type = std::optional<typename KeyArgumentOf<T>::type>;
};
template <class... Ts>
struct KeyArgumentOf<std::tuple<Ts...>> {
  using type = std::tuple<typename KeyArgumentOf<Ts>::type...>;
};

template <class T>
constexpr KeyFieldType key_field_type() {
  if constexpr (TupleEnum<T>) return key_field_type<std::underlying_type_t<T>>();
  else if constexpr (std::same_as<T, bool>) return KeyFieldType::kBool;
  else if constexpr (TupleNumber<T> && std::is_signed_v<T>)
    return sizeof(T) == 1   ? KeyFieldType::kInt8
           : sizeof(T) == 2 ? KeyFieldType::kInt16
           : sizeof(T) == 4 ? KeyFieldType::kInt32
                            : KeyFieldType::kInt64;
  else if constexpr (TupleNumber<T>)
    return sizeof(T) == 1   ? KeyFieldType::kUInt8
           : sizeof(T) == 2 ? KeyFieldType::kUInt16
           : sizeof(T) == 4 ? KeyFieldType::kUInt32
                            : KeyFieldType::kUInt64;
  else if constexpr (std::same_as<T, float>) return KeyFieldType::kFloat;
  else if constexpr (std::same_as<T, double>) return KeyFieldType::kDouble;
  else if constexpr (std::same_as<T, Timestamp>) return KeyFieldType::kTimestamp;
  else if constexpr (std::same_as<T, Uuid>) return KeyFieldType::kUuid;
  else if constexpr (std::same_as<T, std::string>) return KeyFieldType::kText;
  else if constexpr (std::same_as<T, std::vector<std::byte>>) return KeyFieldType::kBytes;
  else {
    static_assert(kIsTuple<T>,
                  "a field of a tuple key is a bool, an integer, an enumeration, a float, a double, an elider::Timestamp, an elider::Uuid, "
                  "a std::string, a std::vector<std::byte>, a std::tuple, or std::optional or elider::Descending of these");
    return KeyFieldType::kTuple;
  }
}

template <class T>
struct KeyFieldOf {
  static KeyField field() { return {.type = key_field_type<T>()}; }
};
template <class... Ts>
struct KeyFieldOf<std::tuple<Ts...>> {
  static KeyField field() { return {.type = KeyFieldType::kTuple, .fields = {KeyFieldOf<Ts>::field()...}}; }
};
template <class T>
struct KeyFieldOf<Descending<T>> {
  static KeyField field() {
    KeyField field = KeyFieldOf<T>::field();
    field.descending = !field.descending;
    if (field.null != KeyFieldNull::kNever) field.null = field.null == KeyFieldNull::kFirst ? KeyFieldNull::kLast : KeyFieldNull::kFirst;
    return field;
  }
};
template <class T>
inline constexpr bool kCanBeNull = false;
template <class T>
inline constexpr bool kCanBeNull<std::optional<T>> = true;
template <class T>
inline constexpr bool kCanBeNull<Descending<T>> = kCanBeNull<T>;
template <class T>
struct KeyFieldOf<std::optional<T>> {
  static_assert(!kCanBeNull<T>, "a field has only one null");
  static KeyField field() {
    KeyField field = KeyFieldOf<T>::field();
    field.null = KeyFieldNull::kFirst;
    return field;
  }
};

template <class... Fields>
struct KeyFace<std::tuple<Fields...>> {
  static_assert(sizeof...(Fields) > 0, "a tuple key has at least one field");
  static_assert(kTupleDepth<std::tuple<Fields...>> <= kTupleDepthMax + 1, "tuples nest too deeply");
  using Tuple = std::tuple<Fields...>;
  using Argument = typename KeyArgumentOf<Tuple>::type;

  static Result<size_t> encode(const Argument& key, std::span<std::byte> to) { return encode_tuple(to, key); }
  // Every key of the table has been checked against the types of the fields.
  static Tuple given(KeyRef key) { return *decode_tuple<Tuple>(bytes_of(key).span()); }
  static std::vector<KeyField> fields() { return {KeyFieldOf<Fields>::field()...}; }
};

}  // namespace detail

template <class... Fields>
ByteRange ByteRange::after(const std::tuple<Fields...>& key) const {
  EncodedTuple encoded;
  Status status = encoded.set_tuple(key);
  ByteRange rest = after(Bytes(encoded.bytes()));
  if (!status.ok()) rest.refusal_ = status;
  return rest;
}
template <class... Fields>
ByteRange ByteRange::before(const std::tuple<Fields...>& key) const {
  EncodedTuple encoded;
  Status status = encoded.set_tuple(key);
  ByteRange rest = before(Bytes(encoded.bytes()));
  if (!status.ok()) rest.refusal_ = status;
  return rest;
}

static_assert(kTupleBytesMax == kKeyBytesMax, "every encoded tuple is a key, and every tuple key is decoded");

}  // namespace elider
