// IndexChanges: what a transaction has changed in secondary indexes (txn/read_write/secondary.h).
//
// Thread safety: none; it belongs to one transaction.
#pragma once

#include <cstdint>
#include <vector>

#include "htm/prefault.h"
#include "storage/record.h"
#include "storage/table.h"
#include "txn/pointer_map.h"

namespace elider::txn {

using detail::KeyRef;

// A change of a row's value in a secondary index. The operation inserts the new entry at once; the
// old one is removed some time after the commit.
struct IndexChange {
  storage::Row* row;
  detail::TableBase* table;
  KeyRef key;
  uint32_t index;
  bool has_old;
  uint64_t old_value;
  uint64_t new_value;
  bool inserted;    // the new entry is this transaction's: it put it there, or took it over
  bool superseded;  // a later change of this transaction gives the row another value
};

class IndexChanges {
 public:
  bool empty() const { return changes_.empty(); }
  auto begin() const { return changes_.begin(); }
  auto end() const { return changes_.end(); }

  // After this, the given number of changes can be added without allocating memory.
  void make_room(size_t changes) {
    htm::reserve_prefaulted(changes_, changes);
    positions_.make_room(static_cast<uint32_t>(changes));
  }
  // Valid until the next add().
  IndexChange& add(const IndexChange& change) { return changes_.emplace_back(change); }
  // Makes the change that was added last final. It supersedes an earlier one of its row and index.
  void settle() {
    const IndexChange& change = changes_.back();
    const auto position = static_cast<uint32_t>(changes_.size() - 1);
    const void* place = reinterpret_cast<const std::byte*>(change.row) + change.index;  // one address a row and index
    if (uint32_t* earlier = positions_.find_position(place)) {
      changes_[*earlier].superseded = true;
      *earlier = position;
    } else {
      positions_.insert(place, position);
    }
  }
  void clear() {
    if (changes_.empty()) return;
    changes_.clear();
    positions_.clear();
  }

 private:
  std::vector<IndexChange> changes_;
  PointerMap positions_;  // the last change by row and index
};

}  // namespace elider::txn
