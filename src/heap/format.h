// The layout of a heap's file and of its parts (DUMBO, sections 3 and 3.3).
//
//   0        FileHeader   identifies the file; written once
//   4096     Replayed     the number up to which the log has been applied to the heap. Two entries
//                         are written alternately, each at two offsets. A third entry stores the
//                         number up to which persist() has promised durability
//   8192     Marker[]     a circular array: the marker of transaction n is at n % markers
//            rings        for each slot, a redo log of log_bytes, which is a circular buffer
//   heap     the heap     a HeapPtr holds an offset in it; HeapHead (allocator.h) is at its start
//
// A redo record is a series of runs. A run is a word (count << 48 | index of the first word),
// followed by `count` words. If the count is 0, one word follows, which is the number of words to
// set to 0. Integers have the byte order of the processor, so a file can be used only on machines
// with the same byte order.
//
// Thread safety: pure functions and values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "elider/heap.h"

namespace elider::heap {

inline constexpr char kMagic[16] = "elider heap\r\n\x1a";
inline constexpr char kMagicUnmade[16] = "elider heap new";  // the file is still being created
inline constexpr uint32_t kVersion = 2;                      // version 1 did not have runs of zeros
// kReplayedAt[i] contains the two offsets of the entry whose sequence modulo 2 is i. Each offset is
// in a separate disk sector. Older programs use only the first offset of each entry.
inline constexpr uint64_t kReplayedAt[2][2] = {{4096, 5120}, {4608, 5632}};
inline constexpr uint64_t kPersistedAt = 6144;
inline constexpr uint64_t kMarkersAt = 8192;
inline constexpr uint64_t kWordBytes = 8;
inline constexpr uint64_t kHeapAlignment = 64 << 10;
// Rounds up to a multiple of kHeapAlignment.
constexpr uint64_t aligned(uint64_t bytes) { return (bytes + kHeapAlignment - 1) / kHeapAlignment * kHeapAlignment; }
inline constexpr uint64_t kBytesMin = 1 << 20, kBytesMax = uint64_t{16} << 40;  // size of a heap
inline constexpr uint64_t kNumberMax = uint64_t{1} << 56;                       // maximum transaction number and Replayed::sequence

// The ranges of HeapOptions.
inline constexpr uint32_t kThreadsMax = 64, kMarkersMin = 256, kMarkersMax = 1 << 24;
inline constexpr uint64_t kLogBytesMin = 64 << 10, kLogBytesMax = uint64_t{4} << 30;

static_assert(sizeof(kMagic) == 16 && sizeof(kMagicUnmade) == 16);  // the first 8 bytes are equal

struct FileHeader {
  char magic[16];
  uint32_t version;
  uint32_t threads;
  uint32_t markers;
  uint32_t reserved;
  uint64_t log_bytes;
  uint64_t heap_at;
  uint64_t identity;  // random; seeds the checksums, so that data from another file does not match
  uint64_t checksum;
};

struct Replayed {
  uint64_t sequence;  // of the two valid entries, the one with the larger sequence is current
  uint64_t number;
  uint64_t checksum;
};

// A marker describes the record of transaction `number`. The record has `bytes` bytes. It begins at
// position `start` in the stream of all bytes that the slot has ever written to its ring. After a
// crash, the transaction is recovered if its record is intact and all numbers up to `needs` are
// present. If `bytes` is 0, the number was given up.
//
// Recovery uses the last two words to detect gaps in the log that a crash cannot have caused. Such
// gaps are damage. The checksum does not cover these two words. A torn write may leave the two
// words of an older marker, but what they say is still true. 0 means unknown. Older programs write
// 0.
struct Marker {
  uint64_t number;
  uint64_t needs;
  uint64_t start;
  uint32_t bytes;
  uint32_t slot;
  uint64_t record_checksum;
  uint64_t checksum;
  uint64_t durable;   // all numbers up to this one were durable or replayed when this marker was written
  uint64_t previous;  // the slot's latest number that was known to be durable when this marker was written
};
static_assert(sizeof(Marker) == 64);

// The offsets of the parts of a heap's file.
struct Geometry {
  uint32_t threads = 0;
  uint32_t markers = 0;
  uint64_t log_bytes = 0;
  uint64_t heap_at = 0;
  uint64_t identity = 0;

  uint64_t marker_at(uint64_t number) const { return kMarkersAt + number % markers * sizeof(Marker); }
  uint64_t ring_at(uint32_t slot) const { return kMarkersAt + markers * sizeof(Marker) + slot * log_bytes; }
  uint64_t record_at(uint32_t slot, uint64_t start) const { return ring_at(slot) + start % log_bytes; }
};
Geometry geometry_of(const HeapOptions& options, uint64_t identity);

FileHeader encode(const Geometry& geometry);
// Checks and decodes a header. kCorrupt, kUnsupported: the message names the path.
Status decode(const FileHeader& header, const std::string& path, Geometry* geometry);
// Returns true if the file's creation was not completed. `bytes` is the number of bytes of the
// header that could be read.
bool is_unmade(const FileHeader& header, size_t bytes);

Replayed make_replayed(uint64_t sequence, uint64_t number, const Geometry& geometry);
bool is_valid(const Replayed& replayed, const Geometry& geometry);

void seal(Marker& marker, const Geometry& geometry);  // sets the marker's checksum
bool is_valid(const Marker& marker, const Geometry& geometry);
// Returns true if a program can have written these values. If not, the file is damaged, even if the
// checksum matches.
bool is_possible(const Marker& marker, const Geometry& geometry);
uint64_t record_checksum(std::span<const std::byte> record, uint64_t number, const Geometry& geometry);

// Consecutive words of the heap and their new values.
struct Run {
  uint64_t first;
  uint64_t count;
  std::span<const uint64_t> values;  // empty: the new values are 0

  uint64_t offset() const { return first * kWordBytes; }
  uint64_t bytes() const { return count * kWordBytes; }
  uint64_t end() const { return offset() + bytes(); }
  void copy_to(std::byte* heap) const {
    if (values.empty())
      std::memset(heap + offset(), 0, bytes());
    else
      std::memcpy(heap + offset(), values.data(), bytes());
  }
};
inline constexpr uint64_t kRunWordsMax = (1u << 16) - 1;
constexpr uint64_t run_header(uint64_t first, uint64_t count) { return count << 48 | first; }
// Decodes the run that begins at words[0], and removes it from `words`. Returns false if the run
// extends beyond the words, or beyond the largest possible heap.
inline bool next_run(std::span<const uint64_t>& words, Run* run) {
  uint64_t count = words[0] >> 48;
  const bool zeros = count == 0;
  const uint64_t stored = zeros ? 1 : count;
  if (stored >= words.size()) return false;
  if (zeros) count = words[1];
  *run = {words[0] & ((uint64_t{1} << 48) - 1), count, zeros ? std::span<const uint64_t>() : words.subspan(1, count)};
  words = words.subspan(1 + stored);
  return count <= kBytesMax / kWordBytes && run->end() <= kBytesMax;
}

}  // namespace elider::heap
