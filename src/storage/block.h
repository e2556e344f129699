// Functions that allocate and free row blocks, and payloads that are stored separately from them.
// The table's layout determines the size of a row block. If keys are byte strings, the key follows
// the cells. If rows have variable sizes, space for a small row follows:
//
//   +-------+---------------------+-----------------------------+
//   | cells | key, if it is bytes | a variable-size row, if small |
//   +-------+---------------------+-----------------------------+
//
// Thread safety: the block being allocated or freed must not be reachable by other threads.
#pragma once

#include <algorithm>
#include <cstring>
#include <new>

#include "base/worker.h"
#include "storage/inline_rows.h"
#include "storage/record.h"
#include "storage/zones.h"

namespace elider::storage {

inline int64_t taken(const Worker& worker, size_t bytes) { return static_cast<int64_t>(worker.bytes_taken(bytes)); }

// Returns the size of a row block with a key of this size, without the space for a variable-size
// row.
inline size_t row_head_bytes(const Layout& layout, uint32_t key_bytes) {
  const size_t bytes = layout.block_bytes() + (layout.byte_keys() ? sizeof(detail::KeyBytes) + key_bytes : 0);
  return layout.sized_rows() ? (bytes + 7) / 8 * 8 : bytes;
}
inline size_t row_head_bytes(const Layout& layout, const Row* row) {
  return row_head_bytes(layout, layout.byte_keys() ? row->key(layout)->size : 0);
}
inline size_t row_block_bytes(const Layout& layout, Row* row) {
  if (layout.plain_rows()) [[likely]] return layout.block_bytes();
  return row_head_bytes(layout, row) + (layout.sized_rows() ? row->cell(layout, 0).contents().capacity_bytes() : 0);
}
// Returns the Contents of the cell if the row block contains a variable-size row of `size` bytes,
// for which it must have space.
inline Contents contents_inside(const Layout& layout, Row* row, size_t size) {
  return row->cell(layout, 0).contents().inside(row_head_bytes(layout, row) - layout.group(0).cell_offset, size);
}

// Allocates a row block whose size depends on its key or its row.
[[gnu::noinline]] inline Row* allocate_varying_row_block(Worker& worker, const Layout& layout, detail::KeyRef key, size_t row_bytes) {
  const uint32_t key_bytes = layout.byte_keys() && key.bytes() != nullptr ? key.bytes()->size : 0;
  const size_t head = row_head_bytes(layout, key_bytes);
  size_t capacity = 0;
  if (layout.sized_rows() && row_bytes <= kSizedInsideBytesMax)  // the allocator rounds sizes up, so the row may grow a little
    capacity = std::min((worker.bytes_taken(head + row_bytes) - head) / 8 * 8, size_t{kSizedInsideBytesMax});
  auto* row = static_cast<Row*>(worker.allocate(head + capacity, MemoryPart::kRows));
  if (row == nullptr) return nullptr;
  layout.memory().outside.add(worker.id(), 1, taken(worker, head + capacity));
  if (layout.sized_rows()) row->cell(layout, 0).set_contents(Contents::nothing(capacity));
  if (!layout.byte_keys()) return row;
  auto* own = new (reinterpret_cast<std::byte*>(row) + layout.block_bytes()) detail::KeyBytes{key_bytes};
  if (key_bytes != 0) std::memcpy(own->data(), key.bytes()->data(), key_bytes);
  return row;
}

// Allocates a row block for the key. Its cells are not initialized, except in a zoned table, and
// except for the Contents of a variable-size row, for which the block gets space if the row has at
// most kSizedInsideBytesMax bytes. `row_bytes` is the size of that row. Returns null if memory is
// exhausted.
inline Row* allocate_row_block(Worker& worker, const Layout& layout, detail::KeyRef key, size_t row_bytes) {
  if (layout.plain_rows()) [[likely]] {
    if (InlineRows* const places = layout.inline_rows(); places != nullptr) [[unlikely]] {
      if (Row* const row = places->take(key.number()); row != nullptr) return row;
      void* const outside = worker.allocate(layout.block_bytes(), MemoryPart::kRows);
      if (outside != nullptr) layout.memory().outside.add(worker.id(), 1, taken(worker, layout.block_bytes()));
      return static_cast<Row*>(outside);
    }
    if (Zones* const zones = layout.zones(); zones != nullptr) [[unlikely]] return zones->take(worker, key.number());
    return static_cast<Row*>(worker.allocate(layout.block_bytes(), MemoryPart::kRows));
  }
  return allocate_varying_row_block(worker, layout, key, row_bytes);
}

inline void free_row_block(Worker& worker, const Layout& layout, Row* row) {
  const size_t bytes = row_block_bytes(layout, row);
  if (InlineRows* const places = layout.inline_rows(); places != nullptr || !layout.plain_rows()) [[unlikely]] {
    if (places != nullptr && places->has(row)) return places->give_back(row);
    layout.memory().outside.add(worker.id(), -1, -taken(worker, bytes));
  }
  if (Zones* const zones = layout.zones(); zones != nullptr) [[unlikely]] return zones->give_back(worker, row);
  worker.free(row, bytes, MemoryPart::kRows);
}

// Allocates a payload of this size for a row with this layout. Returns null if memory is exhausted.
inline Block* allocate_block(Worker& worker, const Layout& layout, size_t size) {
  const size_t bytes = sizeof(Block) + size;
  void* const memory = worker.allocate(bytes, MemoryPart::kBlocks);
  if (memory == nullptr) return nullptr;
  layout.memory().blocks.add(worker.id(), 1, taken(worker, bytes));
  return new (memory) Block{size};
}
inline void free_block(Worker& worker, const Layout& layout, Block* block) {
  const size_t bytes = sizeof(Block) + block->size;
  layout.memory().blocks.add(worker.id(), -1, -taken(worker, bytes));
  worker.free(block, bytes, MemoryPart::kBlocks);
}
inline void reclaim_block(Worker& worker, void* block, uint64_t layout_address) {
  free_block(worker, *reinterpret_cast<const Layout*>(layout_address), static_cast<Block*>(block));
}
// Retires the block. Readers may use it until the grace period ends.
inline void retire_block(Worker& worker, const Layout& layout, Block* block) {
  worker.retire(reclaim_block, block, reinterpret_cast<uint64_t>(&layout), sizeof(Block) + block->size);
}

// Returns the number of bytes that a row occupies: its block, and the payloads to which its cells
// point.
inline size_t all_bytes(const Layout& layout, Row* row) {
  size_t bytes = row_block_bytes(layout, row);
  for (uint32_t g = 0; g < layout.group_count(); ++g)
    if (layout.group(g).block)
      if (const Block* block = row->cell(layout, g).block()) bytes += sizeof(Block) + block->size;
  return bytes;
}

// Frees the payloads to which the row's cells point.
inline void free_blocks(Worker& worker, const Layout& layout, Row* row) {
  for (uint32_t g = 0; g < layout.group_count(); ++g)
    if (layout.group(g).block)
      if (Block* block = row->cell(layout, g).block()) free_block(worker, layout, block);
}
inline void free_row(Worker& worker, const Layout& layout, Row* row) {
  free_blocks(worker, layout, row);
  free_row_block(worker, layout, row);
}

}  // namespace elider::storage
