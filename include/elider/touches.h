// Touches: what a call of a group will look at (Database::run_group; docs/groups.md).
//
// Before the calls of a group run, the engine asks each of them what it will touch, and looks for
// all of that at once: a call that then runs finds its rows in the cache. These are hints. A row
// that is named and not used costs its lookup, one that is used and not named costs its cache
// misses; no result depends on them. Name what the arguments tell: a key that stands in another row
// cannot be named.
// Thread safety: one call's; it ends with the touch function.
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
  // The row of this key, of which the call reads or writes these columns, or which it inserts. A
  // call whose touches are in the order of its accesses finds them soonest.
  void row(const TableRef& table, Key key, const ColumnsRef& columns = {}) noexcept {
    add({table.base(), columns.set(), key, 0, detail::Touch::Place::kRow});
  }
  // Where a scan begins that goes up from this key, or down from it.
  void range(const TableRef& table, Key from) noexcept { add({table.base(), nullptr, from, 0, detail::Touch::Place::kRange}); }
  // The same of a secondary index; `from` is an index value.
  void range(const IndexRef& index, Key from) noexcept {
    add({index.table.base(), nullptr, from, index.position, detail::Touch::Place::kIndexRange});
  }

  // This call runs on the newest snapshot, as by run_read_only().
  void read_only(bool on = true) noexcept { read_only_ = on; }
  // RunPolicy::procedure_id, of this call.
  void procedure_id(uint32_t id) noexcept { procedure_id_ = id; }
  // Under protocol partitioned: one of the partitions that this call reads or writes, as
  // RunPolicy::partitions has them (else the call's outcome is kInvalidArgument). Without any, or
  // with more than 32, it is taken to use all of them.
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
