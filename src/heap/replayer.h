// Replayer: applies the redo log to the heap's file (DUMBO, section 3.3). The log is applied in the
// background, when a transaction finds the log full, and after a crash.
//
// The replayer processes the markers in ascending order of their numbers. It writes the words of
// their records to the heap, makes these words durable, and only then records its progress in the
// file. After a crash, it may apply some records again, which is harmless because applying a record
// is idempotent. Thread safety: all threads may call replay(). One replay runs at a time, and other
// callers wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "heap/format.h"
#include "heap/medium.h"
#include "heap/redo_log.h"

namespace elider::heap {

// The transactions that find() found in the log.
struct Found {
  std::vector<Marker> durable;  // the markers of the transactions to recover, in ascending order of their numbers
  uint64_t dropped = 0;         // number of intact transactions that are not recovered, because they need a missing number
  uint64_t newest = 0;          // the largest number in any valid marker, or the replayed number
};

class Replayer {
 public:
  Replayer(const Geometry& geometry, Medium& medium, const std::string& path)
      : geometry_(geometry), medium_(medium), memory_(medium.memory()), path_(path) {}

  // Reads the replay progress from the file. kCorrupt: the progress is damaged, or the file is too
  // short for the log and the smallest heap.
  Status begin();
  // Finds the transactions in the log that have not been replayed.
  Status find(Found* found);
  // word_with() returns a word of the heap, and heap_bytes_with() the heap's size, as they will be
  // after `found` has been applied. The size is a multiple of kHeapAlignment. kCorrupt: the log is
  // damaged, or the file was cut short.
  Status word_with(const Found& found, uint64_t offset, uint64_t* word);
  Status heap_bytes_with(const Found& found, uint64_t* bytes);
  // Loads the heap into `memory` and applies `found` there. `memory` must contain zeros and have
  // the size that heap_bytes_with() returned. Used for heaps that are opened read-only or
  // inspected.
  Status load_heap(const Found& found, std::span<std::byte> memory);
  // Calls patch(run) for each run of a record. If patch() does not return ok, the call ends with
  // that status. kCorrupt: the record does not match its marker. If `checks` is false, the record's
  // checksum is not verified.
  template <class Patch>
  Status apply(const Marker& marker, Patch&& patch, bool checks = true);
  // Loads the words of the record at offset `at` of the file. The words are in `record_` or in
  // mapped memory, and are valid until the next call.
  Status load(const Marker& marker, uint64_t at, bool checks, std::span<const uint64_t>* words);
  // Applies `found` to the heap in the file, and records there that the log is replayed up to
  // found.newest. The file must already be large enough.
  Status recover(const Found& found);

  // Applies all records since the last replay, up to number `last`, to the heap in the file. Their
  // markers must be durable.
  Status replay(uint64_t last, RedoLog& log);
  uint64_t replayed() const { return replayed_.load(std::memory_order_acquire); }
  uint64_t words() const { return words_.load(std::memory_order_relaxed); }  // relaxed: statistics
  uint64_t replays() const { return replays_.load(std::memory_order_relaxed); }

 private:
  Status patch_heap(std::span<const Marker> markers, bool checks);
  Status patch_mapped(std::span<const Marker> markers, bool checks);
  Status say_replayed(uint64_t number);
  Status read_entry(uint64_t at, Replayed* entry);
  Status store_entry(const Replayed& entry);

  // The numbers that the markers and persist() report as durable.
  struct Claims {
    uint64_t all;                // all numbers up to this one
    std::vector<uint64_t> each;  // and each of these numbers
  };
  Status look_at(const Marker& marker, bool* is_whole);
  Status check_claims(const Claims& claims, std::span<const Marker> whole, uint64_t gapless);
  template <class Patch>
  Status for_each_run(const Marker& marker, std::span<const uint64_t> words, Patch&& patch) const;

  Status damaged(const Marker& marker) const;
  Status damaged_marker(uint64_t number) const;
  Status damaged_entries() const;

  const Geometry geometry_;
  Medium& medium_;
  std::byte* const memory_;  // the medium's memory; null if the file is not mapped
  const std::string path_;
  std::mutex mutex_;
  uint64_t sequence_ = 0;
  std::atomic<uint64_t> replayed_{0};
  std::atomic<uint64_t> words_{0}, replays_{0};
  std::vector<uint64_t> record_;
  Replayed replayed_entries_[2] = {};  // the entries that begin() found
  std::vector<Marker> markers_;
};

// Inlined, so that the processor can fetch the next record while it stores this one.
[[gnu::always_inline]] inline Status Replayer::load(const Marker& marker, uint64_t at, bool checks, std::span<const uint64_t>* words) {
  if (marker.slot >= geometry_.threads || marker.bytes % kWordBytes != 0 || marker.bytes > geometry_.log_bytes ||
      at + marker.bytes > geometry_.ring_at(marker.slot) + geometry_.log_bytes)
    return damaged(marker);
  if (memory_ != nullptr) {
    *words = {reinterpret_cast<const uint64_t*>(memory_ + at), marker.bytes / kWordBytes};
  } else {
    record_.resize(marker.bytes / kWordBytes);
    if (Status status = medium_.read(at, std::as_writable_bytes(std::span(record_))); !status.ok()) return status;
    *words = record_;
  }
  if (checks && record_checksum(std::as_bytes(*words), marker.number, geometry_) != marker.record_checksum) return damaged(marker);
  return {};
}

template <class Patch>
Status Replayer::apply(const Marker& marker, Patch&& patch, bool checks) {
  if (marker.bytes == 0) return {};
  std::span<const uint64_t> words;
  if (Status status = load(marker, geometry_.record_at(marker.slot, marker.start), checks, &words); !status.ok()) return status;
  return for_each_run(marker, words, patch);
}

template <class Patch>
Status Replayer::for_each_run(const Marker& marker, std::span<const uint64_t> words, Patch&& patch) const {
  while (!words.empty()) {
    Run run;
    if (!next_run(words, &run)) return damaged(marker);
    if (Status status = patch(run); !status.ok()) return status;
  }
  return {};
}

}  // namespace elider::heap
