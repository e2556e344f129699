// RedoLog: writes the records and markers of transactions to the rings and the marker array of a
// heap's file (format.h; DUMBO, sections 3.2.2, 3.2.3 and 3.3).
//
// A record is stored in its slot's ring before its marker is stored in the array. The replayer
// (replayer.h) frees the space of records that it has applied, by calling free_up_to(). Thread
// safety: all threads may call all functions, but only one thread at a time for the same slot.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "base/cache_line.h"
#include "heap/format.h"
#include "heap/medium.h"
#include "heap/slots.h"
#include "heap/write_set.h"

namespace elider::heap {

class RedoLog {
 public:
  RedoLog(const Geometry& geometry, Medium& medium)
      : geometry_(geometry), medium_(medium), rings_(std::make_unique<Ring[]>(geometry.threads)) {}

  uint64_t record_bytes_max() const { return geometry_.log_bytes / 2; }
  bool has_room(uint32_t slot, uint64_t bytes) const {
    const Ring& ring = rings_[slot];
    return end_of(start_of(ring.end, bytes), bytes) - ring.freed.load(std::memory_order_acquire) <= geometry_.log_bytes;
  }
  bool is_half_full(uint32_t slot) const {
    return 2 * (rings_[slot].end - rings_[slot].freed.load(std::memory_order_relaxed)) > geometry_.log_bytes;
  }
  // The load above is relaxed because its result is only a hint.

  // Builds the record that append() will write, and returns its size in bytes.
  uint64_t prepare(uint32_t slot, const WriteSet& writes) {
    rings_[slot].record.clear();
    writes.append_record(&rings_[slot].record);
    return rings_[slot].record.size() * kWordBytes;
  }
  // Reserves memory for a record of `bytes` bytes, so that prepare() does not allocate.
  void reserve(uint32_t slot, uint64_t bytes) { rings_[slot].record.reserve(bytes / kWordBytes); }
  // Writes the record and the marker, which are durable after Medium::fence(). The ring must have
  // room (has_room()).
  Status append(uint32_t slot, uint64_t number, uint64_t needs) noexcept {
    const Status status = append_record(slot, number);
    return status.ok() ? append_marker(slot, needs) : status;
  }
  // Writes only the record. Recovery ignores a record without a marker, and the slot's next record
  // overwrites it.
  Status append_record(uint32_t slot, uint64_t number) noexcept {
    const Status status = append_unnumbered(slot);
    number_record(slot, number);
    return status;
  }
  // append_unnumbered() and number_record() are the two steps of append_record(), for a commit that
  // does not have a number yet.
  Status append_unnumbered(uint32_t slot) noexcept {
    Ring& ring = rings_[slot];
    const auto record = std::as_bytes(std::span(ring.record));
    ring.marker = {};
    ring.marker.start = start_of(ring.end, record.size());
    ring.marker.bytes = static_cast<uint32_t>(record.size());
    ring.marker.slot = slot;
    return store(geometry_.record_at(slot, ring.marker.start), record);
  }
  void number_record(uint32_t slot, uint64_t number) {
    Ring& ring = rings_[slot];
    ring.marker.number = number;
    ring.marker.record_checksum = record_checksum(std::as_bytes(std::span(ring.record)), number, geometry_);
  }
  Status append_marker(uint32_t slot, uint64_t needs) noexcept {
    Ring& ring = rings_[slot];
    ring.marker.needs = needs;
    ring.end = end_of(ring.marker.start, ring.marker.bytes);
    return put(ring);
  }
  // Writes a marker that says that the number was given up.
  Status append_abort(uint32_t slot, uint64_t number) noexcept {
    Ring& ring = rings_[slot];
    ring.marker = {};
    ring.marker.number = number;
    ring.marker.slot = slot;
    return put(ring);
  }

  // Sets the numbers that the slot's next markers report as durable (Marker::durable and previous):
  // the slot's last number, and all numbers up to `all`.
  void last_is_durable(uint32_t slot, uint64_t all) {
    Ring& ring = rings_[slot];
    ring.previous = ring.marker.number;
    ring.durable = std::max(ring.durable, all);
  }
  // After this call, the markers of all slots report that the numbers up to `all` are durable.
  void all_is_durable(uint64_t all) {
    uint64_t known = durable_.load(std::memory_order_relaxed);  // relaxed: the exchange below checks it
    while (known < all && !durable_.compare_exchange_weak(known, all, std::memory_order_acq_rel)) {
    }
  }
  // Records in the file that persist() has promised durability up to number `all`. The entry is not
  // fenced. If a crash loses the entry, the only consequence is that recovery detects less damage.
  // Only one thread at a time may call this function.
  void say_persisted(uint64_t all) noexcept {
    if (all <= persisted_) return;
    persisted_ = all;
    const Replayed entry = make_replayed(1, all, geometry_);
    static_cast<void>(store(kPersistedAt, std::as_bytes(std::span(&entry, 1))));
  }
  // Called when the replayer has applied everything in the slot's ring before position `end`.
  void free_up_to(uint32_t slot, uint64_t end) { rings_[slot].freed.store(end, std::memory_order_release); }
  // Returns the end of a record's space in the ring.
  static uint64_t end_of(uint64_t start, uint64_t bytes) {
    return (start + bytes + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
  }

 private:
  struct alignas(kCacheLinePairBytes) Ring {
    uint64_t end = 0;  // number of bytes that the slot has ever written
    std::vector<uint64_t> record;
    Marker marker;  // the last record's marker
    uint64_t durable = 0, previous = 0;
    std::atomic<uint64_t> freed{0};
  };

  // Returns where a record begins. A record must not cross the ring's end.
  uint64_t start_of(uint64_t end, uint64_t bytes) const {
    const uint64_t left = geometry_.log_bytes - end % geometry_.log_bytes;
    return bytes <= left ? end : end + left;
  }
  Status put(Ring& ring) {
    ELIDER_TEST_POINT("heap.commit.before_marker");
    Marker& marker = ring.marker;
    marker.durable = std::max(ring.durable, durable_.load(std::memory_order_acquire));
    marker.previous = ring.previous;
    seal(marker, geometry_);
    return store(geometry_.marker_at(marker.number), std::as_bytes(std::span(&marker, 1)));
  }
  // If memory is exhausted, the error lacks a message. Does not throw, because other transactions
  // wait for this write.
  Status store(uint64_t offset, std::span<const std::byte> bytes) noexcept {
    try {
      return medium_.store(offset, bytes);
    } catch (const std::bad_alloc&) {
      return {Code::kIoError, Cause::kNone};
    }
  }

  const Geometry geometry_;
  Medium& medium_;
  std::unique_ptr<Ring[]> rings_;
  std::atomic<uint64_t> durable_{0};
  uint64_t persisted_ = 0;
};

}  // namespace elider::heap
