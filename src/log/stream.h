// Stream: writes the frames of one logger to files, the segments. A new segment begins when the
// current one has reached a given size.
//
// A frame is written and synced before the next one is written, so a broken frame before an intact
// one is damage, and never the effect of a crash. After an error the stream must not be used again.
//
// Thread safety: one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "elider/snapshot_number.h"
#include "log/files.h"
#include "log/format.h"

namespace elider::log {

class Stream {
 public:
  // The folder must outlive the stream.
  Stream(Folder& folder, const DatabaseId& database, uint32_t generation, uint32_t stream, uint64_t segment_bytes)
      : folder_(folder), database_(database), segment_bytes_(segment_bytes), name_{generation, stream, 0} {}

  // Creates the first segment. Its name is durable only after the folder has been synced.
  Status create(SnapshotNumber closed) {
    closed_ = closed;
    return begin_segment(0);
  }

  // Writes and syncs a frame. The first kFrameHeaderBytes bytes of `frame` are free for the header,
  // and the payload follows. If the result is ok, the frame is on the disk.
  Status append(FrameHeader header, std::span<std::byte> frame);
  // Called when no more frames will be appended. Frees the preallocated space that the last segment
  // did not use. The new length is not synced: unused space reads as zeros, so it does not matter
  // which length the file has after a crash.
  void finish() {
    if (room_ > offset_) file_->trim(offset_);
  }

  // Returns the number of syncs since the last call to take_syncs().
  uint64_t take_syncs() { return std::exchange(syncs_, 0); }
  std::vector<FinishedSegment> take_finished() { return std::exchange(finished_, {}); }

 private:
  Status begin_segment(uint32_t segment);

  Folder& folder_;
  const DatabaseId database_;
  const uint64_t segment_bytes_;
  SegmentName name_;
  std::unique_ptr<File> file_;
  uint64_t seed_ = 0;
  uint64_t offset_ = 0;  // where the next frame will be written
  uint64_t room_ = 0;       // the end of the preallocated space
  uint64_t forgotten_ = 0;  // the end of the bytes for which forget() was called
  uint64_t next_frame_ = 0;
  uint64_t closed_ = 0;  // the closed number in the last frame
  SnapshotNumber last_number_ = 0;  // the largest number of the segment's records
  std::vector<FinishedSegment> finished_;
  uint64_t syncs_ = 0;  // syncs of files and folders
};

}  // namespace elider::log
