// Reader: reads the segments of a stream, and distinguishes the effects of a crash from damage.
//
//   crash    the last segment ends with bytes that are not an intact frame and are not followed by
//            one. This tail is ignored and reported. A last segment without an intact header or
//            frame is treated in the same way.
//   damage   everything else, such as a broken frame before an intact one, a missing segment, or a
//            frame out of order. The result is kCorrupt; the message names the file and the offset.
//
// Each segment is read independently, so several can be read concurrently. join_segments() then
// checks that they fit together. At most kRangeBytes of a segment's frames, or one larger frame,
// are in memory at a time. The bytes after the last intact frame are read into memory together. The
// reader never writes.
// Thread safety: calls are independent and may run concurrently.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "elider/snapshot_number.h"
#include "log/files.h"
#include "log/format.h"

namespace elider::log {

struct FrameView {
  SegmentName segment;
  uint64_t offset = 0;  // in the file
  FrameHeader header;
  Bytes payload;        // valid until the visiting function returns
};

// The end of a segment that is ignored because a crash left it incomplete.
struct CutTail {
  std::string file;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::string why;  // why these bytes are not an intact frame or header
};
// "'<file>' from byte <offset>: <count> bytes; <why>".
std::string describe(const CutTail& cut);

// Consecutive intact frames of a segment, found by read_segment(). read_range() reads them again.
struct FrameRange {
  uint64_t offset = 0;       // in the file
  uint64_t bytes = 0;
  uint64_t first_frame = 0;  // the sequence of the first frame
  uint64_t frames = 0;
  uint64_t records = 0;
  SnapshotNumber first_number = kNumberMax;  // the smallest number of the records; kNumberMax without records
  SnapshotNumber last_number = 0;            // the largest number of the records
};
inline constexpr uint64_t kRangeBytes = 1u << 20;  // maximum size of a FrameRange, unless a single frame is larger

struct SegmentFacts {
  std::string file;          // the file's path
  SegmentName name;
  Status header_fault;       // why the header is invalid; then the segment is treated as empty
  uint64_t bytes = 0;        // the file's size without the unused space at its end
  uint64_t whole_bytes = 0;  // size of the header and all intact frames
  std::string tail_fault;    // why the header or the bytes after whole_bytes are invalid; empty if they are valid
  uint64_t first_frame = 0;  // this and closed_before are read from the header
  uint64_t closed_before = 0;
  uint64_t frames = 0;
  uint64_t records = 0;
  uint64_t closed = 0;         // according to the last frame, or to the header if the segment is empty
  uint64_t durable = 0;        // the largest durable number in a frame, and the offset of that frame
  uint64_t durable_offset = 0;
  uint64_t searched_bytes = 0; // bytes that were checksummed in the search for an intact frame after whole_bytes
  SnapshotNumber first_number = kNumberMax;  // the smallest number of the records; kNumberMax without records
  SnapshotNumber last_number = 0;            // the largest number of the records
  std::vector<FrameRange> ranges;  // all intact frames, in order
};

// Reads and checks a segment. Calls visit(frame) for each intact frame, in order. If visit() fails,
// read_segment() stops and returns its status. kCorrupt: the segment is damaged.
using VisitFrame = std::function<Status(const FrameView&)>;
Status read_segment(Folder& folder, const DatabaseId& database, const SegmentName& name, ReadBuffer* buffer,
                    const VisitFrame& visit, SegmentFacts* facts);

// Like read_segment(), but reads only frames that read_segment() has found intact. kCorrupt: the
// frames have changed since then.
Status read_range(Folder& folder, const DatabaseId& database, const SegmentName& name,
                  const FrameRange& range, ReadBuffer* buffer, const VisitFrame& visit);

struct StreamFacts {
  bool found = false;        // the first segment has an intact header
  uint64_t frames = 0;
  uint64_t closed = 0;       // according to the last frame, or to the last header if the segment is empty
  uint64_t durable = 0;      // the largest durable number in a frame, and the position of that frame
  std::string durable_file;
  uint64_t durable_offset = 0;
  SnapshotNumber last_number = 0;  // the largest number of the stream's records
  std::string last_file;     // the file in which the stream ends
  uint64_t last_offset = 0;
  std::vector<CutTail> cuts; // at most one
};

// Checks that the segments of a stream fit together. `segments` contains those with positions from
// `first` on, in order. kCorrupt: the message names the file and the offset.
Status join_segments(const std::string& folder, std::span<const SegmentFacts> segments, uint32_t first, StreamFacts* facts);

// Calls visit(record) for each record of a frame. kCorrupt: the records do not fill the frame; the
// message names the file and the offset.
Status read_records(const FrameView& frame, const std::string& folder, const std::function<Status(const Record&)>& visit);

}  // namespace elider::log
