// The record of a table that was made: its schema as bytes, in tagged fields, so that later
// versions can add to it. docs/formats.md has the layout.
//
// Decoders trust nothing. Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elider/schema.h"
#include "elider/status.h"

namespace elider::txn {

// Without the key functions of its secondary indexes, which no file can hold.
void encode_table(uint32_t id, const Schema& schema, std::vector<std::byte>* out);
// kCorrupt: it does not fit. kUnsupported: the table has something that this program does not know;
// the message names the table and the field.
Status decode_table(std::span<const std::byte> bytes, uint32_t* id, Schema* schema);

}  // namespace elider::txn
