// Replayer: brings a heap's file up to what its redo log says (DUMBO, section 3.3): in the
// background, when a transaction finds no room, and after a crash.
//
// It goes through the markers in the order of their numbers, stores what the records say, makes
// that durable, and only then says in the file how far it is; so a crash within it repeats some of
// it, which changes nothing.
// Thread safety: all; one replay at a time, others wait.
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

// The log after a crash.
struct Found {
  std::vector<Marker> durable;  // in the order of their numbers
  uint64_t dropped = 0;         // whole, but something that they need is not
  uint64_t newest = 0;          // the greatest number of which there is a trace
};

class Replayer {
 public:
  Replayer(const Geometry& geometry, Medium& medium, const std::string& path)
      : geometry_(geometry), medium_(medium), memory_(medium.memory()), path_(path) {}

  // Reads how far the file is, which must have room for the log and the smallest heap.
  Status begin();
  // What the log has beyond that.
  Status find(Found* found);
  // What stands in a word of the heap, with what was found; and how far the heap then reaches, in
  // whole pages of kHeapAlignment. kCorrupt: the file was cut short.
  Status word_with(const Found& found, uint64_t offset, uint64_t* word);
  Status heap_bytes_with(const Found& found, uint64_t* bytes);
  // Puts the heap, with what was found, into memory that holds zeros: of an open heap that can only
  // be read, or of one that is looked at. The memory reaches as far as heap_bytes_with() says.
  Status load_heap(const Found& found, std::span<std::byte> memory);
  // patch(run) for each run of a record; a Status that is not ok ends it. kCorrupt: the record is
  // not what its marker says; `checks` false: that is known.
  template <class Patch>
  Status apply(const Marker& marker, Patch&& patch, bool checks = true);
  // The words of the record that stands `at` there in the file; in `record_` or where they are
  // mapped, valid until the next call.
  Status load(const Marker& marker, uint64_t at, bool checks, std::span<const uint64_t>* words);
  // Stores `found`, and says that the file has all up to its newest number. The file is large
  // enough.
  Status recover(const Found& found);

  // Stores all from the last replay up to number `last`, whose markers are durable.
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

  // What markers, and persist(), say was durable.
  struct Claims {
    uint64_t all;                // up to this number
    std::vector<uint64_t> each;  // and these
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
  std::byte* const memory_;  // the medium's; null: it is not mapped
  const std::string path_;
  std::mutex mutex_;
  uint64_t sequence_ = 0;
  std::atomic<uint64_t> replayed_{0};
  std::atomic<uint64_t> words_{0}, replays_{0};
  std::vector<uint64_t> record_;
  Replayed replayed_entries_[2] = {};  // as begin() found them
  std::vector<Marker> markers_;
};

// Inlined: the processor then asks for the next record while it stores this one.
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
