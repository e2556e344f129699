// TableBase: what a table is beneath its indexes: schema, layout, and the counters that concern it.
// Catalog checks of schemas stand here too. Thread safety: constant but for the atomics.
#pragma once

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
#include "storage/zones.h"

namespace elider::storage {

// Whether it has secondary indexes without key functions, as files describe them: such a schema
// serves to keep rows, but not the indexes.
inline bool lacks_key_functions(const Schema& schema) { return !schema.indexes.empty() && !schema.indexes.front().key; }
// Ok, or kInvalidArgument that names what is wrong with the schema. may_lack: its indexes may be
// without key functions.
Status check_schema(const Schema& schema, bool may_lack = false);
// The same of all but its secondary indexes, whose key functions are in no file.
Status check_rows(const Schema& schema);
// What an index function reads beside the columns that its index names, "column 'x'", so far as
// rows that differ there alone show it; empty: nothing.
std::string column_read_unnamed(const Schema& schema, const SecondaryIndex& index);
// kInvalidArgument: a name in it is not UTF-8, or holds control characters. Of new tables alone:
// older files may have such.
Status check_names(const Schema& schema);
// Empty if the two are the same, else words for the first difference.
std::string difference(const Schema& a, const Schema& b);

}  // namespace elider::storage

namespace elider::detail {

class TableBase {
 public:
  // protocol_bytes: storage::Layout's.
  TableBase(Schema schema, uint32_t id, uint64_t database_id, uint32_t block_threshold_bytes, uint32_t protocol_bytes = 0,
            bool byte_keys = false)
      : schema_(std::move(schema)), layout_(this, schema_, block_threshold_bytes, protocol_bytes, byte_keys),
        name_id_(intern_name(schema_.name)), id_(id), database_id_(database_id), writable_in_(database_id) {}
  virtual ~TableBase() = default;
  TableBase(const TableBase&) = delete;
  TableBase& operator=(const TableBase&) = delete;

  // Makes the zones of Schema::zones, if it wants some. May throw std::bad_alloc.
  void make_zones(Memory& memory);
  // Makes the places of Schema::inline_rows, if it wants some. False: no memory.
  bool make_inline_rows(Memory& memory);

  const Schema& schema() const { return schema_; }
  const storage::Layout& layout() const { return layout_; }
  uint32_t id() const { return id_; }  // its position in the catalog
  uint32_t name_id() const { return name_id_; }
  uint64_t database_id() const { return database_id_; }
  // Whether it is without the secondary indexes that its schema describes, since their key
  // functions are not known.
  bool lacks_indexes() const { return storage::lacks_key_functions(schema_); }
  // The database in which all of it may be written; 0, which no database has: only columns may be
  // that no index reads.
  uint64_t writable_in() const { return writable_in_; }
  // When it is recovered without its secondary indexes, before any transaction: whether a unique
  // one allows a write of its columns cannot be told.
  void restrict_writes() { writable_in_ = 0; }

  // Whether keys are bytes; else they are numbers.
  bool byte_keys() const { return layout_.byte_keys(); }
  // The key; of bytes, the first eight as a number.
  Key number_of(KeyRef key) const {
    if (!byte_keys()) [[likely]] return key.number();
    return key.bytes() == nullptr ? 0 : key.bytes()->prefix();
  }
  Status error(Code code, Cause cause, KeyRef key) const { return Status(code, cause, name_id_, number_of(key)); }

  // Sequences of row blocks that were unlinked are below this: a new block of the same key starts
  // here, so that its sequence never runs backwards.
  uint64_t sequence_floor() const { return sequence_floor_.load(std::memory_order_acquire); }
  void raise_sequence_floor(uint64_t sequence) {
    uint64_t floor = sequence_floor_.load(std::memory_order_relaxed);  // the exchange below checks it
    while (floor < sequence && !sequence_floor_.compare_exchange_weak(floor, sequence, std::memory_order_acq_rel)) {
    }
  }

  // The number of a reader of all tables that has read this one to its end and will not look at it
  // again (recovery/snapshot_rows.h); 0: there was none.
  uint64_t passed_by() const { return passed_by_.load(std::memory_order_acquire); }
  void set_passed_by(SnapshotNumber number) { passed_by_.store(number, std::memory_order_release); }  // its reads come before

 private:
  const Schema schema_;
  storage::Layout layout_;
  std::unique_ptr<storage::InlineRows> inline_rows_;  // or null
  std::unique_ptr<storage::Zones> zones_;             // or null
  const uint32_t name_id_;
  const uint32_t id_;
  const uint64_t database_id_;
  uint64_t writable_in_;  // constant after recovery
  std::atomic<uint64_t> sequence_floor_{0};
  std::atomic<SnapshotNumber> passed_by_{0};
};

}  // namespace elider::detail
