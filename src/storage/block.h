// Row blocks: their memory, and that of the payloads which they keep apart. A block is as large as
// its table's layout says, and where keys are bytes, its key stands behind the cells.
//
// Thread safety: none. Nobody else can reach a block that is being allocated or freed.
#pragma once

#include <cstring>
#include <new>

#include "base/worker.h"
#include "storage/inline_rows.h"
#include "storage/record.h"
#include "storage/zones.h"

namespace elider::storage {

inline size_t row_block_bytes(const Layout& layout, const Row* row) {
  if (!layout.byte_keys()) [[likely]] return layout.block_bytes();
  return layout.block_bytes() + sizeof(detail::KeyBytes) + row->key(layout)->size;
}

// Its cells are not set yet. Null: no memory.
inline Row* allocate_row_block(Worker& worker, const Layout& layout, detail::KeyRef key) {
  if (!layout.byte_keys()) [[likely]] {
    if (InlineRows* const places = layout.inline_rows(); places != nullptr) [[unlikely]]
      if (Row* const row = places->take(key.number()); row != nullptr) return row;
    if (Zones* const zones = layout.zones(); zones != nullptr) [[unlikely]] return zones->take(worker, key.number());
    return static_cast<Row*>(worker.allocate(layout.block_bytes(), MemoryPart::kRows));
  }
  const uint32_t key_bytes = key.bytes() == nullptr ? 0 : key.bytes()->size;
  auto* row = static_cast<Row*>(worker.allocate(layout.block_bytes() + sizeof(detail::KeyBytes) + key_bytes, MemoryPart::kRows));
  if (row == nullptr) return nullptr;
  auto* own = new (reinterpret_cast<std::byte*>(row) + layout.block_bytes()) detail::KeyBytes{key_bytes};
  if (key_bytes != 0) std::memcpy(own->data(), key.bytes()->data(), key_bytes);
  return row;
}

inline void free_row_block(Worker& worker, const Layout& layout, Row* row) {
  if (InlineRows* const places = layout.inline_rows(); places != nullptr && places->has(row)) [[unlikely]] return places->give_back(row);
  if (Zones* const zones = layout.zones(); zones != nullptr) [[unlikely]] return zones->give_back(worker, row);
  worker.free(row, row_block_bytes(layout, row), MemoryPart::kRows);
}

// For a payload of this size. Null: no memory.
inline Block* allocate_block(Worker& worker, size_t size) {
  void* const memory = worker.allocate(sizeof(Block) + size, MemoryPart::kBlocks);
  return memory == nullptr ? nullptr : new (memory) Block{size};
}
inline void free_block(Worker& worker, Block* block) { worker.free(block, sizeof(Block) + block->size, MemoryPart::kBlocks); }
// Readers may look at it until the grace period ends.
inline void retire_block(Worker& worker, Block* block) { worker.retire_memory(block, sizeof(Block) + block->size, MemoryPart::kBlocks); }

// The bytes of a row: its block, and the payloads that its cells point to.
inline size_t all_bytes(const Layout& layout, Row* row) {
  size_t bytes = row_block_bytes(layout, row);
  for (uint32_t g = 0; g < layout.group_count(); ++g)
    if (layout.group(g).block)
      if (const Block* block = row->cell(layout, g).block()) bytes += sizeof(Block) + block->size;
  return bytes;
}

inline void free_row(Worker& worker, const Layout& layout, Row* row) {
  for (uint32_t g = 0; g < layout.group_count(); ++g)
    if (layout.group(g).block)
      if (Block* block = row->cell(layout, g).block()) free_block(worker, block);
  free_row_block(worker, layout, row);
}

}  // namespace elider::storage
