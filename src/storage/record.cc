#include "storage/record.h"

namespace elider::storage {

namespace {

// Returns the version that a reader at snapshot `rs` sees, or null if the row was absent. Sets
// *sequence to the version's sequence number, or to 0.
const Version* version_at(const Version* newest, SnapshotNumber rs, uint64_t* sequence) {
  const Version* version = newest;
  while (version != nullptr && version->snapshot > rs) version = version->previous;
  *sequence = version == nullptr ? 0 : version->sequence;
  return version == nullptr || version->absent ? nullptr : version;
}

}  // namespace

bool read_version_at(const Version* newest, const ColumnSet& columns, uint32_t g, SnapshotNumber rs, std::byte* image, uint64_t* sequence) {
  const Version* const version = version_at(newest, rs, sequence);
  if (version == nullptr) return false;
  const std::byte* payload = version->payload();
  for (uint32_t s = columns.begin[g]; s < columns.begin[g + 1]; ++s)
    guarded_copy(image + columns.spans[s].row_offset, payload + columns.spans[s].payload_offset, columns.spans[s].size);
  return true;
}

bool read_cell_at(const Cell& cell, const Group& group, const ColumnSet& columns, uint32_t g, SnapshotNumber rs, std::byte* image,
                  uint64_t* sequence) {
  for (;;) {
    const uint64_t w = cell.load_unlocked();
    const SnapshotNumber n = cell.snapshot();
    if (n <= rs) [[likely]] {
      if (word::absent(w)) {
        if (!cell.unchanged(w)) continue;
        *sequence = word::sequence(w);
        return false;
      }
      copy_to_image(columns, g, image, cell.payload(group));
      ELIDER_TEST_POINT("read.copied");
      if (!cell.unchanged(w) && !ELIDER_MUTANT(kIgnoreLockBit)) continue;
      *sequence = word::sequence(w);
      return true;
    }
    const Version* version = cell.previous();
    if (!cell.unchanged(w) && !ELIDER_MUTANT(kIgnoreLockBit)) continue;  // otherwise the pair (n, previous) may not belong together
    return read_version_at(version, columns, g, rs, image, sequence);
  }
}

const Block* find_block_at(const Cell& cell, SnapshotNumber rs, uint64_t* sequence) {
  for (;;) {
    const uint64_t w = cell.load_unlocked();
    const bool now = cell.snapshot() <= rs;
    const Block* const block = word::absent(w) ? nullptr : cell.block();
    const Version* const previous = cell.previous();
    if (!cell.unchanged(w) && !ELIDER_MUTANT(kIgnoreLockBit)) continue;
    if (!now) {
      const Version* const version = version_at(previous, rs, sequence);
      return version == nullptr ? nullptr : version->its_block();
    }
    *sequence = word::sequence(w);
    return block;
  }
}

}  // namespace elider::storage
