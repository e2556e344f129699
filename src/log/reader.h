// Reader: reads a stream's segments back, and judges what is a crash and what is damage.
//
//   crash    the last segment ends in something that is no whole frame, and no whole frame follows
//            it: the tail is left out, and reported. So is a last segment without a whole header or
//            frame.
//   damage   everything else: a broken frame before a whole one, a missing segment, a frame out of
//            order. It is kCorrupt, with the file and the offset.
//
// A segment is read by itself, so that several are at once; what it is among its neighbours,
// join_segments() says. Of a segment's frames kRangeBytes are in memory at a time, or one that is
// larger; what stands behind the last whole one is as a whole.
// It never writes.
// Thread safety: each call by itself; calls may run at once.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "elider/snapshot_number.h"
#include "log/file.h"
#include "log/format.h"

namespace elider::log {

struct FrameView {
  SegmentName segment;
  uint64_t offset = 0;  // in the file
  FrameHeader header;
  Bytes payload;        // until the visit ends
};

// A tail that was left out.
struct CutTail {
  std::string file;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::string why;  // it is no whole frame, or no header
};
// "'<file>' from byte <offset>: <count> bytes; <why>".
std::string describe(const CutTail& cut);

// Whole frames of a segment, one behind the other, that are read by themselves
// once the segment was judged.
struct FrameRange {
  uint64_t offset = 0;       // in the file
  uint64_t bytes = 0;
  uint64_t first_frame = 0;  // the sequence of the first one
  uint64_t frames = 0;
  uint64_t records = 0;
  SnapshotNumber first_number = kNumberMax;  // of any record, as of last_number; no record: this and 0
  SnapshotNumber last_number = 0;
};
inline constexpr uint64_t kRangeBytes = 1u << 20;  // at the most, unless a single frame is larger

struct SegmentFacts {
  std::string file;          // its path
  SegmentName name;
  Status header_fault;       // what is wrong with its header; then no whole frame is in it, and the rest is 0
  uint64_t bytes = 0;        // of the file, without the zeros of room that was not used
  uint64_t whole_bytes = 0;  // up to the end of the last whole frame
  std::string tail_fault;    // why what stands behind it, or the header, is none; empty where nothing does
  uint64_t first_frame = 0;  // as its header says, as is closed_before
  uint64_t closed_before = 0;
  uint64_t frames = 0;
  uint64_t records = 0;
  uint64_t closed = 0;         // as the last frame says; as its header does where it has none
  uint64_t durable = 0;        // the largest that a frame says was durable, and where
  uint64_t durable_offset = 0;
  uint64_t searched_bytes = 0; // that were checksummed to see whether a whole frame stands behind the last one
  SnapshotNumber first_number = kNumberMax;  // of any record, as of last_number; no record: this and 0
  SnapshotNumber last_number = 0;
  std::vector<FrameRange> ranges;  // all whole frames, in order
};

// Calls visit for each whole frame in order; a status other than ok ends it and is returned.
// kCorrupt: it is damaged, wherever it stands.
using VisitFrame = std::function<Status(const FrameView&)>;
Status read_segment(Folder& folder, const DatabaseId& database, const SegmentName& name, ReadBuffer* buffer,
                    const VisitFrame& visit, SegmentFacts* facts);

// The same of some frames that were found to be whole. kCorrupt: they are not
// there any more as they were.
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

// Judges a stream's segments together: those with positions from `first` on, in order.
// kCorrupt: names file and offset.
Status join_segments(const std::string& folder, std::span<const SegmentFacts> segments, uint32_t first, StreamFacts* facts);

// Calls visit(record) for each record of a frame. kCorrupt: they do not fill
// it; names file and offset.
Status read_records(const FrameView& frame, const std::string& folder, const std::function<Status(const Record&)>& visit);

}  // namespace elider::log
