// The log record of a table that is created, changed or dropped. It contains the schema in tagged
// fields, so that later versions can add fields. docs/formats.md describes the layout.
//
// Decoders do not trust their input. Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "elider/schema.h"
#include "elider/status.h"

namespace elider::txn {

struct TableRecord {
  uint32_t id = 0;
  // How often the schema has been changed since the table was created. Among the records of a
  // table, the one with the highest version counts.
  uint32_t version = 0;
  bool dropped = false;  // the schema then contains only the table's name
  bool indexes_changed = false;  // the version before had other secondary indexes
  Schema schema;
};

// Encodes a table without the key functions of its secondary indexes, which cannot be stored in a
// file.
void encode_table(uint32_t id, const Schema& schema, std::vector<std::byte>* out, uint32_t version = 0,
                  bool indexes_changed = false);
void encode_dropped_table(uint32_t id, const std::string& name, std::vector<std::byte>* out, uint32_t version);
// Decodes a table record. Returns kCorrupt if the bytes are malformed. Returns kUnsupported if the
// table has a property that this program does not support; the message names the table and the
// field.
Status decode_table(std::span<const std::byte> bytes, TableRecord* record);

}  // namespace elider::txn
