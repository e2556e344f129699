// Touches: the rows that a call in a group will access (Database::run_group, Database::call_group;
// docs/groups.md).
//
// Before the calls of a group run, the engine calls the touch function of each call. The engine
// then looks up all touched rows together, so that their cache misses overlap. Each call then finds
// its rows in the cache. Touches are hints, and the results do not depend on them. Touching a row
// that the call does not use costs an unnecessary lookup. If the call uses a row that was not
// touched, the cache misses of this row do not overlap with others. Touch the rows whose keys
// follow from the arguments of the call. A row whose key is stored in another row cannot be
// touched.
//
// Thread safety: a touch function may use its Touches only until the function returns.
#pragma once

#include "elider/language.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "elider/key.h"
#include "elider/table.h"

namespace elider {

namespace detail {
struct Touch {
  enum class Place : uint8_t { kRow, kRange, kIndexRange };
  TableBase* table;
  const ColumnSet* columns;  // null: all
  KeyRef key;                // an index value for kIndexRange
  uint32_t index;            // the index's position, for kIndexRange
  Place place;
  bool byte_key = false;
};
}  // namespace detail

class Touches {
 public:
  // Touches a row that the call will insert, or whose `columns` the call will read or write.
  // Touching rows in the order in which the call accesses them is cheapest.
  void row(const TableRef& table, Key key, const ColumnsRef& columns = {}) noexcept {
    add({table.base(), columns.set(), key, 0, detail::Touch::Place::kRow});
  }
  void row(const TableRef& table, Bytes key, const ColumnsRef& columns = {}) noexcept {
    add(table, columns.set(), key, detail::Touch::Place::kRow);
  }
  template <class Row, TupleKeyType KeyType>
  void row(const Table<Row, KeyType>& table, const KeyArgument<KeyType>& key, const ColumnsRef& columns = {}) noexcept {
    std::byte bytes[kKeyBytesMax];
    const Result<size_t> size = detail::KeyFace<KeyType>::encode(key, bytes);
    if (size.ok()) row(table, Bytes(bytes, *size), columns);
  }
  // Touches a row of a DescribedTable, StructTable or ValueTable with tuple keys.
  template <class Encoded>
    requires TupleKeyType<typename Encoded::KeyType>
  void row(const Encoded& table, const typename Encoded::KeyParameter& key) noexcept {
    std::byte bytes[kKeyBytesMax];
    const Result<size_t> size = detail::KeyFace<typename Encoded::KeyType>::encode(key, bytes);
    if (size.ok()) row(static_cast<const TableRef&>(table), Bytes(bytes, *size));
  }
  // Touches the starting point of an ascending or descending scan.
  void range(const TableRef& table, Key from) noexcept { add({table.base(), nullptr, from, 0, detail::Touch::Place::kRange}); }
  void range(const TableRef& table, Bytes from) noexcept { add(table, nullptr, from, detail::Touch::Place::kRange); }
  // Touches the starting point of an ascending scan of a range of tuples (elider::prefix()).
  template <TuplePrefixType Prefix>
  void range(const TableRef& table, const Prefix& prefix) noexcept {
    if (prefix.status().ok()) range(table, Bytes(prefix.from()));
  }
  // Touches the starting point of a scan of a secondary index; `from` is an index value.
  void range(const IndexRef& index, Key from) noexcept {
    add({index.table.base(), nullptr, from, index.position, detail::Touch::Place::kIndexRange});
  }

  // Runs this call on the newest snapshot, as run_read_only() does.
  void read_only(bool on = true) noexcept { read_only_ = on; }
  // Sets RunPolicy::procedure_id for this call.
  void procedure_id(uint32_t id) noexcept { procedure_id_ = id; }
  // Names a partition that this call reads or writes, for protocol partitioned. If `number` is not
  // below LaboratoryOptions::partitions, the outcome of the call is kInvalidArgument. A call that
  // names no partition, or more than 32 partitions, uses all partitions.
  void partition(uint32_t number) noexcept {
    try {
      partitions_.push_back(number);
    } catch (const std::bad_alloc&) {
      all_partitions_ = true;
    }
  }

  // The functions below are used by the engine.
  bool is_read_only() const { return read_only_; }
  uint32_t procedure_id() const { return procedure_id_; }
  const std::vector<detail::Touch>& all() const { return all_; }
  const std::vector<uint32_t>& partitions() const { return partitions_; }
  bool all_partitions() const { return all_partitions_; }
  void begin_group() {
    all_.clear();
    partitions_.clear();
    blocks_used_ = used_ = 0;
  }
  void begin_call(bool is_read_only, uint32_t id) {
    read_only_ = is_read_only;
    procedure_id_ = id;
    all_partitions_ = false;
  }

 private:
  void add(const detail::Touch& touch) noexcept {
    try {
      all_.push_back(touch);
    } catch (const std::bad_alloc&) {  // the touch may be dropped, because it is only a hint
    }
  }

  // Copies the key. A key of more than kKeyBytesMax bytes is ignored, because no table can contain
  // it.
  void add(const TableRef& table, const detail::ColumnSet* columns, Bytes key, detail::Touch::Place place) noexcept {
    if (key.size() > kKeyBytesMax) return;
    try {
      auto* bytes = new (take(sizeof(detail::KeyBytes) + key.size())) detail::KeyBytes{static_cast<uint32_t>(key.size())};
      if (!key.empty()) std::memcpy(bytes->data(), key.data(), key.size());
      add({table.base(), columns, detail::KeyRef(bytes), 0, place, true});
    } catch (const std::bad_alloc&) {
    }
  }
  std::byte* take(size_t bytes) {
    static_assert(kBlockBytes >= sizeof(detail::KeyBytes) + kKeyBytesMax);
    if (blocks_used_ == 0 || kBlockBytes - used_ < bytes) {
      if (blocks_used_ == blocks_.size()) blocks_.push_back(std::make_unique<std::byte[]>(kBlockBytes));
      ++blocks_used_;
      used_ = 0;
    }
    std::byte* const taken = blocks_[blocks_used_ - 1].get() + used_;
    used_ += (bytes + 7) / 8 * 8;
    return taken;
  }

  static constexpr size_t kBlockBytes = 16384;
  std::vector<detail::Touch> all_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;  // contain the byte keys
  size_t blocks_used_ = 0;                            // the number of blocks that this group uses
  size_t used_ = 0;                                   // the number of bytes used in the last of these blocks
  std::vector<uint32_t> partitions_;
  bool all_partitions_ = false;  // memory for the list of partitions was exhausted
  bool read_only_ = false;
  uint32_t procedure_id_ = 0;
};

}  // namespace elider
