// The log record of a newly created table. It contains the schema in tagged fields, so that later
// versions can add fields. docs/formats.md describes the layout.
//
// Decoders do not trust their input. Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elider/schema.h"
#include "elider/status.h"

namespace elider::txn {

// Encodes the schema without the key functions of secondary indexes, which cannot be stored in a
// file.
void encode_table(uint32_t id, const Schema& schema, std::vector<std::byte>* out);
// Decodes a table record. Returns kCorrupt if the bytes are malformed. Returns kUnsupported if the
// table has a property that this program does not support; the message names the table and the
// field.
Status decode_table(std::span<const std::byte> bytes, uint32_t* id, Schema* schema);

}  // namespace elider::txn
