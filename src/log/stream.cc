#include "log/stream.h"

#include <vector>

namespace elider::log {

Status Stream::begin_segment(uint32_t segment) {
  name_.segment = segment;
  seed_ = seed_of(database_, name_);
  if (Status status = files_.open(folder_ + "/" + file_name(name_), OpenMode::kCreate, &file_); !status.ok()) return status;
  std::vector<std::byte> bytes;
  encode(SegmentHeader{database_, name_, next_frame_, closed_}, &bytes);
  if (Status status = file_->write_and_sync(0, bytes); !status.ok()) return status;
  offset_ = bytes.size();
  ++syncs_;
  return {};
}

Status Stream::append(FrameHeader header, std::span<std::byte> frame) {
  if (offset_ > kSegmentHeaderBytes && offset_ + frame.size() > segment_bytes_) {
    if (Status status = begin_segment(name_.segment + 1); !status.ok()) return status;
    // Before a frame in it counts: else a crash could take the file away.
    if (Status status = files_.sync_folder(folder_); !status.ok()) return status;
    ++syncs_;
  }
  header.sequence = next_frame_;
  header.payload_bytes = static_cast<uint32_t>(frame.size() - kFrameHeaderBytes);
  seal(header, seed_, frame);
  if (Status status = file_->write_and_sync(offset_, frame); !status.ok()) return status;
  offset_ += frame.size();
  ++syncs_;
  ++next_frame_;
  closed_ = header.closed;
  return {};
}

}  // namespace elider::log
