// HeapAttempt: one attempt of a transaction. HeapReader and HeapTransaction are built on it. An
// attempt runs in one of two ways. In a region (region_attempt.h), it reads and writes the heap's
// words in place. Under the software protocol, its reads are plain loads, and its writes are kept
// in a write set until the commit. The software protocol follows the two versions of Pisces (DUMBO,
// section 4.1); slots.h describes when a transaction waits.
//
// Under the software protocol, an attempt reads a snapshot s, which includes all commits with
// numbers up to s (`moment_`; slots.h). The writes of some of these commits may not be in the heap
// yet; the attempt reads them from the commits' write sets. Commits with numbers above s wait for
// this attempt to end before they write to the heap, so no word changes while the attempt may read
// it.
//
// A commit locks the stripes (stripes.h) of the cache lines that it writes. A stripe with a number
// above s is a conflict. Then the commit takes its number. If the transaction is serializable, it
// also checks that the stripes of all words that it has read are unchanged.
//
// A commit first becomes visible to other transactions and then durable, and transactions that have
// seen it wait until it is durable. Under HeapWait::kOwn the order is reversed: the record is
// durable before the commit takes its number, and the marker (format.h) is durable before other
// transactions see the commit. If the commit gives up its number, the log records this before any
// transaction whose snapshot includes the number starts to read.
//
// Thread safety: used only by the thread that has claimed the slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/cache_line.h"
#include "elider/heap.h"
#include "heap/slots.h"
#include "heap/stripes.h"
#include "heap/write_set.h"

namespace elider::detail {

class alignas(kCacheLinePairBytes) HeapAttempt {
 public:
  enum class Outcome : uint8_t { kRolledBack, kDone, kConflict, kNoRoom };

  HeapAttempt(HeapInside& heap, uint32_t slot);

  HeapReader reader() { return {base_, published_.empty(), *this}; }
  HeapTransaction transaction() { return {base_, in_region_, *this}; }

  void begin(bool updates);
  // Ends a read-only transaction. Waits until everything that it has read is durable.
  Status end();
  void roll_back();
  // If the result is kDone, `status` says whether the transaction took effect and is durable.
  Outcome commit(Status* status);
  // Returns ok, or the reason why the transaction must be rolled back, such as an invalid call or
  // exhausted memory.
  const Status& doom() const { return doom_; }
  void doom(Status status) {
    needs_software();
    if (doom_.ok()) doom_ = std::move(status);
  }
  // Called before a step that a region cannot execute. If a region is running, aborts the region
  // and does not return.
  void needs_software() const {
    if (in_region_) leave_region_();
  }

  // -- in a region (region_attempt.cc) -----------------------------------------------------------

  // The variables that are written while the region's tracking is suspended. They occupy cache
  // lines that the region does not access otherwise.
  struct Window {
    uint64_t number = 0;  // 0: the region did not take a number
    bool logged = false;
    Status written;
  };
  Window& window() { return **window_; }
  // Called before the region starts. leave() aborts the region and does not return.
  void begin_region(bool is_active, void (*leave)());
  bool has_written_in_region() const { return !region_writes_.empty(); }
  // Called while tracking is suspended. Writes the log record if the medium is mapped. The marker
  // is written after the region's commit.
  void log_in_window();
  void end_aborted_region();
  // Called after the region's commit. Waits until the transaction is durable.
  Status conclude_region(bool was_active);
  // Waits until the stripe of the last conflict is unlocked, but only for a limited time.
  void wait_for_conflict() const;
  // Returns how many bytes of the log the transaction needs, if the last outcome was kNoRoom.
  uint64_t room_needed() const { return room_needed_; }

  void read_bytes(const void* place, std::span<std::byte> into);
  void write_bytes(void* place, std::span<const std::byte> bytes);
  void claim_bytes(const void* place, size_t bytes);
  // load() and store() take the index of a word in the heap, load_at() and store_at() its offset.
  uint64_t load(uint64_t word);
  void store(uint64_t word, uint64_t value);
  uint64_t load_at(uint64_t offset) { return load(offset / heap::kWordBytes); }
  void store_at(uint64_t offset, uint64_t value) { store(offset / heap::kWordBytes, value); }
  // Zeroes whole words. In the log, a zeroed range takes two words, whatever its length.
  void zero(uint64_t offset, uint64_t bytes);

  HeapFootprint footprint() const;

  HeapInside& heap() { return heap_; }
  uint32_t slot() const { return slot_; }

 private:
  struct Locked {
    uint32_t stripe;
    uint64_t number;
  };

  bool is_in_heap(const void* place, size_t bytes) const;
  bool may_write(const char* what, const void* place, size_t bytes);
  template <class Change>
  void change_writes(Change&& change);
  bool lock_stripe(uint32_t stripe);
  bool lock_stripes();
  bool reads_hold();
  void unlock_stripes(std::optional<uint64_t> number);
  heap::WriteSet& unused_writes();
  Status fenced(Status stored);
  // Called after the record and the marker were written. Waits, if the options require it, until
  // they and all numbers up to `needs` are durable.
  Status conclude(Status written, uint64_t needs);
  void give_up(uint64_t number);
  bool fences() const;

  HeapInside& heap_;
  const uint32_t slot_;
  std::byte* const base_;
  bool updates_ = false, tracks_ = false, in_region_ = false;
  void (*leave_region_)() = nullptr;
  heap::WriteSet region_writes_;
  const std::unique_ptr<CacheLine<Window>> window_ = std::make_unique<CacheLine<Window>>();
  uint64_t moment_ = 0;
  uint64_t runs_ = 0;
  uint64_t room_needed_ = 0;
  std::vector<const heap::WriteSet*> published_;
  uint64_t published_signature_ = 0;
  std::vector<std::unique_ptr<heap::WriteSet>> sets_;
  heap::WriteSet* writes_ = nullptr;  // the write set of the running update transaction
  std::vector<uint32_t> reads_;
  std::vector<Locked> locked_;
  uint32_t conflict_ = 0;
  Status doom_;
};

}  // namespace elider::detail
