// HeapInside: the implementation of an open heap. It owns the file, the memory, the slots, the
// stripes, the log and the replayer.
//
// Thread safety: all threads may call all functions.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/cache_line.h"
#include "base/fork.h"
#include "elider/heap.h"
#include "heap/attempt.h"
#include "heap/format.h"
#include "heap/medium.h"
#include "heap/redo_log.h"
#include "heap/region_attempt.h"
#include "heap/replayer.h"
#include "heap/roots.h"
#include "heap/slots.h"
#include "heap/stripes.h"

namespace elider::detail {

class HeapInside {
 public:
  // Implements Heap::open(). Sets *opened if the result is ok.
  static Status open(const std::string& path, uint64_t bytes, HeapOptions options, std::unique_ptr<HeapInside>* opened);
  ~HeapInside();
  // Returns true in a forked child of the process that opened the heap. The child may call only
  // abandon(), because other threads of the parent may have been in the middle of any function
  // during the fork.
  bool in_child() const { return process_.in_child(); }
  // Replaces the destructor in a forked child. Returns the heap's memory to the system.
  void abandon();

  Status run(FunctionRef<Status(HeapTransaction&)> procedure);
  Status read(FunctionRef<Status(HeapReader&)> procedure);
  Status persist();
  Status replay();
  HeapStatus status() const;

  // -- for attempts ------------------------------------------------------------------------------
  const HeapOptions& options() const { return options_; }
  const heap::Geometry& geometry() const { return geometry_; }
  std::byte* base() const { return base_; }
  uint64_t heap_bytes() const { return heap_bytes_.load(std::memory_order_acquire); }
  heap::Slots& slots() { return slots_; }
  heap::Stripes& stripes() { return stripes_; }
  heap::RedoLog& log() { return *log_; }
  heap::RootFilter& root_filter() { return root_filter_; }
  // Makes everything durable that this thread has logged. If memory is exhausted, the error lacks a
  // message.
  Status fence() noexcept;
  bool medium_fences_for_its_thread() const { return medium_->fences_for_its_thread(); }
  bool medium_is_mapped() const { return medium_->memory() != nullptr; }
  bool has_regions() const { return regions_.run != nullptr; }
  // Returns the position of this offset in the file, for messages.
  std::string where(uint64_t offset) const { return "'" + path_ + "', at offset " + std::to_string(geometry_.heap_at + offset) + ","; }
  // Enlarges the heap to at least `bytes` bytes. kMemoryLimit: this exceeds
  // HeapOptions::capacity_bytes. kIoError: the file could not be enlarged.
  Status grow_to(uint64_t bytes);
  // Called after an error that prevents further commits from becoming durable. Makes the heap
  // read-only; `why` is the error.
  void stop(const Status& why) noexcept;
  Status stopped() const noexcept;
  // Returns true if fewer than half of the markers belong to transactions that are not replayed
  // yet.
  bool has_half_of_markers() const;
  void wake_replayer();

 private:
  HeapInside(std::string path, const HeapOptions& options, const heap::Geometry& geometry, const heap::Regions& regions,
             std::unique_ptr<heap::Medium> medium, std::unique_ptr<io::File> held);
  // Checks the log, applies it to the file, and calls start(). If `room` is not ok, or if the disk
  // lacks space for the complete heap, opens the heap read-only instead.
  Status recover(Status room);
  Status start();
  // Opens the heap read-only: applies the log only in memory. Update transactions fail with `why`.
  Status start_reading(const heap::Found& found, uint64_t bytes, const Status& why);
  Status reserve_addresses();
  bool add_roots();  // adds the roots to the filter. Returns false if the list is damaged
  Status begin_slots(uint64_t number);
  Status map_heap(uint64_t bytes);
  Status make_room(uint32_t slot, uint64_t bytes);
  // Returns false if the transaction must run alone under the software protocol.
  bool run_in_regions(uint32_t slot, FunctionRef<Status(HeapTransaction&)> procedure, Status* status);
  bool has_markers() const;
  void replay_in_background();

  const ForkGuard process_;
  const std::string path_;
  const HeapOptions options_;
  const heap::Geometry geometry_;
  const heap::Regions regions_;
  std::unique_ptr<io::File> held_;
  std::unique_ptr<heap::Medium> medium_;
  std::byte* base_ = nullptr;
  std::atomic<uint64_t> heap_bytes_{0};
  std::mutex growing_;

  heap::Slots slots_;
  heap::Stripes stripes_;
  heap::RootFilter root_filter_;
  std::unique_ptr<heap::RedoLog> log_;
  std::unique_ptr<heap::Replayer> replayer_;
  std::vector<std::unique_ptr<HeapAttempt>> attempts_;  // indexed by slot
  std::mutex alone_;

  std::mutex persisting_;  // held while RedoLog::say_persisted() is called

  std::atomic<bool> stopped_{false};
  mutable std::mutex why_;
  Status stopped_with_;

  struct alignas(kCacheLinePairBytes) Counts {
    std::atomic<uint64_t> commits{0}, reads{0}, conflicts{0}, serial{0}, regions{0};
    std::array<std::atomic<uint64_t>, kRegionCauseCount> region_aborts{};
  };
  std::unique_ptr<Counts[]> counts_;
  uint64_t recovered_ = 0, dropped_ = 0;

  std::mutex background_;
  std::condition_variable wake_;
  std::atomic<bool> woken_{false};
  bool closing_ = false;
  std::thread replaying_;
};

}  // namespace elider::detail
