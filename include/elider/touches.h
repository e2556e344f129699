// Touches: the rows that a call in a group will access (Database::run_group, Database::call_group;
// docs/groups.md).
//
// Before the calls of a group run, the engine asks each of them for its touches and looks all of
// the rows up together, so that their cache misses overlap. A call then finds its rows in the
// cache. Touches are hints, and no result depends on them: a row that is named but not used costs a
// lookup, and a row that is used but not named costs its cache misses. Name the rows whose keys
// follow from the arguments; a key that is stored in another row cannot be named.
//
// Thread safety: a Touches belongs to one call of a touch function, and must not be kept.
#pragma once

#include "elider/language.h"

#include <cstdint>
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
  Key key;
  uint32_t index;  // of kIndexRange
  Place place;
};
}  // namespace detail

class Touches {
 public:
  // Names the row with this key, whose columns the call reads or writes, or which it inserts. It is
  // cheapest to name rows in the order in which the call accesses them.
  void row(const TableRef& table, Key key, const ColumnsRef& columns = {}) noexcept {
    add({table.base(), columns.set(), key, 0, detail::Touch::Place::kRow});
  }
  // Names the starting point of an ascending or descending scan.
  void range(const TableRef& table, Key from) noexcept { add({table.base(), nullptr, from, 0, detail::Touch::Place::kRange}); }
  // Names the starting point of a scan of a secondary index; `from` is an index value.
  void range(const IndexRef& index, Key from) noexcept {
    add({index.table.base(), nullptr, from, index.position, detail::Touch::Place::kIndexRange});
  }

  // Runs this call on the newest snapshot, as run_read_only() does.
  void read_only(bool on = true) noexcept { read_only_ = on; }
  // Sets RunPolicy::procedure_id for this call.
  void procedure_id(uint32_t id) noexcept { procedure_id_ = id; }
  // Under protocol partitioned: names a partition that this call reads or writes. A number that is
  // not below Options::partitions makes the call's outcome kInvalidArgument. A call that names
  // none, or more than 32, uses all partitions.
  void partition(uint32_t number) noexcept {
    try {
      partitions_.push_back(number);
    } catch (const std::bad_alloc&) {
      all_partitions_ = true;
    }
  }

  // For the engine.
  bool is_read_only() const { return read_only_; }
  uint32_t procedure_id() const { return procedure_id_; }
  const std::vector<detail::Touch>& all() const { return all_; }
  const std::vector<uint32_t>& partitions() const { return partitions_; }
  bool all_partitions() const { return all_partitions_; }
  void begin_group() {
    all_.clear();
    partitions_.clear();
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
    } catch (const std::bad_alloc&) {  // it is a hint
    }
  }

  std::vector<detail::Touch> all_;
  std::vector<uint32_t> partitions_;
  bool all_partitions_ = false;  // there was no memory to say which
  bool read_only_ = false;
  uint32_t procedure_id_ = 0;
};

}  // namespace elider
