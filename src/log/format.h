// Format: the layout of the log's files, which docs/formats.md describes, and their encoding.
//
// Decoders do not trust their input. If a length, a version or a checksum is wrong, they return
// false or a status, and they never read past the given bytes. All numbers are little-endian.
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
using DatabaseId = std::array<uint64_t, 2>;  // random, drawn when the database is created

inline constexpr uint32_t kFormatVersion = 3;    // of segments. Since 3, tables may have byte keys; versions 1 and 2 can still be read
inline constexpr uint32_t kManifestVersion = 2;  // version 1 does not have checkpoints, and can still be read
inline constexpr uint32_t kStreamsMax = 255;
inline constexpr SnapshotNumber kNumberMax = ~uint64_t{0};
// No database reaches this many commits. If a file contains such a number, no database wrote that
// file, and later numbers would overflow.
inline constexpr uint64_t kNumbersEnd = uint64_t{1} << 62;

// The message of kUnsupported names the version if it is newer than `newest`, or is 0.
Status check_version(uint32_t version, uint32_t newest);

// The position of a segment. It consists of the log's generation, the stream (one per logger
// thread), and the segment's index in the stream.
struct SegmentName {
  uint32_t generation = 0;
  uint32_t stream = 0;
  uint32_t segment = 0;
  friend bool operator==(const SegmentName&, const SegmentName&) = default;
};
// A segment that is not written any more. The next segment has a synced frame, so this segment's
// header and name are also on the disk.
struct FinishedSegment {
  SegmentName name;
  SnapshotNumber last_number = 0;  // the largest number of its records; 0: the segment is without records
};
std::string file_name(const SegmentName& name);  // "log-00000001-00-00000000"
bool parse_file_name(const std::string& text, SegmentName* name);
// Returns the seed of all checksums in a segment. With it, bytes from another segment or database
// are invalid.
uint64_t seed_of(const DatabaseId& database, const SegmentName& name);

inline constexpr size_t kSegmentHeaderBytes = 64;
inline constexpr uint64_t kSegmentBytesMax = uint64_t{1} << 32;  // of the whole file
struct SegmentHeader {
  DatabaseId database{};
  SegmentName name;
  uint64_t first_frame = 0;  // the sequence of the segment's first frame
  SnapshotNumber closed = 0;       // the closed number of the frame before the segment; in the first segment, that of the log's start
};
void encode(const SegmentHeader& header, std::vector<std::byte>* out);
// kCorrupt: the message describes the fault. kUnsupported: the message names an unknown version.
// The message does not name the file.
Status decode(Bytes bytes, const DatabaseId& database, const SegmentName& expected, SegmentHeader* header);

// Returns the database that a segment belongs to, according to its header. Statuses: as decode().
Status database_of(Bytes bytes, DatabaseId* database);

inline constexpr size_t kFrameHeaderBytes = 64;
inline constexpr size_t kFramePayloadBytesMax = size_t{1} << 30;
struct FrameHeader {
  uint64_t sequence = 0;      // counts the frames of a stream from 0
  SnapshotNumber closed = 0;        // this frame and the earlier ones contain all of the stream's records with numbers up to this one
  SnapshotNumber durable = 0;       // the number that was durable in all streams when the frame was made
  SnapshotNumber first_number = 0;  // the smallest and the largest number of the frame's records; both 0 without records
  SnapshotNumber last_number = 0;
  uint32_t payload_bytes = 0;
  uint32_t records = 0;
};
// Fills the first kFrameHeaderBytes of `frame`. The payload must follow these bytes.
void seal(const FrameHeader& header, uint64_t seed, std::span<std::byte> frame);
// Returns true if `bytes` begins with a whole frame whose checksum matches.
bool open_frame(Bytes bytes, uint64_t seed, FrameHeader* header);
// Returns true if `bytes`, which may hold only a header, begins with a plausible frame header. The
// checksum is not verified, so the header may be damaged.
bool peek_frame(Bytes bytes, FrameHeader* header);
// Explains why `bytes`, which extends to the file's end, does not begin with a whole frame with
// this sequence.
std::string frame_fault(Bytes bytes, uint64_t sequence);

// A record contains what one commit, or one change of the catalog, has appended. The log does not
// interpret its bytes.
inline constexpr size_t kRecordHeaderBytes = 12;
struct Record {
  SnapshotNumber number = 0;
  Bytes bytes;
};
void put_record_header(std::byte* to, SnapshotNumber number, uint32_t bytes);
// Removes the first record from *payload. Returns false if *payload is empty or malformed.
bool take_record(Bytes* payload, Record* record);

// A file of a checkpoint: the checkpoint's snapshot number, and the index of the file, from 0.
struct CheckpointName {
  SnapshotNumber number = 0;
  uint32_t part = 0;
  friend bool operator==(const CheckpointName&, const CheckpointName&) = default;
};
std::string file_name(const CheckpointName& name);  // "checkpoint-0000000000000001-00000000"
bool parse_file_name(const std::string& text, CheckpointName* name);

// The manifest lists the valid checkpoints and generations. A rename replaces it as a whole.
struct Checkpoint {
  SnapshotNumber number = 0;  // the checkpoint holds exactly the commits up to this number
  uint32_t parts = 0;
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};
struct Generation {
  uint32_t generation = 0;
  uint32_t streams = 0;
  SnapshotNumber cut = kNumberMax;  // records with larger numbers are void; kNumberMax: not known yet, the generation may be open
  std::vector<uint32_t> first_segments;  // by stream: the oldest checkpoint covers all earlier segments
  friend bool operator==(const Generation&, const Generation&) = default;
};
struct Manifest {
  DatabaseId database{};
  uint32_t folders = 1;
  SnapshotNumber next_number = 1;  // the first snapshot number that was not in use when this was written
  std::vector<Checkpoint> checkpoints;  // in ascending order of numbers
  std::vector<Generation> generations;
};
inline constexpr uint64_t kManifestBytesMax = uint64_t{1} << 30;
inline constexpr char kManifestName[] = "MANIFEST";
inline constexpr char kLockName[] = "LOCK";
std::vector<std::byte> encode(const Manifest& manifest);
Status decode(Bytes bytes, Manifest* manifest);

}  // namespace elider::log
