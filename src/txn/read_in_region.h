// Functions that read rows in hardware transactions (DBX, Algorithm 2), for sync policies that use
// hardware transactions. Such a hardware transaction (a region) elides a cell's lock bit
// (txn/read_write/commit_region.h): if the bit is set, the region ends, and the caller waits
// outside the region.
//
// A region reads the cache lines of the requested columns, and writes the same number of lines in
// the private copy. If the protocol claims rows within the region, the region also reads and writes
// each claim's cache line, and reads the slots of the transactions that the claim names. A region
// is not tried for cells that exceed ElisionPolicy::write_lines_max.
#pragma once

#include <bit>

#include "base/bits.h"
#include "base/cache_line.h"
#include "elider/snapshot_number.h"
#include "htm/elide.h"
#include "storage/record.h"
#include "txn/store.h"

namespace elider::txn {

// Returns the number of cache lines that these column groups of a row occupy.
inline size_t lines_of_groups(const storage::Layout& layout, uint32_t groups) {
  size_t lines = 0;
  for (const uint32_t g : Bits(groups)) lines += lines_of(layout.group(g).payload_bytes);
  return lines;
}

// Returns true if the caller may copy this many cache lines in a region.
inline bool region_may_copy(Store& store, size_t lines) {
  const ElisionPolicy& policy = store.laboratory.elision;
  if (!policy.record_reads) return false;
  if (lines <= policy.write_lines_max) [[likely]] return true;
  store.elision->record_read.mine().went_direct();
  return false;
}

// Called within a region. Returns the cell's commit word, and copies the columns of `set` unless
// the row is absent. Returns kUnknown if the cell is locked.
inline uint64_t copy_unlocked(const storage::Cell& cell, const storage::Group& group, const detail::ColumnSet& set, uint32_t g,
                              std::byte* image) {
  const uint64_t w = cell.load();
  if (storage::word::locked(w) && !ELIDER_MUTANT(kIgnoreLockBit)) [[unlikely]] return storage::word::kUnknown;
  if (!storage::word::absent(w)) [[likely]] storage::copy_to_image(set, g, image, cell.payload(group));
  ELIDER_TEST_POINT("read.copied");
  return w;
}

// Like storage::read_cell(), but tries to read the cell in a region first.
template <class Backend>
uint64_t read_cell_in_region(Store& store, const storage::Cell& cell, const storage::Group& group, const detail::ColumnSet& set, uint32_t g,
                             std::byte* image) {
  if (!region_may_copy(store, lines_of(group.payload_bytes))) return storage::read_cell(cell, group, set, g, image);
  const uint64_t copied = htm::run_region<Backend>(
      store.elision->record_read, htm::SubscribedWithin{}, [&]() -> uint64_t { return copy_unlocked(cell, group, set, g, image); },
      []() -> uint64_t { return storage::word::kUnknown; }, [](uint64_t w) { return w != storage::word::kUnknown; });
  return copied != storage::word::kUnknown ? copied : storage::read_cell(cell, group, set, g, image);
}

// Calls read(g) for each of these column groups of a row, all in one region. read(g) must return
// false if group g is locked. Returns false if the caller must read each group separately.
template <class Backend, class Read>
bool each_group_in_region(Store& store, const storage::Layout& layout, uint32_t groups, Read&& read) {
  if (!region_may_copy(store, lines_of_groups(layout, groups))) return false;
  return htm::run_region<Backend>(
      store.elision->record_read, htm::SubscribedWithin{},
      [&]() -> bool {
        for (const uint32_t g : Bits(groups))
          if (!read(g)) return false;
        return true;
      },
      []() -> bool { return false; }, [](bool whole) { return whole; });
}

// Reads the requested column groups of a row, and their commit words, at one instant. Calls
// claim(cell) before it reads a cell; claim() returns false if the claim must be made outside the
// region. Returns false if the caller must read each group separately.
template <class Backend, class Claim>
bool read_groups_in_region(Store& store, const storage::Layout& layout, storage::Row& row, const detail::ColumnSet& set, uint32_t groups,
                           std::byte* image, uint64_t* words, Claim&& claim) {
  return each_group_in_region<Backend>(store, layout, groups, [&](uint32_t g) {
    if (!claim(row.cell(layout, g))) [[unlikely]] return false;
    words[g] = copy_unlocked(row.cell(layout, g), layout.group(g), set, g, image);
    return words[g] != storage::word::kUnknown;
  });
}

// What a region has read from a cell on behalf of a snapshot reader.
struct CellAt {
  uint64_t word = storage::word::kUnknown;
  const storage::Version* older = nullptr;
  bool newest = false;  // true: the newest version belongs to the snapshot and is copied; false: the reader must search the list `older`
};

// Reads the requested column groups of a row at one instant, each like storage::read_cell_at(). For
// a group that was written after snapshot `rs`, stores only the list of old versions, which
// finish_read_at() searches outside the region. Returns false if the caller must read each group
// separately.
template <class Backend>
bool read_groups_at_in_region(Store& store, const storage::Layout& layout, storage::Row& row, const detail::ColumnSet& set, uint32_t groups,
                              SnapshotNumber rs, std::byte* image, CellAt* cells) {
  return each_group_in_region<Backend>(store, layout, groups, [&](uint32_t g) {
    const storage::Cell& cell = row.cell(layout, g);
    CellAt& at = cells[g];
    at.newest = cell.snapshot() <= rs;
    if (at.newest) [[likely]] {
      at.word = copy_unlocked(cell, layout.group(g), set, g, image);
    } else {
      at.word = cell.load();
      if (storage::word::locked(at.word) && !ELIDER_MUTANT(kIgnoreLockBit)) at.word = storage::word::kUnknown;
      at.older = cell.previous();
    }
    return at.word != storage::word::kUnknown;
  });
}

// Like storage::read_cell_at(), but completes the read of a cell that a region has already read.
inline bool finish_read_at(const CellAt& at, const detail::ColumnSet& set, uint32_t g, SnapshotNumber rs, std::byte* image,
                           uint64_t* version_number) {
  if (!at.newest) return storage::read_version_at(at.older, set, g, rs, image, version_number);
  *version_number = storage::word::version_number(at.word);
  return !storage::word::absent(at.word);
}

}  // namespace elider::txn
