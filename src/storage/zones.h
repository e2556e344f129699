// Zones: where the row blocks of a zoned table stand (SchemaOf::zoned; HyPer-HTM, section 5.1):
// side by side in extents, so that a full scan runs over memory and not through an index.
//
//   extent   +--------+------+-----+-----------+-----+-----------+--
//            | header | used | key | row block | key | row block | ...
//            +--------+------+-----+-----------+-----+-----------+--
//                        the bound, on a cache line of its own
//
// Each zone fills an extent of its own, so that threads which insert do not meet; a worker inserts
// into one zone, which it shares with others only where there are more workers than zones. An
// extent that is full stays where it is, belongs to no zone any more, and the zone takes the next
// one: rows do not move, and who scans notices nothing. Slots of removed rows are used again.
//
// Invariant: all slots below an extent's bound have cells whose words can be read at any time: a
// slot that holds no row is absent, also while a row block is being made in it. Slots are freed and
// used again as row blocks are: after the grace period of who may look at them (base/worker.h).
//
// Deviation from the paper: a worker's zone is its own rather than a random one for each
// transaction, since a worker is bound to its thread.
//
// Thread safety: all functions by all threads, within a grace period. Lock rank: a zone's latch,
// then extents_mutex_, then those of base/memory.h.
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

  // May throw std::bad_alloc. zones: schema_zones() of what the schema says.
  Zones(Memory& memory, const Layout& layout, uint32_t zones);
  ~Zones();
  Zones(const Zones&) = delete;
  Zones& operator=(const Zones&) = delete;

  // A slot for this key's row block, all of whose cells are absent. Null: no memory.
  Row* take(Worker& worker, Key key);
  void give_back(Worker& worker, Row* row);

  // Extents in the order in which they were made; more may be made meanwhile.
  class Extent {
   public:
    // acquire: pairs with the bound's and the list's release: slots and extents are as they were
    // made.
    uint32_t used() const { return used_.load(std::memory_order_acquire); }
    Extent* next() const { return next_.load(std::memory_order_acquire); }

   private:
    friend class Zones;
    std::atomic<Extent*> next_{nullptr};
    uint32_t capacity_ = 0, bytes_ = 0;
    alignas(kCacheLineBytes) std::atomic<uint32_t> used_{0};
  };
  // The memory that all extents take.
  size_t bytes() const {
    const std::lock_guard lock(extents_mutex_);
    return bytes_;
  }
  Extent* first() const { return first_.load(std::memory_order_acquire); }
  size_t slot_bytes() const { return slot_bytes_; }
  // Slots of an extent, from the first one on, slot_bytes() apart: a key, then the row block.
  static std::byte* slots(Extent* extent) { return reinterpret_cast<std::byte*>(extent + 1); }
  static Row* row_in(std::byte* slot) { return reinterpret_cast<Row*>(slot + sizeof(Key)); }
  // Of a slot that holds a row, or held one when the caller's grace period began.
  static Key key_in(const std::byte* slot) { return reinterpret_cast<const std::atomic<Key>*>(slot)->load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kExtentBytesMin = size_t{16} << 10, kExtentBytesMax = size_t{256} << 10;
  struct Zone {
    sync::SpinLatch latch;
    Extent* extent = nullptr;      // that it fills
    std::byte* free = nullptr;     // slots to be used again, each naming the next one where its key stood
    uint32_t free_count = 0;
  };
  // So many free slots a zone gives to all: who inserts need not be who removes.
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
  std::atomic<uint32_t> batch_count_{0};  // in batches_; a guess without the mutex
  mutable std::mutex extents_mutex_;      // guards what follows
  std::vector<std::byte*> batches_;       // free slots, kBatch in each list
  Allocator allocator_;
  std::atomic<Extent*> first_{nullptr};
  Extent* last_ = nullptr;
  size_t bytes_ = 0;  // of memory that extents take
};

// How many zones a schema asks for: Schema::zones, or twice the processors.
uint32_t zones_wanted(uint32_t schema_zones);

}  // namespace elider::storage
