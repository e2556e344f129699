#include "storage/zones.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <thread>

#include "base/test_points.h"
#include "elider/schema.h"

namespace elider::storage {

uint32_t zones_wanted(uint32_t schema_zones) {
  if (schema_zones != kZonesAutomatic) return schema_zones;
  return std::min(2 * std::max(1u, std::thread::hardware_concurrency()), Zones::kZonesMax);
}

Zones::Zones(Memory& memory, const Layout& layout, uint32_t zones)
    : layout_(layout), slot_bytes_(sizeof(Key) + layout.block_bytes()), zone_count_(zones), zones_(new CacheLine<Zone>[zones]),
      allocator_(memory) {}

Zones::~Zones() { free_extents(); }

void Zones::free_extents() {
  for (Extent* extent = first_.load(); extent != nullptr;) {
    Extent* const next = extent->next();
    const size_t bytes = extent->bytes_;
    extent->~Extent();
    allocator_.free(extent, bytes, MemoryPart::kRows);
    extent = next;
  }
  first_.store(nullptr);
}

Row* Zones::take(Worker& worker, Key key) {
  std::byte* slot = nullptr;
  {
    Zone& zone = zone_of(worker);
    const std::lock_guard held(zone.latch);
    if (zone.free != nullptr || take_batch(zone)) slot = take_free(zone);
    else slot = fresh_slot(zone);
  }
  // If memory is exhausted, takes a free slot from another zone.
  for (uint32_t z = 0; slot == nullptr && z < zone_count_; ++z) {
    const std::lock_guard held(zones_[z]->latch);
    if (zones_[z]->free != nullptr) slot = take_free(*zones_[z]);
  }
  if (slot == nullptr) {
    worker.is_short_of_memory();
    return nullptr;
  }
  key_of(slot).store(key, std::memory_order_relaxed);  // a commit's release publishes it together with the row
  return row_in(slot);
}

std::byte* Zones::take_free(Zone& zone) {
  std::byte* const slot = zone.free;
  zone.free = reinterpret_cast<std::byte*>(key_of(slot).load(std::memory_order_relaxed));
  --zone.free_count;
  return slot;
}

bool Zones::take_batch(Zone& zone) {
  if (batch_count_.load(std::memory_order_relaxed) == 0) [[likely]] return false;
  const std::lock_guard lock(extents_mutex_);
  if (batches_.empty()) return false;
  zone.free = batches_.back();
  zone.free_count = kBatch;
  batches_.pop_back();
  batch_count_.store(static_cast<uint32_t>(batches_.size()), std::memory_order_relaxed);
  return true;
}

// Moves kBatch free slots of the zone to the common list.
void Zones::give_batch(Zone& zone) {
  const std::lock_guard lock(extents_mutex_);
  try {
    batches_.push_back(zone.free);
  } catch (const std::bad_alloc&) {
    return;  // the zone keeps its free slots
  }
  batch_count_.store(static_cast<uint32_t>(batches_.size()), std::memory_order_relaxed);
  zone.free = nullptr;
  zone.free_count = 0;
}

// Takes an unused slot from the zone's extent, or from a new extent. Marks the slot's cells as
// absent before the bound includes the slot.
std::byte* Zones::fresh_slot(Zone& zone) {
  if (zone.extent == nullptr || zone.extent->used_.load(std::memory_order_relaxed) == zone.extent->capacity_) {
    Extent* const made = make_extent();
    if (made == nullptr) return nullptr;
    zone.extent = made;
  }
  const uint32_t used = zone.extent->used_.load(std::memory_order_relaxed);
  std::byte* const slot = slots(zone.extent) + used * slot_bytes_;
  std::memset(slot, 0, slot_bytes_);  // touches the pages, so that a hardware transaction is not the first to do so (htm/prefault.h)
  new (slot) std::atomic<Key>(0);
  if (ELIDER_MUTANT(kBoundBeforeCells)) zone.extent->used_.store(used + 1, std::memory_order_release);
  for (uint32_t g = 0; g < layout_.group_count(); ++g) {
    ELIDER_TEST_POINT("zones.before_cell");
    Cell& cell = row_in(slot)->cell(layout_, g);
    cell.set_word(word::kAbsent);
    cell.set_snapshot(0);
    cell.set_previous(nullptr);
    if (layout_.group(g).block) cell.set_contents(Contents::nothing(0));
  }
  zone.extent->used_.store(used + 1, std::memory_order_release);
  return slot;
}

Zones::Extent* Zones::make_extent() {
  const std::lock_guard lock(extents_mutex_);
  // A small table has small extents, but each has room for at least one slot.
  const size_t wanted = std::clamp(bytes_ / 8, kExtentBytesMin, kExtentBytesMax);
  const size_t bytes = std::max(wanted, sizeof(Extent) + slot_bytes_);
  void* const memory = allocator_.allocate(bytes, MemoryPart::kRows);
  if (memory == nullptr) return nullptr;
  auto* const extent = new (memory) Extent;
  extent->bytes_ = static_cast<uint32_t>(bytes);
  extent->capacity_ = static_cast<uint32_t>((bytes - sizeof(Extent)) / slot_bytes_);
  bytes_ += allocator_.bytes_taken(bytes);
  // release: a thread that finds the extent sees that it is initialized.
  if (last_ == nullptr) first_.store(extent, std::memory_order_release);
  else last_->next_.store(extent, std::memory_order_release);
  return last_ = extent;
}

void Zones::give_back(Worker& worker, Row* row) {
  // If the row never entered the index, its cells may still be locked.
  for (uint32_t g = 0; g < layout_.group_count(); ++g) row->cell(layout_, g).unlock(word::kAbsent | word::kRemoved);
  auto* const slot = reinterpret_cast<std::byte*>(row) - sizeof(Key);
  Zone& zone = zone_of(worker);
  const std::lock_guard held(zone.latch);
  key_of(slot).store(reinterpret_cast<Key>(zone.free), std::memory_order_relaxed);
  zone.free = slot;
  if (++zone.free_count == kBatch) [[unlikely]] give_batch(zone);
}

}  // namespace elider::storage
