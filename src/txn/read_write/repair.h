// Repair: the second check of a transaction's reads (read_tracking.h), if validation has failed
// because an index node has changed or an absent row block has been unlinked. Only if this check
// also fails does the transaction have a conflict. (DBX, section 5.3, aborts in these cases.)
//
// A leaf's version increases with every change of the leaf, even if the change does not affect the
// scanned range: an insert next to the range, the delayed unlinking of a removed row, or a split.
// Therefore the commit reads the range again and counts its rows. If a row that was present during
// the scan is now absent or replaced, validation fails at its own commit word. Hence, if the range
// still contains the same number of rows, it contains the same rows. The commit then records the
// current version of each leaf, and the current commit word of each absent row block, and validates
// everything once more.
//
// Ranges of a secondary index are checked in the same way. An entry is counted if its committed row
// now has the entry's value. If the entry belongs to an insert or change that another transaction
// has not committed, it is not counted, but its row is tracked in its current state. A unique check
// reads such a range, which consists of the entries of one value. So the repair also decides
// uniqueness.
//
// Invariant: what the second validation finds unchanged was valid when that validation began,
// because rows have not changed since they were read, and ranges have not changed since the second
// read. At that instant everything is as the transaction saw it, regardless of changes in between.
// The transaction acquired its locks before that instant and holds them beyond it.
//
// Why two transactions, A and B, cannot both commit the same unique value: each transaction inserts
// its entry, then locks its row, and then validates. Let A be the transaction that inserts its
// entry first. Then B finds A's entry when it reads the leaf, or B's witness of the leaf is older
// than A's entry. In the second case, the witness fails, and B finds A's entry when it reads the
// leaf again. There are three cases:
//
//   - A's row is present. Then B fails.
//   - A's commit has locked the row. Then B fails. A fails as well if it finds B's row locked; both
//     are then retried after random waits.
//   - A's row is absent. Then B tracks the commit word of the absent row, and B's second validation
//     succeeds only if A has not locked the row by then. At that time B holds its own lock and B's
//     entry is in the index. So A, which validates later, finds B's row locked or present, and
//     fails.
//
// A commit reads the snapshot number again after the second read, because the second read may have
// seen the effect of a commit with a larger number.
//
// Thread safety: the same as the transaction. The repair never waits.
#pragma once

#include <new>
#include <vector>

#include "base/bits.h"
#include "base/test_points.h"
#include "elider/transaction.h"
#include "index/index.h"
#include "index/scan.h"
#include "txn/arena.h"
#include "txn/conflict.h"
#include "txn/hints.h"
#include "txn/history_recorder.h"
#include "txn/read_write/own_writes.h"
#include "txn/read_write/read_tracking.h"
#include "txn/table.h"

namespace elider::txn {

// kHeld: the caller is a commit that holds the locks of all rows that it writes, so any other
// locked cell is locked by another transaction.
enum class Locks : uint8_t { kNone, kHeld };

template <class Sync, Recording kRecording>
class Repair {
 public:
  using TableType = Table<Sync>;

  Repair(ReadTracking<kRecording>& tracking, const OwnWrites& own, Locks locks, Arena& arena, Hints<Sync>& hints,
         HistoryRecorder& recorder)
      : reads_(tracking.reads_), nodes_(tracking.nodes_), index_ranges_(tracking.index_ranges_), tracking_(tracking), own_(own),
        locks_(locks), arena_(arena), hints_(hints), recorder_(recorder) {}

  // Reads again all keys and ranges whose index nodes have changed. Returns false and sets
  // *conflict if the reads do not match the current state.
  bool run(Conflict* conflict);

  // Returns kPresent if the row exists and has this value in secondary index i, and kAbsent
  // otherwise. Ignores this transaction's own writes. Returns kUnknown if another transaction has
  // locked the row or is changing it. If `track` is not null, *track is the row's key, and a row
  // that is absent or has another value is tracked in that state.
  Presence committed_match(TableType& table, Row* row, uint32_t i, IndexValue value, const KeyRef* track);

 private:
  Presence copy_committed(TableType& table, Row* row, const ColumnSet& set, const KeyRef* track, RowImage* image);
  static Presence match(const TableType& table, Row* row, uint32_t i, IndexValue value, RowImage image);
  bool repair_node(size_t position);
  bool repair_index_node(size_t position);
  template <class Index>
  bool look_again_at_keys(TableType& table, Index& index, size_t position);
  template <class Index>
  bool look_again_at_range(TableType& table, Index& index, uint32_t range);
  index::Witness find_again(TableType& table, KeyRef key, uint32_t* there);
  bool look_again(TableType& table, Row* row, KeyRef key, uint32_t* there);

  ReadSet& reads_;
  std::vector<NodeEntry>& nodes_;
  std::vector<ScannedEntries>& index_ranges_;
  ReadTracking<kRecording>& tracking_;
  const OwnWrites own_;
  const Locks locks_;
  Arena& arena_;
  Hints<Sync>& hints_;
  HistoryRecorder& recorder_;
};

template <class Sync, Recording kRecording>
bool Repair<Sync, kRecording>::run(Conflict* conflict) {
  ELIDER_TEST_POINT("occ.repair");
  // Entries that are added during the loop need not be checked, because they have just been read.
  for (size_t i = 0, count = reads_.size(); i < count; ++i) {
    const ReadEntry read = reads_[i];
    if (read.cell == nullptr || !word::absent(read.word) || !word::removed(read.cell->load())) continue;
    auto& table = static_cast<TableType&>(*read.table);
    uint32_t there = 0;
    tracking_.track_key(table, find_again(table, read.key, &there), read.key);
    if (there != 0) return conflict->found(Cause::kPhantom, read.table, read.key);
    reads_[i].cell = nullptr;
    recorder_.absent_anew(table, read.key);
  }
  for (size_t i = 0, count = nodes_.size(); i < count; ++i)
    if (!nodes_[i].witness.holds() && !repair_node(i))
      return conflict->found(Cause::kPhantom, nodes_[i].table, nodes_[i].key());
  ELIDER_TEST_POINT("occ.repaired");
  return true;
}

template <class Sync, Recording kRecording>
bool Repair<Sync, kRecording>::repair_node(size_t position) {
  const NodeEntry old = nodes_[position];
  if (old.kind == NodeEntry::Kind::kIndexRanges) return repair_index_node(position);
  if (old.kind == NodeEntry::Kind::kMoreWitness) {
    if (!repair_node(old.seen)) return false;
    nodes_[position].witness = nodes_[old.seen].witness;
    return true;
  }
  if (old.seen == NodeEntry::kUnknown) return false;
  auto& table = static_cast<TableType&>(*old.table);
  if (old.kind == NodeEntry::Kind::kKey) {
    uint32_t there = 0;
    nodes_[position].witness = find_again(table, old.from, &there);
    return there == old.seen;
  }
  return table.keys().visit([&]<class Index>(Index& index) {
    if constexpr (Index::kOrdered) return look_again_at_keys(table, index, position);
    else return false;  // only ordered indexes have ranges
  });
}

// Reads a range of keys again, and tracks the leaves that contain it now. Returns false if the
// number of rows differs or is uncertain.
template <class Sync, Recording kRecording>
template <class Index>
bool Repair<Sync, kRecording>::look_again_at_keys(TableType& table, Index& index, size_t position) {
  using IndexKey = typename Index::Key;
  const NodeEntry old = nodes_[position];
  uint32_t there = 0;
  bool certain = true;
  index::scan_leaves(
      index, index::Range<IndexKey>{index::key_of<IndexKey>(old.from), {index::key_of<IndexKey>(old.to), old.to_end}},
      index::Direction::kForward, kNoLimit, [&](const auto& witnesses, const auto& covered) {
        tracking_.count_row(tracking_.track_range(table, witnesses, covered), Presence::kUnknown);
      },
      [](index::Handle) {},
      [&](const IndexKey& entry, index::Handle handle) {
        Row* const row = TableType::as_row(handle);
        certain = look_again(table, row, table.key_of(row, index::ref_of(entry)), &there);
        return certain;
      });
  nodes_[position].witness = nodes_.back().witness;  // the leaves that now contain the range have their own entries
  return certain && there == old.seen;
}

template <class Sync, Recording kRecording>
bool Repair<Sync, kRecording>::repair_index_node(size_t position) {
  auto& table = static_cast<TableType&>(*nodes_[position].table);
  for (uint32_t range = nodes_[position].seen; range != ScannedEntries::kNone; range = index_ranges_[range].next)
    if (!table.secondary(index_ranges_[range].index).visit([&](auto& index) { return look_again_at_range(table, index, range); }))
      return false;
  nodes_[position].witness = nodes_.back().witness;  // the leaves that now contain the ranges have their own entries
  return true;
}

// Reads a range of secondary entries again, and tracks the leaves that contain it now. Returns
// false if the number of matching rows differs or is uncertain.
template <class Sync, Recording kRecording>
template <class Index>
bool Repair<Sync, kRecording>::look_again_at_range(TableType& table, Index& index, uint32_t position) {
  using IndexKey = typename Index::Key;
  const ScannedEntries range = index_ranges_[position];
  if (range.seen == NodeEntry::kUnknown) return false;
  uint32_t there = 0;
  bool certain = true;
  index::scan_leaves(
      index, index::Range<IndexKey>{entry_of<IndexKey>(range.from), {entry_of<IndexKey>(range.to), range.to_end}},
      index::Direction::kForward, kNoLimit, [&](const auto& witnesses, const auto&) {
        for (const index::Witness& witness : witnesses)
          nodes_.push_back({witness, &table, {}, {}, position, NodeEntry::Kind::kIndexRanges});
      },
      [](index::Handle) {},
      [&](const IndexKey& entry, index::Handle handle) {
        if (ELIDER_MUTANT(kSkipSecondLook)) return true;
        Row* const row = TableType::as_row(handle);
        const KeyRef key = table.key_of_entry(range.index, entry, row);
        const Presence found = committed_match(table, row, range.index, table.value_of_entry(range.index, entry), &key);
        certain = found != Presence::kUnknown;
        there += found == Presence::kPresent;
        return certain;
      });
  return ELIDER_MUTANT(kSkipSecondLook) || (certain && there == range.seen);
}

template <class Sync, Recording kRecording>
Presence Repair<Sync, kRecording>::committed_match(TableType& table, Row* row, uint32_t i, IndexValue value, const KeyRef* track) {
  RowImage image;
  const size_t reads_before = reads_.size();
  Presence found = copy_committed(table, row, table.index_columns(i), track, &image);
  if (found == Presence::kPresent) found = match(table, row, i, value, image);
  // If the row matches, these reads need not be kept, because the transaction has already recorded
  // a read of every row that it counts.
  if (found == Presence::kPresent) reads_.shrink_to(reads_before);
  return found;
}

// Sets *image to a copy of columns of the committed row, and tracks the groups if `track` is not
// null.
// Returns whether the row exists, or kUnknown if another transaction has locked it or is changing
// it.
template <class Sync, Recording kRecording>
Presence Repair<Sync, kRecording>::copy_committed(TableType& table, Row* row, const ColumnSet& set, const KeyRef* track,
                                                  RowImage* image) {
  const Layout& layout = table.layout();
  std::byte* const copy = arena_.allocate(layout.column_image_bytes());  // also has room for a small described row
  *image = {copy, 0};
  for (const uint32_t g : Bits(set.read_groups)) {
    Cell& cell = row->cell(layout, g);
    const uint64_t w = cell.load();
    if (word::removed(w)) return Presence::kAbsent;  // if the key has a row, that row has another entry
    const bool mine = word::locked(w) && locks_ == Locks::kHeld && own_.locks(row, layout, g);
    if (word::locked(w) && !mine) return Presence::kUnknown;
    if (!mine && track != nullptr) tracking_.read_unclaimed({&cell, w, *track, &table});
    if (word::absent(w)) return Presence::kAbsent;
    if (set.whole) [[unlikely]] {
      const storage::SizedRow row_bytes = storage::sized_row(cell, [&](size_t) { return copy; });
      *image = {row_bytes.bytes, row_bytes.size};
    } else {
      storage::copy_to_image(set, g, copy, cell.payload(layout.group(g)));
    }
    if (!mine && !cell.unchanged(w)) return Presence::kUnknown;
  }
  return Presence::kPresent;
}

// Returns kPresent if a row with this image has the index value.
template <class Sync, Recording kRecording>
Presence Repair<Sync, kRecording>::match(const TableType& table, Row* row, uint32_t i, IndexValue value, RowImage image) {
  KeyRef key;  // only an index by columns needs it
  if (table.column_index(i) != nullptr) key = table.key_of_entry(i, index::ByteKey{value.entry()}, row);
  try {
    return table.has_index_value(i, image, key, value) ? Presence::kPresent : Presence::kAbsent;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    return Presence::kUnknown;  // the key function threw; the procedure will get the exception when it runs again
  }
}

// Looks up the key and increments *there if the key's row exists. Returns the witness of the leaf
// or bucket that contains the key, or would contain it.
template <class Sync, Recording kRecording>
index::Witness Repair<Sync, kRecording>::find_again(TableType& table, KeyRef key, uint32_t* there) {
  index::Witness witness;
  Row* row = table.find_in_index(key, hints_.primary(table, key), witness);
  if (row != nullptr && !look_again(table, row, key, there)) *there = NodeEntry::kUnknown;
  return witness;
}

// Increments *there if the block's row exists, ignoring this transaction's own writes. Returns
// false if this is uncertain.
template <class Sync, Recording kRecording>
bool Repair<Sync, kRecording>::look_again(TableType& table, Row* row, KeyRef key, uint32_t* there) {
  Presence presence;
  if (own_.presence(row, table.layout(), &presence)) {
    *there += presence == Presence::kPresent;
    return presence != Presence::kUnknown;
  }
  Cell& cell = row->cell(table.layout(), 0);
  const uint64_t w = cell.load();
  if (word::locked(w) || word::removed(w)) return false;
  if (!word::absent(w)) ++*there;
  else tracking_.read_unclaimed({&cell, w, key, &table});
  return true;
}

}  // namespace elider::txn
