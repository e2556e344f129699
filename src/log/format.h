// Format: the layout of the log's files, as docs/formats.md describes it, and their encoding.
//
// Decoders do not trust their input: if a length, a version or a checksum is wrong, they return
// false or a status, and never read past the given bytes. All numbers are little-endian. Thread
// safety: pure functions.
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
using DatabaseId = std::array<uint64_t, 2>;  // random, made with the database

inline constexpr uint32_t kFormatVersion = 2;    // of segments: tables are in tagged records; version 1 is still read
inline constexpr uint32_t kManifestVersion = 2;  // version 1 knew no checkpoints, and is still read
inline constexpr uint32_t kStreamsMax = 255;
inline constexpr SnapshotNumber kNumberMax = ~uint64_t{0};
// No database reaches this many commits. A file with such a number was not written by one, and
// counting on from it would overflow.
inline constexpr uint64_t kNumbersEnd = uint64_t{1} << 62;

// The message of kUnsupported names a version that is newer than `newest`, or 0.
Status check_version(uint32_t version, uint32_t newest);

// The position of a segment: the generation of the log, the stream (one per logger thread), and the
// segment's index in it.
struct SegmentName {
  uint32_t generation = 0;
  uint32_t stream = 0;
  uint32_t segment = 0;
  friend bool operator==(const SegmentName&, const SegmentName&) = default;
};
// A segment that is not written any more: the next one has a synced frame, so the header and name
// of this segment are also on the disk.
struct FinishedSegment {
  SegmentName name;
  SnapshotNumber last_number = 0;  // the largest of its records; 0: it does not have any
};
std::string file_name(const SegmentName& name);  // "log-00000001-00-00000000"
bool parse_file_name(const std::string& text, SegmentName* name);
// The seed of all checksums in a segment: it makes bytes of another segment or database invalid.
uint64_t seed_of(const DatabaseId& database, const SegmentName& name);

inline constexpr size_t kSegmentHeaderBytes = 64;
inline constexpr uint64_t kSegmentBytesMax = uint64_t{1} << 32;  // of the whole file
struct SegmentHeader {
  DatabaseId database{};
  SegmentName name;
  uint64_t first_frame = 0;  // the sequence of its first frame
  SnapshotNumber closed = 0;       // as the frame before it says; of the first segment, what the log started with
};
void encode(const SegmentHeader& header, std::vector<std::byte>* out);
// kCorrupt describes the fault, kUnsupported names an unknown version; the message does not name
// the file.
Status decode(Bytes bytes, const DatabaseId& database, const SegmentName& expected, SegmentHeader* header);

// The database that a segment belongs to, as its header says. kCorrupt, kUnsupported: as decode().
Status database_of(Bytes bytes, DatabaseId* database);

inline constexpr size_t kFrameHeaderBytes = 64;
inline constexpr size_t kFramePayloadBytesMax = size_t{1} << 30;
struct FrameHeader {
  uint64_t sequence = 0;      // from 0, one more each frame of a stream
  SnapshotNumber closed = 0;        // all of the stream's records with numbers up to it are in this frame or before
  SnapshotNumber durable = 0;       // was durable in all streams when the frame was made
  SnapshotNumber first_number = 0;  // the smallest and the largest number of its records; 0 and 0 without any
  SnapshotNumber last_number = 0;
  uint32_t payload_bytes = 0;
  uint32_t records = 0;
};
// Fills the first kFrameHeaderBytes of `frame`; its payload follows them.
void seal(const FrameHeader& header, uint64_t seed, std::span<std::byte> frame);
// Whether `bytes` begins with a whole frame whose checksum matches.
bool open_frame(Bytes bytes, uint64_t seed, FrameHeader* header);
// Whether `bytes`, which may hold only a header, begins with a plausible frame header. The checksum
// is not verified, so the header may be damaged.
bool peek_frame(Bytes bytes, FrameHeader* header);
// Explains why `bytes`, which reaches to the file's end, does not begin with the whole frame with
// this sequence.
std::string frame_fault(Bytes bytes, uint64_t sequence);

// A record: what one commit, or one change of the catalog, appended. The log does not interpret its
// bytes.
inline constexpr size_t kRecordHeaderBytes = 12;
struct Record {
  SnapshotNumber number = 0;
  Bytes bytes;
};
void put_record_header(std::byte* to, SnapshotNumber number, uint32_t bytes);
// Removes the first record from *payload. Returns false if *payload is empty or malformed.
bool take_record(Bytes* payload, Record* record);

// A file of a checkpoint: its snapshot number, and its index among the checkpoint's files, from 0.
struct CheckpointName {
  SnapshotNumber number = 0;
  uint32_t part = 0;
  friend bool operator==(const CheckpointName&, const CheckpointName&) = default;
};
std::string file_name(const CheckpointName& name);  // "checkpoint-0000000000000001-00000000"
bool parse_file_name(const std::string& text, CheckpointName* name);

// The manifest: the valid checkpoints and generations. It is replaced as a whole, by a rename.
struct Checkpoint {
  SnapshotNumber number = 0;  // it holds all commits up to this number, and no others
  uint32_t parts = 0;
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};
struct Generation {
  uint32_t generation = 0;
  uint32_t streams = 0;
  SnapshotNumber cut = kNumberMax;  // records with larger numbers are void; kNumberMax: not known yet, it may be open
  std::vector<uint32_t> first_segments;  // by stream: the oldest checkpoint covers earlier ones
  friend bool operator==(const Generation&, const Generation&) = default;
};
struct Manifest {
  DatabaseId database{};
  uint32_t folders = 1;
  SnapshotNumber next_number = 1;  // the first snapshot number that was never in use when this was written
  std::vector<Checkpoint> checkpoints;  // by rising numbers
  std::vector<Generation> generations;
};
inline constexpr uint64_t kManifestBytesMax = uint64_t{1} << 30;
inline constexpr char kManifestName[] = "MANIFEST";
inline constexpr char kLockName[] = "LOCK";
std::vector<std::byte> encode(const Manifest& manifest);
Status decode(Bytes bytes, Manifest* manifest);

}  // namespace elider::log
