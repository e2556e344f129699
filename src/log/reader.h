// Reader: reads a stream's segments back, and judges what is a crash and what is damage.
//
//   crash    the last segment ends in something that is no whole frame, and no whole frame follows it: the
//            tail is left out, and reported. So is a last segment without a whole header or frame.
//   damage   everything else: a broken frame before a whole one, a missing segment, a frame out of order.
//            It is kCorrupt, with the file and the offset.
//
// It never writes. Thread safety: each call by itself; calls may run at once.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "log/file.h"
#include "log/format.h"

namespace elider::log {

struct FrameView {
  SegmentName segment;
  uint64_t offset = 0;  // in the file
  FrameHeader header;
  Bytes payload;        // lives until the visitor returns
};

// A tail that was left out.
struct CutTail {
  std::string file;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

struct StreamFacts {
  bool found = false;        // it has a first segment
  uint64_t frames = 0;
  uint64_t records = 0;
  uint64_t bytes = 0;        // of the files
  uint64_t closed = 0;       // as the last frame says; 0 without one
  uint64_t durable = 0;      // the largest that a frame says was durable, and where it says so
  std::string durable_file;
  uint64_t durable_offset = 0;
  uint64_t last_number = 0;  // of any record
  std::string last_file;     // where it ends
  uint64_t last_offset = 0;
  std::vector<CutTail> cuts; // at most one
};

// Calls visit for each frame in order; a status other than ok ends it and is returned.
Status read_stream(FileSystem& files, const std::string& folder, const DatabaseId& database, uint32_t generation, uint32_t stream,
                   const std::function<Status(const FrameView&)>& visit, StreamFacts* facts);

// Calls visit(record) for each record of a frame. kCorrupt: they do not fill it; names file and offset.
Status read_records(const FrameView& frame, const std::string& folder, const std::function<Status(const Record&)>& visit);

}  // namespace elider::log
