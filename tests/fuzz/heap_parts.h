// The parts of a small heap's file that are in use, as the input of a fuzz target. The file itself
// has a megabyte. Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/checksum.h"
#include "elider/heap.h"
#include "heap/format.h"

namespace elider::fuzz {

inline constexpr const char* kHeapPath = "/disk/a.heap";

inline HeapOptions heap_options() {
  HeapOptions options;
  options.threads_max = 2;
  options.log_bytes = 64 << 10;
  options.markers = 256;
  options.capacity_bytes = 4 << 20;
  options.background_replay = false;
  return options;
}

struct HeapPart {
  uint64_t at, bytes;
};
// Returns the parts in the order of the input.
inline std::vector<HeapPart> heap_parts() {
  const heap::Geometry geometry = heap::geometry_of(heap_options(), 0);
  std::vector<HeapPart> parts = {{0, sizeof(heap::FileHeader)}};
  for (const auto& places : heap::kReplayedAt)
    for (const uint64_t at : places) parts.push_back({at, sizeof(heap::Replayed)});
  parts.push_back({heap::kPersistedAt, sizeof(heap::Replayed)});
  parts.push_back({heap::kMarkersAt, 16 * sizeof(heap::Marker)});
  for (uint32_t slot = 0; slot < geometry.threads; ++slot) parts.push_back({geometry.ring_at(slot), 2048});
  parts.push_back({geometry.heap_at, 8192});
  return parts;
}

inline std::vector<std::byte> heap_of(const std::vector<std::byte>& input) {
  std::vector<std::byte> file(heap::geometry_of(heap_options(), 0).heap_at + heap::kBytesMin);
  size_t done = 0;
  for (const HeapPart& part : heap_parts()) {
    const size_t bytes = std::min<size_t>(part.bytes, input.size() - done);
    std::copy_n(input.begin() + static_cast<ptrdiff_t>(done), bytes, file.begin() + static_cast<ptrdiff_t>(part.at));
    done += bytes;
  }
  return file;
}
inline std::vector<std::byte> input_of(std::span<const std::byte> file) {
  std::vector<std::byte> input;
  for (const HeapPart& part : heap_parts()) {
    const auto bytes = file.subspan(part.at, part.bytes);
    input.insert(input.end(), bytes.begin(), bytes.end());
  }
  return input;
}

template <class T>
T part_at(const std::vector<std::byte>& file, uint64_t at) {
  T part;
  std::memcpy(&part, file.data() + at, sizeof(part));
  return part;
}

// Corrects the checksums of the header, the entries, the markers, and the records that these lead
// to.
inline void fit_checksums(std::vector<std::byte>& file) {
  constexpr uint64_t kHeaderSeed = 0x6865617031;
  const auto put = [&](uint64_t at, const auto& part) { std::memcpy(file.data() + at, &part, sizeof(part)); };
  auto header = part_at<heap::FileHeader>(file, 0);
  header.checksum = checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(heap::FileHeader, checksum)), kHeaderSeed);
  put(0, header);
  heap::Geometry geometry = heap::geometry_of(heap_options(), header.identity);
  const auto fit_entry = [&](uint64_t at) {
    const auto entry = part_at<heap::Replayed>(file, at);
    if (entry.sequence != 0) put(at, heap::make_replayed(entry.sequence, entry.number, geometry));
  };
  for (const auto& places : heap::kReplayedAt)
    for (const uint64_t at : places) fit_entry(at);
  fit_entry(heap::kPersistedAt);
  for (uint64_t i = 0; i < 16; ++i) {
    auto marker = part_at<heap::Marker>(file, geometry.marker_at(i));
    if (marker.number == 0) continue;
    if (heap::is_possible(marker, geometry))
      marker.record_checksum = heap::record_checksum(
          std::span(file).subspan(geometry.record_at(marker.slot, marker.start), marker.bytes), marker.number, geometry);
    heap::seal(marker, geometry);
    put(geometry.marker_at(i), marker);
  }
}

}  // namespace elider::fuzz
