// RedoLog: the rings of records and the array of markers in a heap's file, written by transactions
// (DUMBO, sections 3.2.2, 3.2.3 and 3.3).
//
// A record is in its slot's ring before its marker is in the array. Room is made by the replayer
// (replayer.h), which tells free_up_to() how far it has come.
// Thread safety: all; a slot's calls one at a time.
#pragma once

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
  // relaxed above: a hint.

  // The record of what append() will write; its bytes.
  uint64_t prepare(uint32_t slot, const WriteSet& writes) {
    rings_[slot].record.clear();
    writes.append_record(&rings_[slot].record);
    return rings_[slot].record.size() * kWordBytes;
  }
  // So that prepare() need not ask for memory.
  void reserve(uint32_t slot, uint64_t bytes) { rings_[slot].record.reserve(bytes / kWordBytes); }
  // The record and the marker; durable after a fence of the medium. There is room.
  Status append(uint32_t slot, uint64_t number, uint64_t needs) noexcept {
    const Status status = append_record(slot, number);
    return status.ok() ? append_marker(slot, needs) : status;
  }
  // The record alone. It does not count until its marker follows: the next record may take its
  // place.
  Status append_record(uint32_t slot, uint64_t number) noexcept {
    const Status status = append_unnumbered(slot);
    number_record(slot, number);
    return status;
  }
  // The same in two steps, for who has no number yet.
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
    return put(ring.marker);
  }
  // The number was given up.
  Status append_abort(uint32_t slot, uint64_t number) noexcept {
    Marker marker{};
    marker.number = number;
    marker.slot = slot;
    return put(marker);
  }
  // The replayer has what the slot wrote up to here.
  void free_up_to(uint32_t slot, uint64_t end) { rings_[slot].freed.store(end, std::memory_order_release); }
  // Where a record ends whose marker says this.
  static uint64_t end_of(uint64_t start, uint64_t bytes) {
    return (start + bytes + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
  }

 private:
  struct alignas(kCacheLinePairBytes) Ring {
    uint64_t end = 0;  // of all that was ever written
    std::vector<uint64_t> record;
    Marker marker;  // of the record that was appended last
    std::atomic<uint64_t> freed{0};
  };

  // A record does not cross the ring's end.
  uint64_t start_of(uint64_t end, uint64_t bytes) const {
    const uint64_t left = geometry_.log_bytes - end % geometry_.log_bytes;
    return bytes <= left ? end : end + left;
  }
  Status put(Marker& marker) {
    ELIDER_TEST_POINT("heap.commit.before_marker");
    seal(marker, geometry_);
    return store(geometry_.marker_at(marker.number), std::as_bytes(std::span(&marker, 1)));
  }
  // Others wait for what is written here: without memory for the words of an error it goes without
  // them.
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
};

}  // namespace elider::heap
