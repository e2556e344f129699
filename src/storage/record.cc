#include "storage/record.h"

namespace elider::storage {

namespace {

// Returns the version that a reader at snapshot `rs` sees, or null if the row was absent. Sets
// *version_number to the version's version number, or to 0.
const Version* version_at(const Version* newest, SnapshotNumber rs, uint64_t* version_number) {
  const Version* version = newest;
  while (version != nullptr && version->snapshot > rs) version = version->previous;
  *version_number = version == nullptr ? 0 : version->version_number;
  return version == nullptr || version->absent ? nullptr : version;
}

}  // namespace

bool read_version_at(const Version* newest, const ColumnSet& columns, uint32_t g, SnapshotNumber rs, std::byte* image,
                     uint64_t* version_number) {
  const Version* const version = version_at(newest, rs, version_number);
  if (version == nullptr) return false;
  const std::byte* payload = version->payload();
  for (uint32_t s = columns.begin[g]; s < columns.begin[g + 1]; ++s)
    guarded_copy(image + columns.spans[s].row_offset, payload + columns.spans[s].payload_offset, columns.spans[s].size);
  return true;
}

bool read_cell_at(const Cell& cell, const Group& group, const ColumnSet& columns, uint32_t g, SnapshotNumber rs, std::byte* image,
                  uint64_t* version_number) {
  for (;;) {
    const uint64_t w = cell.load_unlocked();
    const SnapshotNumber n = cell.snapshot();
    if (n <= rs) [[likely]] {
      if (word::absent(w)) {
        if (!cell.unchanged(w)) continue;
        *version_number = word::version_number(w);
        return false;
      }
      copy_to_image(columns, g, image, cell.payload(group));
      ELIDER_TEST_POINT("read.copied");
      if (!cell.unchanged(w) && !ELIDER_MUTANT(kIgnoreLockBit)) continue;
      *version_number = word::version_number(w);
      return true;
    }
    const Version* version = cell.previous();
    if (!cell.unchanged(w) && !ELIDER_MUTANT(kIgnoreLockBit)) continue;  // otherwise the pair (n, previous) may not belong together
    return read_version_at(version, columns, g, rs, image, version_number);
  }
}

SizedRow old_sized_row(const Version* newest, SnapshotNumber rs, uint64_t* version_number) {
  const Version* const version = version_at(newest, rs, version_number);
  if (version == nullptr) return {};
  const Block* const block = version->its_block();
  return {block->payload(), block->size};
}

}  // namespace elider::storage
