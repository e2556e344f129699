#include "heap/format.h"

#include <bit>
#include <cstring>

#include "base/checksum.h"

namespace elider::heap {

namespace {

constexpr uint64_t kHeaderSeed = 0x6865617031;

// Returns true if the values are within the ranges that HeapOptions allows. No version of the
// program has created a file with other values.
bool is_possible(const Geometry& geometry) {
  return geometry.threads != 0 && geometry.threads <= kThreadsMax && geometry.markers >= kMarkersMin && geometry.markers <= kMarkersMax &&
         std::has_single_bit(geometry.markers) && geometry.log_bytes >= kLogBytesMin && geometry.log_bytes <= kLogBytesMax &&
         geometry.log_bytes % 64 == 0;
}

// Returns the checksum of all fields before `checksum`.
template <class T>
uint64_t checksum_of(const T& part, uint64_t seed) {
  return checksum(std::as_bytes(std::span(&part, 1)).first(offsetof(T, checksum)), seed);
}

}  // namespace

Geometry geometry_of(const HeapOptions& options, uint64_t identity) {
  Geometry geometry{options.threads_max, options.markers, (options.log_bytes + 63) / 64 * 64, 0, identity};
  geometry.heap_at = aligned(geometry.ring_at(geometry.threads));
  return geometry;
}

FileHeader encode(const Geometry& geometry) {
  FileHeader header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kVersion;
  header.threads = geometry.threads;
  header.markers = geometry.markers;
  header.log_bytes = geometry.log_bytes;
  header.heap_at = geometry.heap_at;
  header.identity = geometry.identity;
  header.checksum = checksum_of(header, kHeaderSeed);
  return header;
}

bool is_unmade(const FileHeader& header, size_t bytes) {
  // The system stores a file's length and its first bytes separately, so after a crash the bytes
  // may be zeros.
  const FileHeader zeros{};
  if (bytes < sizeof(header))
    return bytes <= sizeof(kMagicUnmade) && (std::memcmp(&header, &zeros, bytes) == 0 || std::memcmp(&header, kMagicUnmade, bytes) == 0);
  return std::memcmp(header.magic, kMagicUnmade, sizeof(kMagicUnmade)) == 0;
}

Status decode(const FileHeader& header, const std::string& path, Geometry* geometry) {
  if (std::memcmp(header.magic, kMagicUnmade, sizeof(kMagicUnmade)) == 0)
    return {Code::kCorrupt, "'" + path + "' is not a heap yet: its creation was interrupted; Heap::open() creates it again"};
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0)
    return {Code::kCorrupt, "'" + path + "' is not a heap: it does not begin with a heap's magic number"};
  if (header.version > kVersion)
    return {Code::kUnsupported, "'" + path + "' has heap format version " + std::to_string(header.version) +
                                    "; this program reads versions up to " + std::to_string(kVersion)};
  *geometry = {header.threads, header.markers, header.log_bytes, header.heap_at, header.identity};
  // Opening a file of version 1 converts its header to version 2. On persistent memory, a crash
  // during the conversion may leave only one of the two words (version and checksum) changed, so
  // the checksum may be that of either version.
  bool is_whole = false;
  FileHeader its = header;
  for (its.version = 1; its.version <= kVersion; ++its.version) is_whole = is_whole || header.checksum == checksum_of(its, kHeaderSeed);
  // The ranges are checked first, so that the last comparison cannot overflow.
  if (!is_whole || header.version == 0 || !is_possible(*geometry) || header.heap_at != aligned(geometry->ring_at(header.threads)))
    return {Code::kCorrupt, "'" + path + "' is damaged: its header, at offset 0"};
  return {};
}

Replayed make_replayed(uint64_t sequence, uint64_t number, const Geometry& geometry) {
  Replayed replayed{sequence, number, 0};
  replayed.checksum = checksum_of(replayed, geometry.identity);
  return replayed;
}
bool is_valid(const Replayed& replayed, const Geometry& geometry) { return replayed.checksum == checksum_of(replayed, geometry.identity); }

void seal(Marker& marker, const Geometry& geometry) { marker.checksum = checksum_of(marker, geometry.identity); }
bool is_valid(const Marker& marker, const Geometry& geometry) { return marker.checksum == checksum_of(marker, geometry.identity); }

bool is_possible(const Marker& marker, const Geometry& geometry) {
  return marker.slot < geometry.threads && marker.needs < marker.number && marker.durable < marker.number &&
         marker.previous < marker.number && marker.bytes % kWordBytes == 0 && marker.bytes <= geometry.log_bytes &&
         marker.start % geometry.log_bytes + marker.bytes <= geometry.log_bytes;
}

uint64_t record_checksum(std::span<const std::byte> record, uint64_t number, const Geometry& geometry) {
  return checksum(record, geometry.identity ^ number);
}

}  // namespace elider::heap
