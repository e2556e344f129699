#include "heap/replayer.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/test_points.h"
#include "heap/allocator.h"

namespace elider::heap {

namespace {
// Zeroes whole pages without touching them, because a range of zeros may be far larger than the
// machine's memory.
Status zero_pages(std::span<std::byte> memory) {
  constexpr uintptr_t kPage = 4096;
  const auto begin = reinterpret_cast<uintptr_t>(memory.data()), end = begin + memory.size();
  const uintptr_t first = (begin + kPage - 1) / kPage * kPage, last = end / kPage * kPage;
  if (first >= last) {
    std::memset(memory.data(), 0, memory.size());
    return {};
  }
  std::memset(memory.data(), 0, first - begin);
  std::memset(memory.data() + (last - begin), 0, end - last);
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
  void* const pages = memory.data() + (first - begin);
  return ::mmap(pages, last - first, PROT_READ | PROT_WRITE, kFlags, -1, 0) == pages
             ? Status()
             : Status(Code::kMemoryLimit, "cannot reserve address space for " + std::to_string(memory.size()) + " bytes of a heap");
}
}  // namespace

Status Replayer::begin() {
  uint64_t bytes = 0;
  if (Status status = medium_.size(&bytes); !status.ok()) return status;
  if (bytes < geometry_.heap_at + kBytesMin)
    return {Code::kCorrupt, "'" + path_ + "' is damaged: it ends at offset " + std::to_string(bytes)};
  Replayed entry{};
  for (const auto& places : kReplayedAt)
    for (const uint64_t at : places) {
      if (Status status = read_entry(at, &entry); !status.ok()) return status;
      if (entry.sequence == 0) continue;
      // Older programs write an entry at only one of its two offsets, so the entry at the other
      // offset may be older.
      Replayed& newest = replayed_entries_[entry.sequence % 2];
      if (entry.sequence > newest.sequence) newest = entry;
      if (entry.sequence <= sequence_) continue;
      sequence_ = entry.sequence;
      replayed_.store(entry.number, std::memory_order_release);
    }
  return sequence_ != 0 ? Status() : damaged_entries();
}

// Reads the entry at offset `at`. Sets *entry to zeros if it is not valid. kCorrupt: the checksum
// matches, but no program can have written these numbers.
Status Replayer::read_entry(uint64_t at, Replayed* entry) {
  if (Status status = medium_.read(at, std::as_writable_bytes(std::span(entry, 1))); !status.ok()) return status;
  if (!is_valid(*entry, geometry_)) *entry = {};
  return entry->sequence <= kNumberMax && entry->number <= kNumberMax ? Status() : damaged_entries();
}
Status Replayer::damaged_entries() const {
  return {Code::kCorrupt,
          "'" + path_ + "' is damaged: the record of its replay progress, at offset " + std::to_string(kReplayedAt[0][0])};
}

// A transaction is recovered if its marker and its record are intact and all numbers up to its
// `needs` are present. Only a transaction that meets these conditions can have returned to its
// caller. If transaction A has read from transaction B, A's `needs` is at least B's number, so if A
// is recovered, B is recovered as well.
//
// A gap in the numbers was caused by a crash or by damage. It is damage if a marker or the entry of
// persist() says that the missing number was durable, because a crash does not remove durable data.
Status Replayer::find(Found* found) {
  const uint64_t from = replayed();
  found->newest = from;
  Replayed persisted{};
  if (Status status = read_entry(kPersistedAt, &persisted); !status.ok()) return status;
  Claims claims{.all = persisted.number, .each = {}};
  std::vector<Marker> whole;
  std::vector<Marker> part(std::min<uint64_t>(geometry_.markers, 4096));
  for (uint64_t first = 0; first < geometry_.markers; first += part.size()) {
    if (Status status = medium_.read(geometry_.marker_at(first), std::as_writable_bytes(std::span(part))); !status.ok()) return status;
    for (uint64_t i = 0; i < part.size(); ++i) {
      const Marker& marker = part[i];
      if (!is_valid(marker, geometry_) || marker.number <= from) continue;
      // The number of transactions that wait for replay cannot exceed the number of markers.
      if (marker.number > from + geometry_.markers) return damaged_entries();
      if (marker.number % geometry_.markers != first + i || !is_possible(marker, geometry_)) return damaged_marker(marker.number);
      found->newest = std::max(found->newest, marker.number);
      claims.all = std::max(claims.all, marker.durable);
      if (marker.previous > from) claims.each.push_back(marker.previous);
      bool is_whole = false;
      if (Status status = look_at(marker, &is_whole); !status.ok()) return status;
      if (is_whole) whole.push_back(marker);
    }
  }
  std::sort(whole.begin(), whole.end(), [](const Marker& a, const Marker& b) { return a.number < b.number; });
  uint64_t gapless = from;
  for (const Marker& marker : whole)
    if (marker.number == gapless + 1) ++gapless;
  if (Status status = check_claims(claims, whole, gapless); !status.ok()) return status;
  for (const Marker& marker : whole) {
    if (marker.needs <= gapless || ELIDER_MUTANT(kHeapIgnoreNeeds))
      found->durable.push_back(marker);
    else
      ++found->dropped;
  }
  return {};
}

// Sets *is_whole to true if the marker's record is intact. If the record is not intact, a crash
// occurred before the record was durable. kCorrupt: the checksum matches, but the record does not
// consist of valid runs.
Status Replayer::look_at(const Marker& marker, bool* is_whole) {
  std::span<const uint64_t> words;
  const Status status = marker.bytes == 0 ? Status() : load(marker, geometry_.record_at(marker.slot, marker.start), true, &words);
  *is_whole = status.ok();
  if (status.code() == Code::kCorrupt) return {};
  return status.ok() ? for_each_run(marker, words, [](const Run&) { return Status(); }) : status;
}

Status Replayer::check_claims(const Claims& claims, std::span<const Marker> whole, uint64_t gapless) {
  uint64_t missing = claims.all > gapless ? gapless + 1 : 0;
  for (const uint64_t number : claims.each) {
    const auto at = std::lower_bound(whole.begin(), whole.end(), number, [](const Marker& a, uint64_t b) { return a.number < b; });
    if (number > gapless && (at == whole.end() || at->number != number)) missing = number;
  }
  if (missing == 0 || ELIDER_MUTANT(kHeapIgnoreClaims)) return {};
  if (missing > replayed() + geometry_.markers) return damaged_entries();
  Marker marker{};
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(&marker, 1));
  if (Status status = medium_.read(geometry_.marker_at(missing), bytes); !status.ok()) return status;
  return is_valid(marker, geometry_) && marker.number == missing ? damaged(marker) : damaged_marker(missing);
}

Status Replayer::word_with(const Found& found, uint64_t offset, uint64_t* word) {
  if (Status status = medium_.read(geometry_.heap_at + offset, std::as_writable_bytes(std::span(word, 1))); !status.ok()) return status;
  const uint64_t number = offset / kWordBytes;
  for (const Marker& marker : found.durable) {
    const Status status = apply(marker, [&](const Run& run) {
      if (number - run.first < run.count) *word = run.values.empty() ? 0 : run.values[number - run.first];
      return Status();
    });
    if (!status.ok()) return status;
  }
  return {};
}

// After a crash, the log may be durable although the file's new length is not. In that case the
// length is derived from the log.
Status Replayer::heap_bytes_with(const Found& found, uint64_t* bytes) {
  uint64_t used = 0;
  if (Status status = medium_.size(bytes); !status.ok()) return status;
  *bytes -= std::min(*bytes, geometry_.heap_at);
  if (Status status = word_with({}, HeapHead::kNextChunkAt, &used); !status.ok()) return status;
  const auto damaged = [&] {
    return Status(Code::kCorrupt,
                  "'" + path_ + "' is damaged: it has " + std::to_string(*bytes) + " bytes of a heap that uses " + std::to_string(used));
  };
  if (used > *bytes) return damaged();
  if (Status status = word_with(found, HeapHead::kNextChunkAt, &used); !status.ok()) return status;
  if (used < HeapHead::bytes(geometry_.threads) || used > kBytesMax || used % kCacheLineBytes != 0) return damaged();
  *bytes = std::max(*bytes, used);
  // A transaction cannot have written beyond the end that the heap had when the transaction ran.
  // That end was the file's end or the end of an allocated chunk.
  for (const Marker& record : found.durable) {
    const Status status = apply(record, [&](const Run& run) { return run.end() <= *bytes ? Status() : this->damaged(record); });
    if (!status.ok()) return status;
  }
  *bytes = aligned(*bytes);
  return {};
}

Status Replayer::load_heap(const Found& found, std::span<std::byte> memory) {
  uint64_t bytes = 0;
  if (Status status = medium_.size(&bytes); !status.ok()) return status;
  // Maps whole pages of the file. Bytes beyond the file's end are 0.
  const uint64_t there = std::min<uint64_t>((bytes - geometry_.heap_at + 4095) / 4096 * 4096, memory.size());
  if (Status status = medium_.map_data_copy_on_write(geometry_.heap_at, memory.first(there)); !status.ok()) return status;
  const auto patch = [&](const Run& run) -> Status {
    if (run.values.empty()) return zero_pages(memory.subspan(run.offset(), run.bytes()));
    run.copy_to(memory.data());
    return {};
  };
  for (const Marker& marker : found.durable)
    if (Status status = apply(marker, patch); !status.ok()) return status;
  return {};
}

Status Replayer::damaged_marker(uint64_t number) const {
  return {Code::kCorrupt, "'" + path_ + "' is damaged: the marker of transaction " + std::to_string(number) + ", at offset " +
                              std::to_string(geometry_.marker_at(number))};
}
Status Replayer::damaged(const Marker& marker) const {
  return {Code::kCorrupt, "'" + path_ + "' is damaged: the redo record of transaction " + std::to_string(marker.number) + ", at offset " +
                              std::to_string(geometry_.record_at(marker.slot, marker.start))};
}

// While the function stores the words of one record, it prefetches the records of the next few
// markers.
Status Replayer::patch_mapped(std::span<const Marker> markers, bool checks) {
  constexpr size_t kAhead = 6, kPlacesKept = 8;
  static_assert(kAhead < kPlacesKept);
  // The number of bytes that are prefetched for each record, whatever its length. A branch on the
  // length would often be mispredicted, and the bytes after a shorter record are useful as well,
  // because they are the slot's next record.
  constexpr uint64_t kAheadBytes = 4 * kCacheLineBytes;
  // Most runs have one word. A single comparison detects such a run and checks that its word is
  // within the largest possible heap.
  constexpr uint64_t kOneWord = run_header(0, 1), kPlaces = kBytesMax / kWordBytes;
  std::byte* const heap = memory_ + geometry_.heap_at;
  const bool flushes = medium_.flushes_patched();
  uint64_t records[kPlacesKept];
  const auto ask_for = [&](size_t i) {
    if (i >= markers.size()) return;
    const uint64_t at = records[i % kPlacesKept] = geometry_.record_at(markers[i].slot, markers[i].start);
    for (uint64_t line = 0; line < kAheadBytes; line += kCacheLineBytes) __builtin_prefetch(memory_ + at + line);
  };
  for (size_t i = 0; i < kAhead; ++i) ask_for(i);
  for (size_t i = 0; i < markers.size(); ++i) {
    ask_for(i + kAhead);
    if (markers[i].bytes == 0) continue;
    std::span<const uint64_t> words;
    if (Status status = load(markers[i], records[i % kPlacesKept], checks, &words); !status.ok()) return status;
    while (!words.empty()) {
      const uint64_t place = words[0] - kOneWord;
      if (place < kPlaces && words.size() > 1) [[likely]] {
        std::memcpy(heap + place * kWordBytes, &words[1], kWordBytes);
        if (flushes) medium_.flush(geometry_.heap_at + place * kWordBytes, kWordBytes);
        words = words.subspan(2);
        continue;
      }
      Run run;
      if (!next_run(words, &run)) return damaged(markers[i]);
      run.copy_to(heap);
      if (flushes) medium_.flush(geometry_.heap_at + run.offset(), run.bytes());
    }
  }
  return {};
}

Status Replayer::patch_heap(std::span<const Marker> markers, bool checks) {
  if (memory_ != nullptr) return patch_mapped(markers, checks);
  const auto patch = [&](const Run& run) -> Status {
    static constexpr std::array<std::byte, kPatchBytesMax> kZeros{};
    const std::span<const std::byte> values = std::as_bytes(run.values);
    for (uint64_t done = 0; done < run.bytes();) {
      const uint64_t at = geometry_.heap_at + run.offset() + done;
      const uint64_t part = std::min(run.bytes() - done, kPatchBytesMax - at % kPatchBytesMax);
      const std::span<const std::byte> bytes = values.empty() ? std::span(kZeros).first(part) : values.subspan(done, part);
      if (Status status = medium_.patch(at, bytes); !status.ok()) return status;
      done += part;
    }
    return {};
  };
  for (const Marker& marker : markers)
    if (Status status = apply(marker, patch, checks); !status.ok()) return status;
  return {};
}

Status Replayer::store_entry(const Replayed& entry) {
  for (const uint64_t at : kReplayedAt[entry.sequence % 2])
    if (Status status = medium_.store(at, std::as_bytes(std::span(&entry, 1))); !status.ok()) return status;
  return {};
}

Status Replayer::say_replayed(uint64_t number) {
  const Replayed now = make_replayed(sequence_ + 1, number, geometry_);
  if (Status status = store_entry(now); !status.ok()) return status;
  if (Status status = medium_.fence(); !status.ok()) return status;
  sequence_ = now.sequence;
  replayed_.store(number, std::memory_order_release);
  return {};
}

// First stores the log again, to make it durable. If the previous process was killed, the log may
// be only in the page cache. After a failed sync, the system considers the log written although it
// may not be on the disk. Without this step, a power failure during the following steps could leave
// some new words in the heap without their log records.
Status Replayer::recover(const Found& found) {
  std::lock_guard lock(mutex_);
  const FileHeader header = encode(geometry_);  // the header in the current format version
  Status status = medium_.store(0, std::as_bytes(std::span(&header, 1)));
  for (const Replayed& known : replayed_entries_)
    if (status.ok() && known.sequence != 0) status = store_entry(known);
  for (const Marker& marker : found.durable) {
    std::span<const uint64_t> words;
    const uint64_t at = geometry_.record_at(marker.slot, marker.start);
    if (status.ok() && marker.bytes != 0) status = load(marker, at, true, &words);
    if (status.ok() && memory_ != nullptr)
      medium_.flush(at, marker.bytes);  // the mapped file already contains the record
    else if (status.ok() && marker.bytes != 0)
      status = medium_.store(at, std::as_bytes(words));
    if (status.ok()) status = medium_.store(geometry_.marker_at(marker.number), std::as_bytes(std::span(&marker, 1)));
  }
  // Rewrites the file's last byte, so that the file's length becomes durable as well.
  uint64_t length = 0;
  std::byte last{};
  if (status.ok()) status = medium_.size(&length);
  if (status.ok()) status = medium_.read(length - 1, {&last, 1});
  if (status.ok()) status = medium_.store(length - 1, {&last, 1});
  if (status.ok() && !ELIDER_MUTANT(kHeapPatchBeforeLog)) status = medium_.fence();
  if (status.ok()) status = patch_heap(found.durable, true);
  if (status.ok()) status = medium_.settle();
  return status.ok() ? say_replayed(found.newest) : status;
}

Status Replayer::replay(uint64_t last, RedoLog& log) {
  std::lock_guard lock(mutex_);
  const uint64_t from = replayed();
  if (last <= from) return {};
  std::vector<uint64_t> ends(geometry_.threads, 0);  // the end of each slot's last record
  uint64_t words = 0;
  for (uint64_t number = from + 1; number <= last;) {
    // Processes up to 256 markers that are contiguous in the file.
    const uint64_t count = std::min<uint64_t>({last - number + 1, geometry_.markers - number % geometry_.markers, 256});
    std::span<const Marker> markers;
    if (memory_ != nullptr) {
      markers = {reinterpret_cast<const Marker*>(memory_ + geometry_.marker_at(number)), count};
    } else {
      markers_.resize(count);
      if (Status status = medium_.read(geometry_.marker_at(number), std::as_writable_bytes(std::span(markers_))); !status.ok())
        return status;
      markers = markers_;
    }
    for (const Marker& marker : markers) {
      // This process has written the mapped markers itself, so it need not verify their checksums.
      if (marker.number != number || marker.slot >= geometry_.threads || (memory_ == nullptr && !is_valid(marker, geometry_)))
        return damaged_marker(number);
      words += marker.bytes / kWordBytes;
      if (marker.bytes != 0) ends[marker.slot] = RedoLog::end_of(marker.start, marker.bytes);
      ++number;
    }
    if (Status status = patch_heap(markers, false); !status.ok()) return status;
    ELIDER_TEST_POINT("heap.replay.within");
  }
  if (Status status = medium_.settle(); !status.ok()) return status;
  ELIDER_TEST_POINT("heap.replay.before_saying");
  if (Status status = say_replayed(last); !status.ok()) return status;
  replays_.fetch_add(1, std::memory_order_relaxed);  // relaxed: statistics
  words_.fetch_add(words, std::memory_order_relaxed);
  log.all_is_durable(last);  // before the space is reused, because the markers of records stored there must report this
  for (uint32_t slot = 0; slot < geometry_.threads; ++slot)
    if (ends[slot] != 0) log.free_up_to(slot, ends[slot]);
  return {};
}

}  // namespace elider::heap
