// LogEntry: what a commit wrote to one commit group of a row, as the bytes of a log record, and the schema of
// a table that was made. docs/formats.md has the layout.
//
// Decoders trust nothing: what does not fit gives false. Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "elider/schema.h"

namespace elider::txn {

// The first byte of a record.
enum class RecordKind : uint8_t { kCommit = 1, kTable = 2 };

enum class EntryKind : uint8_t {
  kColumns = 0,  // some columns, as `columns` says: their bytes
  kWhole = 1,    // the whole group; the row is there
  kRemove = 2,   // the row is not there
  kAdd = 3,      // column += delta
};

struct LogEntry {
  EntryKind kind = EntryKind::kWhole;
  uint32_t group = 0;
  uint32_t table = 0;
  Key key = 0;
  uint64_t sequence = 0;           // of the commit word; entries of one group of one key are in this order
  uint64_t columns = 0;            // kColumns: a bit each; kAdd: the column's offset in the row
  std::span<const std::byte> bytes;  // kAdd: the delta, 8 bytes
};
// An entry without its bytes is at most so large.
inline constexpr size_t kEntryHeaderBytesMax = 1 + 5 + 10 + 10 + 10 + 5;

// Numbers of 7 bits a byte, the lowest first; the high bit says that more follow.
inline std::byte* put_varint(std::byte* to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<std::byte>(value | 0x80);
  *to++ = static_cast<std::byte>(value);
  return to;
}
inline bool take_varint(std::span<const std::byte>* from, uint64_t* value) {
  *value = 0;
  for (uint32_t shift = 0; shift < 64 && !from->empty(); shift += 7) {
    const auto byte = static_cast<uint64_t>(from->front());
    *from = from->subspan(1);
    *value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// All but the bytes, which follow; their count stands in front of them.
inline std::byte* put_entry_header(std::byte* to, const LogEntry& entry, size_t bytes) {
  *to++ = static_cast<std::byte>(static_cast<uint32_t>(entry.kind) | entry.group << 2);
  to = put_varint(to, entry.table);
  to = put_varint(to, entry.key);
  to = put_varint(to, entry.sequence);
  if (entry.kind == EntryKind::kColumns || entry.kind == EntryKind::kAdd) to = put_varint(to, entry.columns);
  return entry.kind == EntryKind::kRemove ? to : put_varint(to, bytes);
}

// Takes the first entry off *from. False: it does not fit.
inline bool take_entry(std::span<const std::byte>* from, LogEntry* entry) {
  if (from->empty()) return false;
  const auto first = static_cast<uint32_t>(from->front());
  *from = from->subspan(1);
  uint64_t table = 0, bytes = 0;
  if (first >> 2 >= kCommitGroupsMax) return false;
  entry->kind = static_cast<EntryKind>(first & 3);
  entry->group = first >> 2;
  entry->columns = 0;
  if (!take_varint(from, &table) || table > ~uint32_t{0} || !take_varint(from, &entry->key) || !take_varint(from, &entry->sequence)) return false;
  if ((entry->kind == EntryKind::kColumns || entry->kind == EntryKind::kAdd) && !take_varint(from, &entry->columns)) return false;
  if (entry->kind != EntryKind::kRemove && !take_varint(from, &bytes)) return false;
  if (bytes > from->size()) return false;
  entry->table = static_cast<uint32_t>(table);
  entry->bytes = from->first(bytes);
  *from = from->subspan(bytes);
  return true;
}

// Without the key functions of its secondary indexes, which no file can hold.
void encode_table(uint32_t id, const Schema& schema, std::vector<std::byte>* out);
bool decode_table(std::span<const std::byte> bytes, uint32_t* id, Schema* schema);

}  // namespace elider::txn
