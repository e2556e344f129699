// Numbers: arithmetic on a column whose type is known only at run time.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/racy.h"
#include "elider/schema.h"

namespace elider::storage {

inline bool is_number(ColumnType type) { return type != ColumnType::kBytes; }

// Calls f with a value of the column's type. Does nothing if the type is kBytes.
template <class F>
void with_number_type(ColumnType type, F&& f) {
  switch (type) {
    case ColumnType::kInt8: f(int8_t{}); break;
    case ColumnType::kInt16: f(int16_t{}); break;
    case ColumnType::kInt32: f(int32_t{}); break;
    case ColumnType::kInt64: f(int64_t{}); break;
    case ColumnType::kUInt8: f(uint8_t{}); break;
    case ColumnType::kUInt16: f(uint16_t{}); break;
    case ColumnType::kUInt32: f(uint32_t{}); break;
    case ColumnType::kUInt64: f(uint64_t{}); break;
    case ColumnType::kFloat: f(float{}); break;
    case ColumnType::kDouble: f(double{}); break;
    case ColumnType::kBytes: break;
  }
}

// Computes *to = *value + *delta. All three are numbers of this type at any alignment. Integers
// wrap around.
inline void add_numbers(ColumnType type, void* to, const void* value, const void* delta) {
  with_number_type(type, [&](auto zero) {
    using T = decltype(zero);
    T a, b;
    std::memcpy(&a, value, sizeof(T));
    std::memcpy(&b, delta, sizeof(T));
    T sum;
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      sum = static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
    } else {
      sum = a + b;
    }
    std::memcpy(to, &sum, sizeof(T));
  });
}

// Adds to a number in a row's payload. The caller must hold the cell's lock.
inline void add_to_payload(ColumnType type, void* shared, const void* delta) {
  with_number_type(type, [&](auto zero) {
    auto sum = zero;
    add_numbers(type, &sum, shared, delta);
    racy_copy_out(shared, &sum, sizeof sum);
  });
}

inline uint32_t number_bytes(ColumnType type) {
  uint32_t bytes = 0;
  with_number_type(type, [&](auto zero) { bytes = sizeof(zero); });
  return bytes;
}

}  // namespace elider::storage
