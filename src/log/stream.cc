#include "log/stream.h"

#include <algorithm>
#include <vector>

#include "base/test_points.h"

namespace elider::log {

namespace {
constexpr uint64_t kForgetBytes = 1u << 20;
// Callers usually wait for small frames. These are written to space that is preallocated for many
// frames, because a sync that need not enlarge the file takes only two thirds of the time. Large
// frames would not benefit from preallocation.
constexpr uint64_t kRoomBytes = 256u << 10;
constexpr size_t kSmallFrameBytes = 16u << 10;
}

Status Stream::begin_segment(uint32_t segment) {
  name_.segment = segment;
  seed_ = seed_of(database_, name_);
  // If the path no longer leads to the folder, a program that opens the database later would not
  // find the segment.
  if (Status status = folder_.check_place(); !status.ok()) return status;
  if (Status status = folder_.open(file_name(name_), OpenMode::kCreate, &file_); !status.ok()) return status;
  std::vector<std::byte> bytes;
  encode(SegmentHeader{database_, name_, next_frame_, closed_}, &bytes);
  if (Status status = file_->write_and_sync(0, bytes); !status.ok()) return status;
  offset_ = bytes.size();
  forgotten_ = room_ = last_number_ = 0;
  ++syncs_;
  return {};
}

Status Stream::append(FrameHeader header, std::span<std::byte> frame) {
  const FinishedSegment before{name_, last_number_ - (ELIDER_MUTANT(kFinishedTooSmall) ? 1 : 0)};
  const bool begins = offset_ > kSegmentHeaderBytes && offset_ + frame.size() > segment_bytes_;
  if (begins) {
    if (Status status = begin_segment(name_.segment + 1); !status.ok()) return status;
    // The folder is synced before a frame is written to the new segment, because a crash could
    // otherwise remove the file.
    if (Status status = folder_.sync(); !status.ok()) return status;
    ++syncs_;
  }
  if (frame.size() <= kSmallFrameBytes && offset_ + frame.size() > room_ && offset_ + kRoomBytes <= segment_bytes_) {
    room_ = offset_ + kRoomBytes;
    file_->make_room(offset_, kRoomBytes);
  }
  header.sequence = next_frame_;
  header.payload_bytes = static_cast<uint32_t>(frame.size() - kFrameHeaderBytes);
  seal(header, seed_, frame);
  if (Status status = file_->write_and_sync(offset_, frame); !status.ok()) return status;
  offset_ += frame.size();
  ++syncs_;
  ++next_frame_;
  closed_ = header.closed;
  last_number_ = std::max(last_number_, header.last_number);
  if (begins) finished_.push_back(before);
  // Tells the system to drop written bytes from the page cache. The system then reuses this memory
  // for new bytes while the memory is still in the processor's caches.
  if (offset_ - forgotten_ >= kForgetBytes) {
    file_->forget(forgotten_, offset_ - forgotten_);
    forgotten_ = offset_;
  }
  return {};
}

}  // namespace elider::log
