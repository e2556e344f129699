// Reader: reads the segments of a stream, and distinguishes the effects of a crash from damage.
//
//   crash    the last segment ends with bytes that are not a whole frame and are not followed by a
//            whole frame. This tail is ignored and reported. A last segment without a whole header
//            or frame is treated in the same way.
//   damage   everything else: a broken frame before a whole one, a missing segment, or a frame out
//            of order. The result is kCorrupt, with the file and the offset.
//
// Each segment is read independently, so several can be read at once. join_segments() checks how
// they fit together. At most kRangeBytes of a segment's frames, or one larger frame, are in memory
// at a time. The bytes after the last whole frame are read as a whole. The reader never writes.
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
  Bytes payload;        // valid until the visit ends
};

// A tail that was ignored.
struct CutTail {
  std::string file;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::string why;  // why it is not a whole frame, or not a header
};
// "'<file>' from byte <offset>: <count> bytes; <why>".
std::string describe(const CutTail& cut);

// Consecutive whole frames of a segment. They are read independently after judge() has judged the
// segment.
struct FrameRange {
  uint64_t offset = 0;       // in the file
  uint64_t bytes = 0;
  uint64_t first_frame = 0;  // the sequence of the first frame
  uint64_t frames = 0;
  uint64_t records = 0;
  SnapshotNumber first_number = kNumberMax;  // the smallest number of its records, and the largest; kNumberMax and 0 without records
  SnapshotNumber last_number = 0;
};
inline constexpr uint64_t kRangeBytes = 1u << 20;  // upper limit, unless a single frame is larger

struct SegmentFacts {
  std::string file;          // its path
  SegmentName name;
  Status header_fault;       // what is wrong with its header; empty frames and zero counts follow from that
  uint64_t bytes = 0;        // the file's size without the zeros of unused room
  uint64_t whole_bytes = 0;  // up to the end of the last whole frame
  std::string tail_fault;    // why the header, or the bytes after whole_bytes, are not valid; empty if they are
  uint64_t first_frame = 0;  // according to its header, like closed_before
  uint64_t closed_before = 0;
  uint64_t frames = 0;
  uint64_t records = 0;
  uint64_t closed = 0;         // according to the last frame, or to the header if the segment is empty
  uint64_t durable = 0;        // the largest durable number in a frame, and the offset of that frame
  uint64_t durable_offset = 0;
  uint64_t searched_bytes = 0; // bytes that were checksummed in the search for a whole frame after the last one
  SnapshotNumber first_number = kNumberMax;  // the smallest number of its records, and the largest; kNumberMax and 0 without records
  SnapshotNumber last_number = 0;
  std::vector<FrameRange> ranges;  // all whole frames, in order
};

// Calls visit for each whole frame, in order. If visit does not return ok, the call ends with that
// status. kCorrupt: some part of the segment is damaged.
using VisitFrame = std::function<Status(const FrameView&)>;
Status read_segment(Folder& folder, const DatabaseId& database, const SegmentName& name, ReadBuffer* buffer,
                    const VisitFrame& visit, SegmentFacts* facts);

// Like read_segment(), for a range of frames that were found to be whole. kCorrupt: the frames have
// changed since.
Status read_range(Folder& folder, const DatabaseId& database, const SegmentName& name,
                  const FrameRange& range, ReadBuffer* buffer, const VisitFrame& visit);

struct StreamFacts {
  bool found = false;        // its first segment has a header
  uint64_t frames = 0;
  uint64_t closed = 0;       // according to the last frame; 0 without one
  uint64_t durable = 0;      // the largest durable number in a frame, and where that frame is
  std::string durable_file;
  uint64_t durable_offset = 0;
  SnapshotNumber last_number = 0;  // the largest number of its records
  std::string last_file;     // the file in which the stream ends
  uint64_t last_offset = 0;
  std::vector<CutTail> cuts; // at most one
};

// Judges the segments of a stream together. `segments` are those with positions from `first` on, in
// order. kCorrupt: the message names the file and the offset.
Status join_segments(const std::string& folder, std::span<const SegmentFacts> segments, uint32_t first, StreamFacts* facts);

// Calls visit(record) for each record of a frame. kCorrupt: the records do not fill the frame; the
// message names the file and the offset.
Status read_records(const FrameView& frame, const std::string& folder, const std::function<Status(const Record&)>& visit);

}  // namespace elider::log
