// TableBase: the schema, the layout and the counters of a table, without its indexes. This header
// also declares the functions that check schemas. Thread safety: constant, except for the atomics
// and the versions of the schema.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/memory.h"
#include "elider/schema.h"
#include "elider/snapshot_number.h"
#include "elider/status.h"
#include "elider/table.h"
#include "storage/inline_rows.h"
#include "storage/layout.h"
#include "storage/record.h"
#include "storage/schema_versions.h"
#include "storage/zones.h"

namespace elider::storage {

// Returns true if the schema has secondary indexes that are not by columns and lack their key
// functions, as in schemas that are read from files. A table with such a schema can store rows, but
// lacks all its secondary indexes.
inline bool lacks_key_functions(const Schema& schema) {
  return std::any_of(schema.indexes.begin(), schema.indexes.end(), [](const SecondaryIndex& i) { return !i.by_columns && !i.key; });
}
// Checks a schema. If `may_lack` is true, its indexes may lack key functions.
//   kInvalidArgument  the schema is invalid; the message says why
Status check_schema(const Schema& schema, bool may_lack = false);
// Like check_schema(), but ignores secondary indexes, because files do not contain key functions.
Status check_rows(const Schema& schema);
// Calls the index's key function with artificial rows, to find a column that the function reads
// although the index does not list it. Returns such a column, as "column 'x'", or "" if none is
// found. A column is found only if changing it changes the result of the function.
std::string column_read_unnamed(const Schema& schema, const SecondaryIndex& index);
// Checks the names of a table, its columns and its indexes. Only new tables are checked, because
// older files may contain invalid names.
//   kInvalidArgument  a name is not UTF-8, or contains control characters
Status check_names(const Schema& schema);
// Returns "" if the keys of both tables are of the same kind and types, and otherwise a description
// such as "number keys, but the program asks for byte keys". `a` is the schema of the table.
std::string key_difference(const Schema& a, const Schema& b);
// Where two schemas come from, as messages about their differences say.
struct SchemaSides {
  const char* a;
  const char* b;
  bool advises;  // messages also say what the program can do
};
inline constexpr SchemaSides kTableAndProgram{"in the table", "in the program's description", true};
inline constexpr SchemaSides kTwoRecords{"in the earlier record", "in this record", false};
// Returns "" if the two schemas are the same, and otherwise a description of the first difference.
std::string difference(const Schema& a, const Schema& b, const SchemaSides& sides = kTableAndProgram);
// Returns the table's schema with the columns that only the program's schema has. These must be the
// last ones, and nothing else may differ.
//   kSchemaMismatch   the message describes a difference that adding columns does not remove
Result<Schema> upgraded(const Schema& stored, const Schema& wanted);
// Returns the table's schema with another column of described rows.
//   kInvalidArgument  the table does not have described rows, or cannot have this column
Result<Schema> with_column(const Schema& stored, const RowColumn& column);

}  // namespace elider::storage

namespace elider::detail {

class TableBase {
 public:
  // protocol_bytes: see storage::Layout.
  TableBase(Schema schema, uint32_t id, uint64_t database_id, uint32_t block_threshold_bytes, uint32_t protocol_bytes = 0,
            bool byte_keys = false)
      : versions_(std::move(schema)), layout_(this, versions_.schema(), block_threshold_bytes, protocol_bytes, byte_keys),
        id_(id), database_id_(database_id), usable_in_(database_id), writable_in_(database_id) {}
  virtual ~TableBase() = default;
  TableBase(const TableBase&) = delete;
  TableBase& operator=(const TableBase&) = delete;

  // Creates the zones that Schema::zones requests, if any. May throw std::bad_alloc.
  void make_zones(Memory& memory);
  // Creates the places that Schema::inline_rows requests, if any. Returns false if memory is
  // exhausted.
  bool make_inline_rows(Memory& memory);
  // Frees the memory of zones or inline places. The table must have been dropped, and its rows must
  // have been freed.
  void free_places();

  // The current schema. The reference remains valid when the schema is changed, but then refers to
  // an earlier version.
  const Schema& schema() const { return versions_.schema(); }
  const storage::SchemaVersions& versions() const { return versions_; }
  // Replaces the schema by one with another name or other row columns, as of this snapshot number.
  // One thread at a time may call it.
  void change_schema(std::unique_ptr<storage::SchemaVersions::Version> version, SnapshotNumber number) noexcept {
    versions_.add(std::move(version), number);
  }
  void set_created(SnapshotNumber number) { versions_.set_created(number); }
  const storage::Layout& layout() const { return layout_; }
  void set_indexed_columns(uint64_t columns) { layout_.set_indexed_columns(columns); }
  uint32_t id() const { return id_; }  // position in the catalog
  uint32_t name_id() const { return versions_.current().name_id; }
  uint64_t database_id() const { return database_id_; }
  // True if the table lacks the secondary indexes of its schema, because their key functions are
  // unknown.
  bool lacks_indexes() const { return storage::lacks_key_functions(schema()); }
  // The id of the only database in which transactions may read the table. The id is 0, which does
  // not match any database, if the table is being dropped or has been dropped. relaxed, as for
  // writable_in(): a thread that reads the old value is within a transaction that dropping awaits
  // (txn/catalog.h).
  uint64_t usable_in() const { return usable_in_.load(std::memory_order_relaxed); }
  // The id of the only database in which transactions may write all columns of the table. If the id
  // is 0, transactions may write only columns that no index reads, and only if the table is usable.
  uint64_t writable_in() const { return writable_in_.load(std::memory_order_relaxed); }
  // Called before any transaction if the table is recovered without its secondary indexes, because
  // writes of indexed columns could not be checked against unique indexes.
  void restrict_writes() {
    restricted_ = true;
    writable_in_.store(0, std::memory_order_relaxed);
  }
  bool restricted() const { return restricted_; }
  bool usable() const { return usable_in() != 0; }
  void set_usable(bool usable) {
    usable_in_.store(usable ? database_id_ : 0);
    writable_in_.store(usable && !restricted_ ? database_id_ : 0);
  }
  // The snapshot number at which the table was dropped, or kNeverDropped.
  static constexpr SnapshotNumber kNeverDropped = ~SnapshotNumber{0};
  SnapshotNumber dropped_at() const { return dropped_at_.load(std::memory_order_acquire); }
  bool dropped() const { return dropped_at() != kNeverDropped; }
  void set_dropped(SnapshotNumber number) { dropped_at_.store(number, std::memory_order_release); }

  // True if keys are byte strings; otherwise they are numbers.
  bool byte_keys() const { return layout_.byte_keys(); }
  // Returns a number key as it is, and the first eight bytes of a byte key as a number. Statistics
  // use this number, so they may count two byte keys as one.
  Key number_of(KeyRef key) const {
    if (!byte_keys()) [[likely]] return key.number();
    return key.bytes() == nullptr ? 0 : key.bytes()->prefix();
  }
  Status error(Code code, Cause cause, KeyRef key) const {
    if (byte_keys()) [[unlikely]] return bytes_error(code, cause, key);
    return Status(code, cause, name_id(), key.number());
  }
  // Returns the key for messages, for example 42 or "acct-eu-000123".
  std::string key_text(KeyRef key) const;

  // A number that is greater than the version number of all unlinked row blocks. New row blocks
  // start at this number, so that a key's version number never decreases.
  uint64_t version_floor() const { return version_floor_.load(std::memory_order_acquire); }
  void raise_version_floor(uint64_t version_number) {
    uint64_t floor = version_floor_.load(std::memory_order_relaxed);  // the exchange below checks it
    while (floor < version_number && !version_floor_.compare_exchange_weak(floor, version_number, std::memory_order_acq_rel)) {
    }
  }

  // A reader of all tables (recovery/snapshot_rows.h) stores its snapshot number here when it has
  // read this table completely and will not read it again. 0 if no reader has done so.
  uint64_t passed_by() const { return passed_by_.load(std::memory_order_acquire); }
  void set_passed_by(SnapshotNumber number) { passed_by_.store(number, std::memory_order_release); }  // release: after its reads

 private:
  [[gnu::noinline]] Status bytes_error(Code code, Cause cause, KeyRef key) const;

  storage::SchemaVersions versions_;
  storage::Layout layout_;
  std::unique_ptr<storage::InlineRows> inline_rows_;  // null if the table does not have inline places
  std::unique_ptr<storage::Zones> zones_;             // null if the table is not zoned
  const uint32_t id_;
  bool restricted_ = false;  // constant after recovery
  const uint64_t database_id_;
  std::atomic<uint64_t> usable_in_;
  std::atomic<uint64_t> writable_in_;
  std::atomic<SnapshotNumber> dropped_at_{kNeverDropped};
  std::atomic<uint64_t> version_floor_{0};
  std::atomic<SnapshotNumber> passed_by_{0};
};

}  // namespace elider::detail
