// IndexChanges: the changes that a transaction has made to secondary indexes
// (txn/read_write/index_entries.h).
//
// Thread safety: none. An IndexChanges object belongs to one transaction.
#pragma once

#include <cstdint>
#include <vector>

#include "htm/prefault.h"
#include "index/key_index.h"
#include "storage/record.h"
#include "storage/table.h"
#include "txn/pointer_map.h"

namespace elider::txn {

using detail::KeyRef;
using index::IndexValue;

// A change of a row's value in a secondary index. The operation that changes the value inserts the
// new entry immediately. The old entry is removed some time after the commit. The values of an
// index by columns are in the transaction's arena, which is cleared after the list of changes.
struct IndexChange {
  storage::Row* row;
  detail::TableBase* table;
  KeyRef key;
  uint32_t index;
  bool has_old;
  IndexValue old_value;
  IndexValue new_value;
  bool inserted;    // the new entry belongs to this transaction, which inserted it or took it over
  bool superseded;  // a later change by this transaction gives the row another value
};

class IndexChanges {
 public:
  bool empty() const { return changes_.empty(); }
  auto begin() const { return changes_.begin(); }
  auto end() const { return changes_.end(); }

  // Reserves memory for this many changes.
  void make_room(size_t changes) {
    htm::reserve_prefaulted(changes_, changes);
    positions_.make_room(static_cast<uint32_t>(changes));
  }
  // The reference is valid until the next add().
  IndexChange& add(const IndexChange& change) { return changes_.emplace_back(change); }
  // Completes the last change. Marks an earlier change of the same row and index as superseded.
  void settle() {
    const IndexChange& change = changes_.back();
    const auto position = static_cast<uint32_t>(changes_.size() - 1);
    // A different number for each row and index. Addresses of user space have 47 bits.
    static_assert(kSecondaryIndexesMax <= 64);
    const void* place = reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(change.row) << 6 | change.index);
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
  PointerMap positions_;  // the position of the last change, by row and index
};

}  // namespace elider::txn
