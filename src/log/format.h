// Format: encodes and decodes the log's files. Their layout is described in docs/formats.md.
//
// Decoders do not trust their input: if a length, a version or a checksum is wrong, they return
// false or an error, and they never read past the given bytes. All numbers are little-endian.
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "elider/snapshot_number.h"
#include "elider/status.h"

namespace elider::log {

using Bytes = std::span<const std::byte>;
using DatabaseId = std::array<uint64_t, 2>;  // random, generated when the database is created

inline constexpr uint32_t kFormatVersion = 3;    // of segments; version 3 added byte keys, and versions 1 and 2 can still be read
inline constexpr uint32_t kManifestVersion = 2;  // version 1 does not have checkpoints, and can still be read
inline constexpr uint32_t kStreamsMax = 255;
inline constexpr SnapshotNumber kNumberMax = ~uint64_t{0};
// No database reaches this many commits. If a file contains a number this large, the file is
// rejected: the number cannot be genuine, and calculations with it could overflow.
inline constexpr uint64_t kNumbersEnd = uint64_t{1} << 62;

// Returns kUnsupported, with a message that names the version, if `version` is 0 or newer than
// `newest`.
Status check_version(uint32_t version, uint32_t newest);

// Identifies a segment by its generation, its stream (one per logger thread), and its position in
// the stream.
struct SegmentName {
  uint32_t generation = 0;
  uint32_t stream = 0;
  uint32_t segment = 0;
  friend bool operator==(const SegmentName&, const SegmentName&) = default;
};
// A segment to which the log no longer writes. The stream's next segment has a synced frame, so the
// next segment's header and name are also on the disk.
struct FinishedSegment {
  SegmentName name;
  SnapshotNumber last_number = 0;  // the largest number of the segment's records; 0: the segment is empty
};
std::string file_name(const SegmentName& name);  // "log-00000001-00-00000000"
bool parse_file_name(const std::string& text, SegmentName* name);
// Returns the seed of a segment's checksums. It differs between segments and between databases, so
// bytes that were copied from another segment are detected.
uint64_t seed_of(const DatabaseId& database, const SegmentName& name);

inline constexpr size_t kSegmentHeaderBytes = 64;
inline constexpr uint64_t kSegmentBytesMax = uint64_t{1} << 32;  // size of the file, including the header
struct SegmentHeader {
  DatabaseId database{};
  SegmentName name;
  uint64_t first_frame = 0;  // the sequence of the segment's first frame
  SnapshotNumber closed = 0;       // closed number (log/log.h) of the last frame before the segment, or at the start of the log
};
void encode(const SegmentHeader& header, std::vector<std::byte>* out);
// Decodes and checks a segment's header. kCorrupt: the message describes the fault. kUnsupported:
// the message names the unknown format version. The messages do not name the file.
Status decode(Bytes bytes, const DatabaseId& database, const SegmentName& expected, SegmentHeader* header);

// Reads from a segment's header which database the segment belongs to. Returns the same errors as
// decode().
Status database_of(Bytes bytes, DatabaseId* database);

inline constexpr size_t kFrameHeaderBytes = 64;
inline constexpr size_t kFramePayloadBytesMax = size_t{1} << 30;
struct FrameHeader {
  uint64_t sequence = 0;      // the frame's index in its stream, from 0
  SnapshotNumber closed = 0;        // this frame and the earlier ones contain all of the stream's records up to this number
  SnapshotNumber durable = 0;       // the number that was durable in all streams when the frame was created
  SnapshotNumber first_number = 0;  // the smallest number of the frame's records; 0 if it is empty
  SnapshotNumber last_number = 0;   // the largest number; 0 if the frame is empty
  uint32_t payload_bytes = 0;
  uint32_t records = 0;
};
// Writes the header into the first kFrameHeaderBytes bytes of `frame`. The payload must already
// follow them, because the header contains its checksum.
void seal(const FrameHeader& header, uint64_t seed, std::span<std::byte> frame);
// Returns true if `bytes` begins with an intact frame, that is, a complete one whose checksum
// matches.
bool open_frame(Bytes bytes, uint64_t seed, FrameHeader* header);
// Returns true if `bytes`, which may hold only a header, begins with a plausible frame header. The
// checksum is not verified, so the header may be damaged.
bool peek_frame(Bytes bytes, FrameHeader* header);
// Explains why `bytes`, which extends to the file's end, does not begin with an intact frame with
// this sequence.
std::string frame_fault(Bytes bytes, uint64_t sequence);

// A record contains the bytes that one commit, or one change of the catalog, has appended to the
// log. The log does not interpret these bytes.
inline constexpr size_t kRecordHeaderBytes = 12;
struct Record {
  SnapshotNumber number = 0;
  Bytes bytes;
};
void put_record_header(std::byte* to, SnapshotNumber number, uint32_t bytes);
// Removes the first record from *payload. Returns false if *payload is empty or malformed.
bool take_record(Bytes* payload, Record* record);

// Identifies a file of a checkpoint by the checkpoint's snapshot number and the part number, from
// 0.
struct CheckpointName {
  SnapshotNumber number = 0;
  uint32_t part = 0;
  friend bool operator==(const CheckpointName&, const CheckpointName&) = default;
};
std::string file_name(const CheckpointName& name);  // "checkpoint-0000000000000001-00000000"
bool parse_file_name(const std::string& text, CheckpointName* name);

// The manifest lists the valid checkpoints and generations. It is replaced atomically by a rename.
struct Checkpoint {
  SnapshotNumber number = 0;  // the checkpoint contains exactly the commits up to this number
  uint32_t parts = 0;
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};
struct Generation {
  uint32_t generation = 0;
  uint32_t streams = 0;
  SnapshotNumber cut = kNumberMax;  // records with larger numbers are void; kNumberMax: not known yet, the generation may be open
  std::vector<uint32_t> first_segments;  // the first listed segment of each stream; the oldest checkpoint covers all earlier ones
  friend bool operator==(const Generation&, const Generation&) = default;
};
struct Manifest {
  DatabaseId database{};
  uint32_t folders = 1;
  SnapshotNumber next_number = 1;  // the first unused snapshot number when the manifest was written
  std::vector<Checkpoint> checkpoints;  // in ascending order of numbers
  std::vector<Generation> generations;
};
inline constexpr uint64_t kManifestBytesMax = uint64_t{1} << 30;
inline constexpr char kManifestName[] = "MANIFEST";
inline constexpr char kLockName[] = "LOCK";
std::vector<std::byte> encode(const Manifest& manifest);
Status decode(Bytes bytes, Manifest* manifest);

}  // namespace elider::log
