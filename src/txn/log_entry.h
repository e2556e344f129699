// LogEntry: one write of a commit to one column group of a row, as encoded in a log record.
// docs/formats.md describes the layout.
//
// Decoders do not trust their input; if the input is malformed, they return false. Thread safety:
// pure functions.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "elider/byte_key.h"
#include "elider/schema.h"

namespace elider::txn {

// The first byte of a record.
enum class RecordKind : uint8_t {
  kCommit = 1,
  kUntaggedTable = 2,  // occurs only in old files; no longer written
  kTable = 3,          // table_record.h
};

enum class EntryKind : uint8_t {
  kColumns = 0,  // the bytes of some columns, which `columns` lists
  kWhole = 1,    // the whole group; the row exists
  kRemove = 2,   // the row does not exist
  kAdd = 3,      // column += delta
};

struct LogEntry {
  EntryKind kind = EntryKind::kWhole;
  uint32_t group = 0;
  uint32_t table = 0;
  bool byte_key = false;           // the key is key_bytes() instead of `key`
  uint32_t key_size = 0;
  Key key = 0;
  uint64_t version_number = 0;           // orders the entries of a row's column group
  uint64_t columns = 0;            // kColumns: one bit per column; kAdd: the column's offset in the row; else 0
  std::span<const std::byte> bytes;  // kAdd: the delta, 8 bytes
  bool valid = false;              // false before the first entry of a record is decoded
  std::byte key_memory[kKeyBytesMax];

  LogEntry() {}  // NOLINT: the key's memory remains uninitialized
  elider::Bytes key_bytes() const { return {key_memory, key_size}; }
};
// The maximum size of an entry's header. It includes the bytes after the header that put_varint()
// may overwrite.
inline constexpr size_t kEntryHeaderBytesMax = 1 + 5 + 10 + 10 + 10 + 5 + 7;
// A flag in an entry's first byte. The kind, group, table, columns and size equal those of the
// previous entry and are left out. A number key is encoded as the distance from the previous
// entry's key.
inline constexpr uint32_t kLikeBefore = 0x10;
// A flag in an entry's first byte. The key is a byte key. It is encoded as the length of the prefix
// that it shares with the record's previous byte key, the length of the rest, and the bytes of the
// rest.
inline constexpr uint32_t kByteKey = 0x20;
// An upper bound on the encoded size of a byte key's two lengths.
inline constexpr size_t kKeyLengthsBytesMax = 2 * 3;

// Encodes `value` with 7 bits per byte, lowest bits first. The high bit of a byte means that
// another byte follows. Returns the end of the encoded number. May overwrite up to 7 bytes after
// that end, so the caller must write its data in ascending order.
inline std::byte* put_varint(std::byte* to, uint64_t value) {
  if (value < 0x80) [[likely]] {
    *to = static_cast<std::byte>(value);
    return to + 1;
  }
  if (value < uint64_t{1} << 56) [[likely]] {
    const auto count = static_cast<uint32_t>(std::bit_width(value) + 6) / 7;
    uint64_t spread = (value & 0x00fffffff0000000) << 4 | (value & 0x000000000fffffff);
    spread = (spread & 0x0fffc0000fffc000) << 2 | (spread & 0x00003fff00003fff);
    spread = (spread & 0x3f803f803f803f80) << 1 | (spread & 0x007f007f007f007f);
    spread |= 0x8080808080808080 & ((uint64_t{1} << (8 * count - 8)) - 1);
    std::memcpy(to, &spread, sizeof spread);
    return to + count;
  }
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

// Maps distances that are small in either direction to small numbers (zigzag encoding).
inline uint64_t fold_sign(uint64_t distance) { return distance << 1 ^ (0 - (distance >> 63)); }
inline uint64_t unfold_sign(uint64_t folded) { return folded >> 1 ^ (0 - (folded & 1)); }

// Writes the entries of one record in sequence. Leaves out the properties that an entry shares with
// the previous entry.
class EntryWriter {
 public:
  explicit EntryWriter(std::byte* to) : to_(to) {}

  // Writes the entry's header. The caller then writes the contents, `bytes` bytes, with put().
  // `columns` has the same meaning as in LogEntry.
  void header(EntryKind kind, uint32_t group, uint32_t table, Key key, uint64_t version_number, uint64_t columns, size_t bytes) {
    const uint64_t shape = static_cast<uint64_t>(kind) | group << 2 | uint64_t{table} << 8;
    if (shape == shape_ && columns == columns_ && bytes == bytes_) {
      *to_++ = static_cast<std::byte>(shape | kLikeBefore);
      to_ = put_varint(to_, fold_sign(key - key_));
      to_ = put_varint(to_, version_number);
    } else {
      *to_++ = static_cast<std::byte>(shape);
      to_ = put_varint(to_, table);
      to_ = put_varint(to_, key);
      to_ = put_varint(to_, version_number);
      if (kind == EntryKind::kColumns || kind == EntryKind::kAdd) to_ = put_varint(to_, columns);
      if (kind != EntryKind::kRemove) to_ = put_varint(to_, bytes);
      shape_ = shape;
      columns_ = columns;
      bytes_ = bytes;
    }
    key_ = key;
  }
  // Writes the header of an entry with a byte key. The key must remain valid until the whole record
  // is written.
  void header(EntryKind kind, uint32_t group, uint32_t table, elider::Bytes key, uint64_t version_number, uint64_t columns, size_t bytes) {
    const uint64_t shape = static_cast<uint64_t>(kind) | group << 2 | kByteKey | uint64_t{table} << 8;
    const bool like = shape == shape_ && columns == columns_ && bytes == bytes_;
    *to_++ = static_cast<std::byte>(shape | (like ? kLikeBefore : 0));
    if (!like) to_ = put_varint(to_, table);
    size_t shared = 0;
    const size_t both = std::min(key.size(), key_bytes_.size());
    while (shared < both && key.data()[shared] == key_bytes_.data()[shared]) ++shared;
    to_ = put_varint(to_, shared);
    to_ = put_varint(to_, key.size() - shared);
    if (key.size() != shared) std::memcpy(to_, key.data() + shared, key.size() - shared);
    to_ += key.size() - shared;
    to_ = put_varint(to_, version_number);
    if (!like && (kind == EntryKind::kColumns || kind == EntryKind::kAdd)) to_ = put_varint(to_, columns);
    if (!like && kind != EntryKind::kRemove) to_ = put_varint(to_, bytes);
    shape_ = shape;
    columns_ = columns;
    bytes_ = bytes;
    key_bytes_ = key;
  }
  // Appends a part of the entry's bytes. Parts are short, so an inline copy is faster than a call
  // to memcpy().
  void put(const std::byte* from, size_t size) {
    std::byte* to = to_;
    size_t at = 0;
    for (; at + 16 <= size; at += 16) std::memcpy(to + at, from + at, 16);
    if (size & 8) std::memcpy(to + at, from + at, 8), at += 8;
    if (size & 4) std::memcpy(to + at, from + at, 4), at += 4;
    for (; at < size; ++at) to[at] = from[at];
    to_ = to + size;
  }
  std::byte* end() const { return to_; }

 private:
  std::byte* to_;
  uint64_t shape_ = ~uint64_t{0};  // kind, group and table of the previous entry; initially not valid
  uint64_t columns_ = 0;
  size_t bytes_ = 0;
  Key key_ = 0;
  elider::Bytes key_bytes_;  // the last byte key
};

// Decodes a byte key and removes it from *from. On entry, *entry contains the previous byte key of
// the record. Returns false if the bytes are malformed.
inline bool take_byte_key(std::span<const std::byte>* from, LogEntry* entry) {
  uint64_t shared = 0, rest = 0;
  if (!take_varint(from, &shared) || !take_varint(from, &rest)) return false;
  if (shared > entry->key_size || rest > kKeyBytesMax - shared || rest > from->size()) return false;
  if (rest != 0) std::memcpy(entry->key_memory + shared, from->data(), rest);
  entry->key_size = static_cast<uint32_t>(shared + rest);
  *from = from->subspan(rest);
  return true;
}

// Decodes the next entry and removes it from *from. On entry, *entry contains the previous entry,
// or an invalid one at the start of a record. Returns false if the bytes are malformed.
inline bool take_entry(std::span<const std::byte>* from, LogEntry* entry) {
  if (from->empty()) return false;
  const auto first = static_cast<uint32_t>(from->front());
  *from = from->subspan(1);
  const auto kind = static_cast<EntryKind>(first & 3);
  const uint32_t group = first >> 2 & 3;
  static_assert(kColumnGroupsMax == 4);
  uint64_t table = entry->table, bytes = entry->bytes.size();
  const bool byte_key = (first & kByteKey) != 0;
  const uint32_t like = static_cast<uint32_t>(entry->kind) | entry->group << 2 | kLikeBefore | (entry->byte_key ? kByteKey : 0);
  if (first == like && entry->valid) {
    uint64_t folded = 0;
    if (byte_key ? !take_byte_key(from, entry) : !take_varint(from, &folded)) return false;
    if (!take_varint(from, &entry->version_number)) return false;
    entry->key += unfold_sign(folded);
  } else {
    if ((first & ~kByteKey) >= kLikeBefore) return false;
    if (!take_varint(from, &table) || table > ~uint32_t{0}) return false;
    if (byte_key ? !take_byte_key(from, entry) : !take_varint(from, &entry->key)) return false;
    if (!take_varint(from, &entry->version_number)) return false;
    entry->columns = 0;
    if ((kind == EntryKind::kColumns || kind == EntryKind::kAdd) && !take_varint(from, &entry->columns)) return false;
    bytes = 0;
    if (kind != EntryKind::kRemove && !take_varint(from, &bytes)) return false;
  }
  if (bytes > from->size()) return false;
  entry->kind = kind;
  entry->group = group;
  entry->byte_key = byte_key;
  entry->table = static_cast<uint32_t>(table);
  entry->bytes = from->first(bytes);
  entry->valid = true;
  *from = from->subspan(bytes);
  return true;
}

}  // namespace elider::txn
