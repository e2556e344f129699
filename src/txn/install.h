// The part of a commit that changes rows. All protocols share it. It allocates the memory for the
// writes, keeps old versions for snapshot readers, and installs the new bytes (DBX, Algorithm 1;
// storage/snapshots.h explains the order of the steps).
//
// All memory is allocated before the first row changes, because the commit must not fail from then
// on.
// Thread safety: the caller must have locked the commit words of all cells that it writes
// (storage/record.h), or must run in a hardware transaction.
#pragma once

#include <new>

#include "base/test_points.h"
#include "base/worker.h"
#include "elider/snapshot_number.h"
#include "storage/block.h"
#include "txn/counters.h"
#include "txn/write_set.h"

namespace elider::txn {

// -- memory ---------------------------------------------------------------------------------------

// Allocates the new block for a write to a column group that is stored in a separate block. Does
// nothing if the row block has space for the new variable-size row. Returns false if memory is
// exhausted. Not inlined, so that the loop in allocate_blocks() stays small.
[[gnu::noinline]] inline bool allocate_block(Worker& worker, WriteEntry& write) {
  const storage::Layout& layout = write.table->layout();
  const size_t bytes = layout.sized_rows() ? WriteSet::image_bytes(layout, write.image) : write.layout_group().payload_bytes;
  if (layout.sized_rows() && bytes <= write.cell->contents().capacity_bytes()) return true;
  write.block = storage::allocate_block(worker, layout, bytes);
  return write.block != nullptr;
}

// Allocates the new blocks of all writes that need one. Returns null, or the write for which memory
// was exhausted.
[[gnu::always_inline]] inline WriteEntry* allocate_blocks(Worker& worker, WriteSet& writes) {
  for (WriteEntry& write : writes) {
    if (!write.layout_group().block || write.leaves_none()) [[likely]] continue;
    if (!allocate_block(worker, write)) return &write;
  }
  return nullptr;
}

// Returns true if the commit must keep the old version, because a snapshot reader may need it.
// `newest_reader` is the number of the newest snapshot that is being read.
inline bool needs_version(const WriteEntry& write, SnapshotNumber newest_reader) {
  if (write.kind == WriteKind::kNone || write.cell->snapshot() > newest_reader) return false;
  return write.cell->snapshot() != 0 || !storage::word::absent(write.locked_from);  // otherwise the row did not exist before
}

// Returns the size of the payload in the old version of an existing row. A row that is stored in
// its row block is copied to a block in the version, because the next write overwrites it.
inline size_t version_payload_bytes(const WriteEntry& write) {
  const storage::Group& group = write.layout_group();
  if (!group.block) return group.payload_bytes;
  const storage::Contents old = write.cell->contents();
  return sizeof(storage::Block*) + (old.is_inside() ? sizeof(storage::Block) + old.inside_size() : 0);
}

// Allocates the old version that `write` replaces. Returns false if memory is exhausted.
[[gnu::noinline]] inline bool allocate_version(Worker& worker, WriteEntry& write) {
  const storage::Group& group = write.layout_group();
  const bool absent = storage::word::absent(write.locked_from);
  const size_t bytes = sizeof(storage::Version) + (absent ? 0 : version_payload_bytes(write));
  auto* version = static_cast<storage::Version*>(worker.allocate(bytes, MemoryPart::kVersions));
  if (version == nullptr) return false;
  ShardedCounts* const counts = &write.table->layout().memory().versions;
  write.version = new (version) storage::Version{write.cell->snapshot() + (ELIDER_MUTANT(kOldVersionNewer) ? 1 : 0),
                                                 storage::word::version_number(write.locked_from), write.cell->previous(), counts,
                                                 static_cast<uint32_t>(bytes), absent, group.block};
  return true;
}

// Allocates all old versions that must be kept. Returns null, or the write for which memory was
// exhausted.
[[gnu::always_inline]] inline WriteEntry* allocate_versions(Worker& worker, WriteSet& writes, SnapshotNumber newest_reader) {
  for (WriteEntry& write : writes)
    if (needs_version(write, newest_reader) && !allocate_version(worker, write)) return &write;
  return nullptr;
}

// Frees the blocks and versions that a failed commit has allocated.
inline void free_unused(Worker& worker, WriteSet& writes) {
  for (WriteEntry& write : writes) {
    if (write.block != nullptr) storage::free_block(worker, write.table->layout(), write.block);
    if (write.version != nullptr) worker.free(write.version, write.version->bytes, MemoryPart::kVersions);
  }
}

// -- writing --------------------------------------------------------------------------------------

inline void reclaim_version(Worker& worker, void* object, uint64_t) {
  auto* version = static_cast<storage::Version*>(object);
  version->counts->add(worker.id(), -1, -storage::taken(worker, version->bytes));
  worker.free(version, version->bytes, MemoryPart::kVersions);
}

// Copies the cell's payload to write.version, and makes that version the cell's previous one.
inline void link_version(WriteEntry& write) {
  storage::Version* version = write.version;
  const storage::Group& group = write.layout_group();
  if (!version->absent) {
    if (group.block) {
      const storage::Contents old = write.cell->contents();
      storage::Block* block = old.block();
      if (old.is_inside()) {
        static_assert((sizeof(storage::Version) + sizeof block) % alignof(storage::Block) == 0);
        block = new (version->payload_inside() + sizeof block) storage::Block{old.inside_size()};
        if (!ELIDER_MUTANT(kShareSmallRow)) guarded_copy(block->payload(), write.cell->payload_at(old.inside_offset()), block->size);
      }
      std::memcpy(version->payload_inside(), &block, sizeof block);
    } else {
      guarded_copy(version->payload_inside(), write.cell->payload_inside(), group.payload_bytes);
    }
  }
  write.cell->set_previous(version);
}
inline void retire_version(Worker& worker, storage::Version* version) {
  version->counts->add(worker.id(), 1, storage::taken(worker, version->bytes));
  worker.retire(reclaim_version, version, 0, version->bytes);
}
inline void keep_version(Worker& worker, WriteEntry& write) {
  link_version(write);
  retire_version(worker, write.version);
}

// Writes a variable-size row: into its row block if no new block was allocated, and otherwise into
// the new block. The image contains the entire row. Readers may still use the old block until the
// grace period ends.
[[gnu::noinline]] inline void write_sized_row(Worker& worker, WriteEntry& write) {
  const storage::Layout& layout = write.table->layout();
  storage::Block* const old_block = write.cell->block();
  if (write.block != nullptr) {
    guarded_copy(write.block->payload(), write.image, write.block->size);
    write.cell->set_block(write.block);
  } else {
    const storage::Contents contents = storage::contents_inside(layout, write.row, WriteSet::image_bytes(layout, write.image));
    racy_copy_out(write.cell->payload_at(contents.inside_offset()), write.image, contents.inside_size());
    write.cell->set_contents(contents);
  }
  if (old_block != nullptr) storage::retire_block(worker, layout, old_block);
}

[[gnu::always_inline]] inline void write_payload(Worker& worker, WriteEntry& write) {
  const storage::Group& group = write.layout_group();
  std::byte* payload = write.cell->payload_inside();
  if (group.block) [[unlikely]] {
    if (write.table->layout().sized_rows()) return write_sized_row(worker, write);
    // The new block is a modified copy of the old one. Readers may still use the old block until
    // the grace period ends.
    if (storage::Block* const old_block = write.cell->block()) {
      if (write.kind == WriteKind::kUpdate) guarded_copy(write.block->payload(), old_block->payload(), old_block->size);
      storage::retire_block(worker, write.table->layout(), old_block);
    }
    payload = write.block->payload();
  }
  storage::copy_to_payload(*write.columns, write.group, payload, write.image);
  if (write.additions != nullptr)
    for (const Addition& a : *write.additions)
      if (!ELIDER_MUTANT(kLoseAddition) || &a == &write.additions->front())
        storage::add_to_payload(a.type, payload + a.payload_offset, &a.delta);
  if (group.block) [[unlikely]] write.cell->set_block(write.block);
}

// Updates the table's row count if `write` inserts or removes a row. Each row is counted once, when
// the write of its column group 0 takes effect.
inline void count_row(Counters& counters, const WriteEntry& write) {
  if (write.kind == WriteKind::kNone) return;
  const bool absent = write.kind == WriteKind::kRemove;
  if (write.group == 0 && absent != storage::word::absent(write.locked_from))
    counters.tables[write.table->id()].rows.add(absent ? -1 : 1);
}

// Writes a locked column group, sets its snapshot number to `n`, and unlocks it with the next
// version number.
[[gnu::always_inline]] inline void install(Worker& worker, Counters& counters, WriteEntry& write, SnapshotNumber n) {
  if (write.kind == WriteKind::kNone) return;
  if (ELIDER_MUTANT(kUnlockEarly)) write.cell->unlock(write.locked_from);
  ELIDER_TEST_POINT("occ.commit.before_payload");
  if (write.version != nullptr) [[unlikely]] keep_version(worker, write);
  if (write.kind != WriteKind::kRemove) write_payload(worker, write);
  write.cell->set_snapshot(n);
  count_row(counters, write);
  write.cell->unlock(storage::word::next(write.locked_from, write.kind == WriteKind::kRemove));
}

}  // namespace elider::txn
