#include "log/format.h"

#include <algorithm>
#include <cstdio>

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/test_points.h"

namespace elider::log {

namespace {

constexpr uint64_t kSegmentMagic = 0x31474f4c444c45;  // "ELDLOG1" and a zero
constexpr uint32_t kFrameMagic = 0x4d524645;          // "EFRM"
constexpr uint64_t kManifestMagic = 0x314e4d444c45;   // "ELDMN1" and zeros

// Returns the checksum of the payload, seeded with the checksum of the header's other fields.
uint64_t frame_checksum(Bytes frame, uint64_t seed) {
  return checksum(frame.subspan(kFrameHeaderBytes), checksum(frame.first(kFrameHeaderBytes - 8), seed));
}

}  // namespace

Status check_version(uint32_t version, uint32_t newest) {
  if (version >= 1 && version <= newest) return {};
  return Status(Code::kUnsupported, "unknown format version " + std::to_string(version) + "; this program reads version " +
                                        std::to_string(newest) + (newest == 1 ? "" : " and earlier"));
}

// -- names ----------------------------------------------------------------------------------------

std::string file_name(const SegmentName& name) {
  char text[48];
  std::snprintf(text, sizeof text, "log-%08x-%02x-%08x", name.generation, name.stream, name.segment);
  return text;
}

bool parse_file_name(const std::string& text, SegmentName* name) {
  SegmentName parsed;
  if (std::sscanf(text.c_str(), "log-%8x-%2x-%8x", &parsed.generation, &parsed.stream, &parsed.segment) != 3) return false;
  if (file_name(parsed) != text) return false;
  *name = parsed;
  return true;
}

uint64_t seed_of(const DatabaseId& database, const SegmentName& name) {
  std::byte bytes[28];
  put(bytes, database[0]);
  put(bytes + 8, database[1]);
  put(bytes + 16, name.generation);
  put(bytes + 20, name.stream);
  put(bytes + 24, name.segment);
  return checksum(bytes, 0);
}

// -- segments -------------------------------------------------------------------------------------

void encode(const SegmentHeader& header, std::vector<std::byte>* out) {
  std::byte bytes[kSegmentHeaderBytes]{};
  put(bytes, kSegmentMagic);
  put(bytes + 8, kFormatVersion);
  put(bytes + 12, header.name.generation);
  put(bytes + 16, header.database[0]);
  put(bytes + 24, header.database[1]);
  put(bytes + 32, header.name.stream);
  put(bytes + 36, header.name.segment);
  put(bytes + 40, header.first_frame);
  put(bytes + 48, header.closed);
  put(bytes + 56, checksum(Bytes(bytes, 56), 0));
  out->insert(out->end(), bytes, bytes + kSegmentHeaderBytes);
}

namespace {
Status check_header(Bytes bytes) {
  if (bytes.size() < kSegmentHeaderBytes) return Status(Code::kCorrupt, "the segment's header is cut short");
  if (get<uint64_t>(bytes.data()) != kSegmentMagic)
    return Status(Code::kCorrupt, "the segment's header does not begin with its magic number");
  // The checksum is at this offset in every version, so an unknown version is reported as
  // unsupported and not as damage.
  if (get<uint64_t>(bytes.data() + 56) != checksum(bytes.first(56), 0))
    return Status(Code::kCorrupt, "the segment header's checksum does not match");
  return check_version(get<uint32_t>(bytes.data() + 8), kFormatVersion);
}
}  // namespace

Status database_of(Bytes bytes, DatabaseId* database) {
  if (Status status = check_header(bytes); !status.ok()) return status;
  *database = {get<uint64_t>(bytes.data() + 16), get<uint64_t>(bytes.data() + 24)};
  return {};
}

Status decode(Bytes bytes, const DatabaseId& database, const SegmentName& expected, SegmentHeader* header) {
  if (Status status = database_of(bytes, &header->database); !status.ok()) return status;
  header->name = {get<uint32_t>(bytes.data() + 12), get<uint32_t>(bytes.data() + 32), get<uint32_t>(bytes.data() + 36)};
  header->first_frame = get<uint64_t>(bytes.data() + 40);
  header->closed = get<uint64_t>(bytes.data() + 48);
  if (header->database != database) return Status(Code::kCorrupt, "the segment belongs to another database");
  if (!(header->name == expected)) return Status(Code::kCorrupt, "its header is that of " + file_name(header->name));
  return {};
}

// -- frames ---------------------------------------------------------------------------------------

void seal(const FrameHeader& header, uint64_t seed, std::span<std::byte> frame) {
  std::byte* to = frame.data();
  put(to, kFrameMagic);
  put(to + 4, header.payload_bytes);
  put(to + 8, header.sequence);
  put(to + 16, header.closed);
  put(to + 24, header.durable);
  put(to + 32, header.first_number);
  put(to + 40, header.last_number);
  put(to + 48, header.records);
  put(to + 52, uint32_t{0});
  put(to + 56, frame_checksum(frame, seed));
}

bool peek_frame(Bytes bytes, FrameHeader* header) {
  if (bytes.size() < kFrameHeaderBytes || get<uint32_t>(bytes.data()) != kFrameMagic || get<uint32_t>(bytes.data() + 52) != 0) return false;
  *header = {get<uint64_t>(bytes.data() + 8),  get<uint64_t>(bytes.data() + 16), get<uint64_t>(bytes.data() + 24),
             get<uint64_t>(bytes.data() + 32), get<uint64_t>(bytes.data() + 40), get<uint32_t>(bytes.data() + 4),
             get<uint32_t>(bytes.data() + 48)};
  return header->payload_bytes <= kFramePayloadBytesMax && header->payload_bytes / kRecordHeaderBytes >= header->records &&
         (header->payload_bytes == 0) == (header->records == 0) && header->first_number <= header->last_number;
}

bool open_frame(Bytes bytes, uint64_t seed, FrameHeader* header) {
  if (!peek_frame(bytes, header) || header->payload_bytes > bytes.size() - kFrameHeaderBytes) return false;
  return get<uint64_t>(bytes.data() + 56) == frame_checksum(bytes.first(kFrameHeaderBytes + header->payload_bytes), seed) ||
         ELIDER_MUTANT(kSkipFrameChecksum);
}

std::string frame_fault(Bytes bytes, uint64_t sequence) {
  const Bytes begin = bytes.first(std::min(bytes.size(), kFrameHeaderBytes));
  if (std::all_of(begin.begin(), begin.end(), [](std::byte b) { return b == std::byte{0}; }))
    return "found zeros instead of the header of frame " + std::to_string(sequence);
  std::byte magic[4];
  put(magic, kFrameMagic);
  if (!std::equal(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(std::min(bytes.size(), sizeof(magic))), magic))
    return "the data there does not begin with a frame's magic number";
  if (bytes.size() < kFrameHeaderBytes) return "the header of frame " + std::to_string(sequence) + " is cut short";
  FrameHeader header;
  if (!peek_frame(bytes, &header)) return "the header of frame " + std::to_string(sequence) + " is invalid";
  if (header.sequence != sequence)
    return "found the header of frame " + std::to_string(header.sequence) + " instead of that of frame " + std::to_string(sequence);
  if (header.payload_bytes > bytes.size() - kFrameHeaderBytes)
    return "frame " + std::to_string(sequence) + " is cut short: the file has " + std::to_string(bytes.size()) + " of its " +
           std::to_string(kFrameHeaderBytes + header.payload_bytes) + " bytes";
  return "the checksum of frame " + std::to_string(sequence) + " does not match";
}

void put_record_header(std::byte* to, SnapshotNumber number, uint32_t bytes) {
  put(to, number);
  put(to + 8, bytes);
}

bool take_record(Bytes* payload, Record* record) {
  if (payload->size() < kRecordHeaderBytes) return false;
  const uint32_t bytes = get<uint32_t>(payload->data() + 8);
  if (bytes > payload->size() - kRecordHeaderBytes) return false;
  *record = {get<uint64_t>(payload->data()), payload->subspan(kRecordHeaderBytes, bytes)};
  *payload = payload->subspan(kRecordHeaderBytes + bytes);
  return true;
}

// -- the manifest ---------------------------------------------------------------------------------

namespace {
constexpr size_t kManifestFixedBytes = 56;    // bytes before the checkpoints
constexpr size_t kManifestFixedBytes1 = 48;   // in version 1: bytes before the generations
constexpr size_t kManifestEntryBytes = 16;    // a checkpoint's entry, or a generation's entry without its first segments

// Decodes `count` generations. Returns false unless they fill `from` exactly. `first_segments` says
// whether this format version lists each stream's first segment.
bool take_generations(Bytes from, uint64_t count, bool first_segments, std::vector<Generation>* generations) {
  generations->clear();
  for (; count > 0; --count) {
    if (from.size() < kManifestEntryBytes) return false;
    Generation generation{get<uint32_t>(from.data()), get<uint32_t>(from.data() + 4), get<uint64_t>(from.data() + 8), {}};
    from = from.subspan(kManifestEntryBytes);
    if (generation.streams > kStreamsMax) return false;
    generation.first_segments.resize(generation.streams);
    if (first_segments) {
      if (from.size() < 4 * size_t{generation.streams}) return false;
      for (uint32_t s = 0; s < generation.streams; ++s) generation.first_segments[s] = get<uint32_t>(from.data() + 4 * s);
      from = from.subspan(4 * size_t{generation.streams});
    }
    generations->push_back(std::move(generation));
  }
  return from.empty();
}

Status check_numbers(const Manifest& manifest) {
  const auto refuse = [](const char* what, uint64_t number) {
    return Status(Code::kCorrupt,
                  std::string("the manifest's ") + what + " is " + std::to_string(number) + ", which is above the largest possible number");
  };
  if (manifest.next_number >= kNumbersEnd) return refuse("next number", manifest.next_number);
  for (const Checkpoint& checkpoint : manifest.checkpoints)
    if (checkpoint.number >= kNumbersEnd) return refuse("checkpoint's number", checkpoint.number);
  for (const Generation& generation : manifest.generations) {
    if (generation.cut >= kNumbersEnd && generation.cut != kNumberMax) return refuse("cut", generation.cut);
    if (generation.generation == ~uint32_t{0}) return refuse("generation", generation.generation);
  }
  return {};
}

}  // namespace

std::string file_name(const CheckpointName& name) {
  char text[48];
  std::snprintf(text, sizeof text, "checkpoint-%016llx-%08x", static_cast<unsigned long long>(name.number), name.part);
  return text;
}

bool parse_file_name(const std::string& text, CheckpointName* name) {
  unsigned long long number = 0;
  CheckpointName parsed;
  if (std::sscanf(text.c_str(), "checkpoint-%16llx-%8x", &number, &parsed.part) != 2) return false;
  parsed.number = number;
  if (file_name(parsed) != text) return false;
  *name = parsed;
  return true;
}

std::vector<std::byte> encode(const Manifest& manifest) {
  std::vector<std::byte> bytes(kManifestFixedBytes);
  put(bytes.data(), kManifestMagic);
  put(bytes.data() + 8, kManifestVersion);
  put(bytes.data() + 12, manifest.folders);
  put(bytes.data() + 16, manifest.database[0]);
  put(bytes.data() + 24, manifest.database[1]);
  put(bytes.data() + 32, manifest.next_number);
  put(bytes.data() + 40, static_cast<uint64_t>(manifest.generations.size()));
  put(bytes.data() + 48, static_cast<uint64_t>(manifest.checkpoints.size()));
  const auto grow = [&](size_t by) {
    bytes.resize(bytes.size() + by);
    return bytes.data() + bytes.size() - by;
  };
  for (const Checkpoint& checkpoint : manifest.checkpoints) {
    std::byte* to = grow(kManifestEntryBytes);
    put(to, checkpoint.number);
    put(to + 8, checkpoint.parts);
    put(to + 12, uint32_t{0});
  }
  for (const Generation& generation : manifest.generations) {
    std::byte* to = grow(kManifestEntryBytes + 4 * size_t{generation.streams});
    put(to, generation.generation);
    put(to + 4, generation.streams);
    put(to + 8, generation.cut);
    for (uint32_t s = 0; s < generation.streams; ++s)
      put(to + kManifestEntryBytes + 4 * s, s < generation.first_segments.size() ? generation.first_segments[s] : uint32_t{0});
  }
  const uint64_t sum = checksum(bytes, 0);
  put(grow(8), sum);
  return bytes;
}

Status decode(Bytes bytes, Manifest* manifest) {
  if (bytes.size() < kManifestFixedBytes1 + 8) return Status(Code::kCorrupt, "the manifest is cut short");
  if (get<uint64_t>(bytes.data()) != kManifestMagic) return Status(Code::kCorrupt, "the manifest does not begin with its magic number");
  if (get<uint64_t>(bytes.data() + bytes.size() - 8) != checksum(bytes.first(bytes.size() - 8), 0))
    return Status(Code::kCorrupt, "the manifest's checksum does not match");
  const auto version = get<uint32_t>(bytes.data() + 8);
  if (Status status = check_version(version, kManifestVersion); !status.ok()) return status;
  manifest->folders = get<uint32_t>(bytes.data() + 12);
  manifest->database = {get<uint64_t>(bytes.data() + 16), get<uint64_t>(bytes.data() + 24)};
  manifest->next_number = get<uint64_t>(bytes.data() + 32);
  manifest->checkpoints.clear();
  const auto generations = get<uint64_t>(bytes.data() + 40);
  const bool old = version == 1;  // version 1 does not have checkpoints
  Bytes rest = bytes.first(bytes.size() - 8).subspan(old ? kManifestFixedBytes1 : std::min(kManifestFixedBytes, bytes.size() - 8));
  if (!old) {
    const uint64_t count = bytes.size() < kManifestFixedBytes + 8 ? kNumberMax : get<uint64_t>(bytes.data() + 48);
    if (count > rest.size() / kManifestEntryBytes) return Status(Code::kCorrupt, "the manifest's length does not match its contents");
    for (uint64_t i = 0; i < count; ++i) {
      if (get<uint32_t>(rest.data() + 12) != 0)
        return Status(Code::kCorrupt, "a checkpoint's entry in the manifest has fields that this program does not know");
      manifest->checkpoints.push_back({get<uint64_t>(rest.data()), get<uint32_t>(rest.data() + 8)});
      rest = rest.subspan(kManifestEntryBytes);
    }
  }
  if (!take_generations(rest, generations, !old, &manifest->generations))
    return Status(Code::kCorrupt, "the manifest's length does not match its contents");
  return check_numbers(*manifest);
}

}  // namespace elider::log
