// Reader: reads a stream's segments, and distinguishes a crash from damage.
//
//   crash    the last segment ends in bytes that are not a whole frame, and no whole frame follows
//            them: this tail is ignored and reported. The same holds for a last segment that does
//            not have a whole header or frame.
//   damage   everything else: a broken frame before a whole one, a missing segment, a frame out of
//            order. The result is kCorrupt, with the file and the offset.
//
// Each segment is read by itself, so several can be read at once; join_segments() checks how they
// fit together. At most kRangeBytes of a segment's frames are in memory at a time, or one larger
// frame, but the bytes after the last whole frame are read as a whole. The reader never writes.
// Thread safety: each call is independent; calls may run concurrently.
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
  Bytes payload;        // until the visit ends
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

// Consecutive whole frames of a segment, which are read separately after the segment was judged.
struct FrameRange {
  uint64_t offset = 0;       // in the file
  uint64_t bytes = 0;
  uint64_t first_frame = 0;  // the sequence of the first one
  uint64_t frames = 0;
  uint64_t records = 0;
  SnapshotNumber first_number = kNumberMax;  // of any record, as of last_number; no record: this and 0
  SnapshotNumber last_number = 0;
};
inline constexpr uint64_t kRangeBytes = 1u << 20;  // upper limit, unless a single frame is larger

struct SegmentFacts {
  std::string file;          // its path
  SegmentName name;
  Status header_fault;       // what is wrong with its header; then no whole frame is in it, and the rest is 0
  uint64_t bytes = 0;        // of the file, without the zeros of room that was not used
  uint64_t whole_bytes = 0;  // up to the end of the last whole frame
  std::string tail_fault;    // why the header, or the bytes after whole_bytes, are not valid; empty if they are
  uint64_t first_frame = 0;  // as its header says, as is closed_before
  uint64_t closed_before = 0;
  uint64_t frames = 0;
  uint64_t records = 0;
  uint64_t closed = 0;         // as the last frame says, or the header if the segment is empty
  uint64_t durable = 0;        // the largest that a frame says was durable, and where
  uint64_t durable_offset = 0;
  uint64_t searched_bytes = 0; // how much was checksummed in the search for a whole frame after the last one
  SnapshotNumber first_number = kNumberMax;  // of any record, as of last_number; no record: this and 0
  SnapshotNumber last_number = 0;
  std::vector<FrameRange> ranges;  // all whole frames, in order
};

// Calls visit for each whole frame in order; a status other than ok ends the call and is returned.
// kCorrupt: the segment is damaged at any place.
using VisitFrame = std::function<Status(const FrameView&)>;
Status read_segment(Folder& folder, const DatabaseId& database, const SegmentName& name, ReadBuffer* buffer,
                    const VisitFrame& visit, SegmentFacts* facts);

// Like read_segment(), for a range of frames that were found to be whole. kCorrupt: they are not
// the same any more.
Status read_range(Folder& folder, const DatabaseId& database, const SegmentName& name,
                  const FrameRange& range, ReadBuffer* buffer, const VisitFrame& visit);

struct StreamFacts {
  bool found = false;        // its first segment has a header
  uint64_t frames = 0;
  uint64_t closed = 0;       // as the last frame says; 0 without one
  uint64_t durable = 0;      // the largest that a frame says was durable, and where it says so
  std::string durable_file;
  uint64_t durable_offset = 0;
  SnapshotNumber last_number = 0;  // of any record
  std::string last_file;     // where it ends
  uint64_t last_offset = 0;
  std::vector<CutTail> cuts; // at most one
};

// Judges the segments of a stream together: those with positions from `first` on, in order.
// kCorrupt: the message names file and offset.
Status join_segments(const std::string& folder, std::span<const SegmentFacts> segments, uint32_t first, StreamFacts* facts);

// Calls visit(record) for each record of a frame. kCorrupt: the records do not fill the frame; the
// message names file and offset.
Status read_records(const FrameView& frame, const std::string& folder, const std::function<Status(const Record&)>& visit);

}  // namespace elider::log
