// Zones: the row blocks of a zoned table (SchemaOf::zoned; HyPer-HTM, section 5.1). They are stored
// contiguously in extents, so that a full scan reads memory sequentially and does not use an index.
//
//   extent   +--------+------+-----+-----------+-----+-----------+--
//            | header | used | key | row block | key | row block | ...
//            +--------+------+-----+-----------+-----+-----------+--
//                        the bound, on a cache line of its own
//
// Each zone fills its own extent, so that inserting threads do not contend. A worker inserts into
// one zone, and shares the zone only if there are more workers than zones. When an extent is full,
// the zone takes a new one. Rows never move, and the slots of removed rows are reused.
//
// Invariant: all slots below an extent's bound have cells whose commit words can be read at any
// time. The cells of a slot without a row are marked as absent, even while a row block is created
// in the slot. Slots are freed and reused like row blocks, after the grace period of their readers
// (base/worker.h).
//
// Deviation from the paper: a worker has a fixed zone instead of a random zone per transaction,
// because a worker is bound to its thread.
//
// Thread safety: all threads may call all functions, within a grace period. Lock rank: a zone's
// latch, then extents_mutex_, then those of base/memory.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/cache_line.h"
#include "base/memory.h"
#include "base/worker.h"
#include "elider/key.h"
#include "storage/layout.h"
#include "storage/record.h"
#include "sync/exclusive.h"

namespace elider::storage {

class Zones {
 public:
  static constexpr uint32_t kZonesMax = 1024;

  // May throw std::bad_alloc. `zones` is the result of zones_wanted() for the schema.
  Zones(Memory& memory, const Layout& layout, uint32_t zones);
  ~Zones();
  Zones(const Zones&) = delete;
  Zones& operator=(const Zones&) = delete;

  // Returns a slot for this key's row block, with all cells absent, or null if memory is exhausted.
  Row* take(Worker& worker, Key key);
  void give_back(Worker& worker, Row* row);
  // Frees all slots. Afterwards, no function may be called.
  void free_extents();

  // An extent. next() returns the extent that was created after it; more may be created meanwhile.
  class Extent {
   public:
    // acquire: pairs with the release stores of used_ and of the list, so a thread that sees a slot
    // or an extent also sees that it is initialized.
    uint32_t used() const { return used_.load(std::memory_order_acquire); }
    Extent* next() const { return next_.load(std::memory_order_acquire); }

   private:
    friend class Zones;
    std::atomic<Extent*> next_{nullptr};
    uint32_t capacity_ = 0, bytes_ = 0;
    alignas(kCacheLineBytes) std::atomic<uint32_t> used_{0};
  };
  // Returns the number of bytes in all extents.
  size_t bytes() const {
    const std::lock_guard lock(extents_mutex_);
    return bytes_;
  }
  Extent* first() const { return first_.load(std::memory_order_acquire); }
  size_t slot_bytes() const { return slot_bytes_; }
  // Returns the first slot of an extent. Slots are slot_bytes() apart. A slot consists of a key and
  // a row block.
  static std::byte* slots(Extent* extent) { return reinterpret_cast<std::byte*>(extent + 1); }
  static Row* row_in(std::byte* slot) { return reinterpret_cast<Row*>(slot + sizeof(Key)); }
  // Returns the key in a slot. The slot must contain a row, or must have contained a row when the
  // caller's grace period began.
  static Key key_in(const std::byte* slot) { return reinterpret_cast<const std::atomic<Key>*>(slot)->load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kExtentBytesMin = size_t{16} << 10, kExtentBytesMax = size_t{256} << 10;
  struct Zone {
    sync::SpinLatch latch;
    Extent* extent = nullptr;      // the extent that it fills
    std::byte* free = nullptr;     // slots to reuse; each points to the next one in place of its key
    uint32_t free_count = 0;
  };
  // A zone that has this many free slots moves them to the common list, because the threads that
  // insert rows may not be the threads that remove rows.
  static constexpr uint32_t kBatch = 128;

  static std::atomic<Key>& key_of(std::byte* slot) { return *reinterpret_cast<std::atomic<Key>*>(slot); }
  Zone& zone_of(const Worker& worker) { return *zones_[worker.id() % zone_count_]; }
  std::byte* take_free(Zone& zone);
  bool take_batch(Zone& zone);
  void give_batch(Zone& zone);
  std::byte* fresh_slot(Zone& zone);
  Extent* make_extent();

  const Layout& layout_;
  const size_t slot_bytes_;
  const uint32_t zone_count_;
  const std::unique_ptr<CacheLine<Zone>[]> zones_;
  std::atomic<uint32_t> batch_count_{0};  // size of batches_; only an estimate without the mutex
  mutable std::mutex extents_mutex_;      // guards the following
  std::vector<std::byte*> batches_;       // free slots, kBatch in each list
  Allocator allocator_;
  std::atomic<Extent*> first_{nullptr};
  Extent* last_ = nullptr;
  size_t bytes_ = 0;  // memory of extents
};

// Returns the number of zones that a schema requests. kZonesAutomatic requests twice the number of
// processors.
uint32_t zones_wanted(uint32_t schema_zones);

}  // namespace elider::storage
