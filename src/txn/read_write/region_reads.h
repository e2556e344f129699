// How TrackedReads reads cells in hardware transactions, under a sync policy that uses them (DBX,
// Algorithm 2). Such a hardware transaction (a region) elides the lock bits of the cells that it
// reads (commit_region.h).
#pragma once

#include <bit>

#include "base/bits.h"
#include "txn/read_write/tracked_reads.h"
#include "txn/read_in_region.h"

namespace elider::txn {

// Like storage::read_cell(), but reads the cell in a region if possible.
template <class Sync, class Claims>
[[gnu::always_inline]] inline uint64_t TrackedReads<Sync, Claims>::copy_cell(const Cell& cell, const storage::Group& group,
                                                                                     const ColumnSet& set, uint32_t g, std::byte* image) {
  if constexpr (RunsInRegion<Claims>) {
    const uint64_t w = unlocked_in_region(cell);
    if (!word::absent(w)) [[likely]] storage::copy_to_image(set, g, image, cell.payload(group));
    return w;
  }
  if constexpr (Sync::kRegions)
    if (store_.elision != nullptr) return read_cell_in_region<typename Sync::Backend>(store_, cell, group, set, g, image);
  return alone([&]() __attribute__((always_inline)) { return storage::read_cell(cell, group, set, g, image); });
}

template <class Sync, class Claims>
template <Purpose kPurpose>
[[gnu::always_inline]] inline auto TrackedReads<Sync, Claims>::read_together(TableType& table, Row* row, const ColumnSet& set,
                                                                                     uint32_t groups, std::byte* image) -> ReadTogether {
  ReadTogether together;
  if constexpr (Sync::kRegions) {
    if (store_.elision == nullptr) return together;
    for (const uint32_t g : Bits(writes_.empty() ? 0 : groups)) {
      if (writes_.find(row, table.layout(), g) != nullptr) groups &= ~(1u << g);
    }
    auto claim = [&](Cell& cell) __attribute__((always_inline)) {
      if constexpr (!kClaimsInRegions<kPurpose>) return true;
      else return kPurpose == Purpose::kWrite ? claims_.write_in_region(cell) : claims_.read_in_region(cell);
    };
    if (std::popcount(groups) > (kClaimsInRegions<kPurpose> ? 0 : 1) &&
        read_groups_in_region<typename Sync::Backend>(store_, table.layout(), *row, set, groups, image, together.words, claim))
      together.groups = groups;
  }
  return together;
}

template <class Sync, class Claims>
template <Purpose kPurpose>
[[gnu::always_inline]] inline Status TrackedReads<Sync, Claims>::claim_and_read_together(TableType& table, Row* row, KeyRef key,
                                                                                                 const ColumnSet& set, uint32_t groups,
                                                                                                 std::byte* image, ReadTogether* together) {
  if constexpr (kClaimsInRegions<kPurpose>) {
    *together = read_together<kPurpose>(table, row, set, groups, image);
    return claim_groups<kPurpose>(table, row, key, groups & ~together->groups);  // all groups if the region failed
  } else {
    Status status = claim_groups<kPurpose>(table, row, key, groups);
    if (status.ok()) [[likely]] *together = read_together<kPurpose>(table, row, set, groups, image);
    return status;
  }
}

}  // namespace elider::txn
