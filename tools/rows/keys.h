// Keys as text, keys that are read from text, and ranges of keys.
//
//   keys of the table   text
//   numbers             17
//   byte strings        the key itself if it is text without control characters, and does not begin
//                       with 0x or a quotation mark; otherwise 0x01ff. "..." with the escapes \",
//                       \\ and \xNN is also read
//   tuples              as elider::tuple_to_text() prints them: ("eu", 17, -1.5, null, 0xff). The
//                       types come from the table, so `desc`, and f after a float, may be left out
//
// Each text is read as the key that it was written for.
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "elider/byte_key.h"
#include "elider/key.h"
#include "elider/schema.h"
#include "elider/status.h"
#include "elider/table.h"

namespace elider::tools {

// A key of a table: a number, or bytes, which may refer to memory of the table or of an OwnedKey.
struct RowKey {
  Key number = 0;
  Bytes bytes;
};
struct OwnedKey {
  Key number = 0;
  OwnedBytes bytes;
  RowKey key() const { return {number, bytes.bytes()}; }
};

std::string key_type_name(const Schema& schema);  // "number", "bytes", "(text, uint32)"

void append_key_text(std::string& out, const Schema& schema, const RowKey& key);
// A number, or a string that contains the text.
void append_key_json(std::string& out, const Schema& schema, const RowKey& key);
std::string key_text(const Schema& schema, const RowKey& key);

// Reads a key.
//   kInvalidArgument  the text is not a key of this table; the message gives an example
Result<OwnedKey> parse_key(const Schema& schema, std::string_view text);

// What a command was asked to read: keys from, to and with a prefix, each as text. If a key is a
// tuple, `from` and `to` may have fewer fields than the table's keys; `to` then includes all keys
// that begin with these fields.
struct KeyBounds {
  std::optional<std::string> from, to, prefix;
};
using RowRange = std::variant<KeyRange, ByteRange>;
//   kInvalidArgument  a key is malformed, or `prefix` is combined with the others or used with
//                     number keys
Result<RowRange> parse_range(const Schema& schema, const KeyBounds& bounds);

}  // namespace elider::tools
