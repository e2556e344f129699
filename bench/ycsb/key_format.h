// KeyFormat: the form in which a YCSB table stores its keys. YCSB chooses keys as 64-bit numbers
// (bench/ycsb/key_chooser.h). A table stores either the numbers or byte keys that are made from
// them. Each byte key contains its number, so that a scan can check its rows.
//
//   bytes  the number in 8 bytes, most significant first, followed by bytes that depend on it
//   tuple  (number / 100, number % 100), so that 100 keys share their first field
//   uuid   a hash of the number in 8 bytes, followed by the number
//   url    https://www.example.com/shop/<16 digits>/item-<20 digits>.html
//
// Except for uuid, byte keys are sorted like their numbers. Thread safety: constant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "elider/byte_key.h"
#include "elider/key.h"
#include "elider/schema.h"
#include "elider/status.h"

namespace elider::bench {

enum class KeyForm : uint8_t { kNumber, kBytes, kTuple, kUuid, kUrl };
const char* name_of(KeyForm form);

class KeyFormat {
 public:
  static constexpr uint32_t kBytesMin = 8, kBytesMax = 256;  // of a byte key

  // `bytes` is the size of a key of the form kBytes, from kBytesMin to kBytesMax.
  explicit KeyFormat(KeyForm form = KeyForm::kNumber, uint32_t bytes = 0) : form_(form), bytes_(bytes) {}

  bool is_number() const { return form_ == KeyForm::kNumber; }
  // Whether the keys are sorted like their numbers.
  bool sorted() const { return form_ != KeyForm::kUuid; }
  uint32_t bytes() const { return bytes_; }
  // Sets the kind of the keys in the schema.
  void describe(Schema* schema) const;
  // Writes the byte key of this number to `to`, which has kBytesMax bytes.
  Bytes key_of(Key number, std::byte* to) const;
  // Returns operation(key), where `key` is the number or its byte key as Bytes.
  template <class Operation>
  [[gnu::always_inline]] inline Status with_key(Key number, Operation&& operation) const {
    if (is_number()) [[likely]] return operation(number);
    return with_byte_key(number, operation);
  }
  // Returns the number of a byte key, or kKeyMax if it is not a key of this form.
  Key number_of(Bytes key) const;

 private:
  // A separate function, so that its buffer does not enlarge the stack frame for number keys.
  template <class Operation>
  [[gnu::noinline]] Status with_byte_key(Key number, Operation& operation) const {
    std::byte memory[kBytesMax];
    return operation(key_of(number, memory));
  }

  KeyForm form_;
  uint32_t bytes_;
};

}  // namespace elider::bench
