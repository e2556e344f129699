#include "log/reader.h"

#include <algorithm>

#include "base/status_words.h"

namespace elider::log {

namespace {

Status damaged(const std::string& file, uint64_t offset, const std::string& words) {
  return Status(Code::kCorrupt, "'" + file + "' at byte " + std::to_string(offset) + ": " + words);
}

// Adds the file's name to the status of a decoder.
Status in_file(const std::string& file, const Status& status) {
  return reworded(status.code(), "'" + file + "' at byte 0: ", status);
}

// Searches `bytes`, which begin at offset `from` of the file, for an intact frame with a sequence
// from `first` to `last`. Returns ok if it does not find one. Frames need not be aligned, so the
// search checks every byte. The search checks a header's fields before the checksum, and limits the
// number of checksummed bytes. Otherwise a tail that consists only of headers would take quadratic
// time.
Status find_no_frame(const std::string& file, Bytes bytes, uint64_t from, uint64_t seed, uint64_t first, uint64_t last,
                     SegmentFacts* facts) {
  constexpr uint64_t kTimes = 16;
  const std::string is_damaged = "frame " + std::to_string(first) + " is damaged; ";
  FrameHeader header;
  for (uint64_t at = 0; at + kFrameHeaderBytes <= bytes.size(); ++at) {
    const Bytes rest = bytes.subspan(at);
    if (!peek_frame(rest, &header) || header.sequence < first || header.sequence > last) continue;
    if (header.payload_bytes > rest.size() - kFrameHeaderBytes) continue;
    facts->searched_bytes += kFrameHeaderBytes + header.payload_bytes;
    if (facts->searched_bytes > kTimes * bytes.size())
      return damaged(file, from, is_damaged + "it is followed by more data that looks like frames than a crash can leave");
    if (open_frame(rest, seed, &header))
      return damaged(file, from, is_damaged + "an intact frame follows it, at byte " + std::to_string(from + at));
  }
  return {};
}

// Reads a file's bytes on demand.
class Pieces {
 public:
  Pieces(Folder& folder, std::string name, uint64_t bytes, ReadBuffer* buffer)
      : folder_(folder), name_(std::move(name)), bytes_(bytes), buffer_(buffer) {}

  // Returns at least this many bytes from `at` on, or fewer if the file ends earlier. The bytes
  // that earlier calls returned become invalid.
  Status take(uint64_t at, uint64_t wanted, Bytes* taken) {
    wanted = std::min(wanted, bytes_ - at);
    if (at < begin_ || at - begin_ > buffer_->bytes().size() || buffer_->bytes().size() - (at - begin_) < wanted || !filled_) {
      if (Status status = buffer_->read_part(folder_, name_, at, std::min(std::max(wanted, kRangeBytes), bytes_ - at)); !status.ok())
        return status;
      begin_ = at;
      filled_ = true;
    }
    *taken = buffer_->bytes().subspan(at - begin_);
    return {};
  }

 private:
  Folder& folder_;
  const std::string name_;
  const uint64_t bytes_;  // the file's size
  ReadBuffer* const buffer_;
  uint64_t begin_ = 0;    // the file offset of the buffer's first byte, if filled_
  bool filled_ = false;
};

void note(const FrameView& frame, FrameRange* range) {
  range->bytes += kFrameHeaderBytes + frame.payload.size();
  ++range->frames;
  range->records += frame.header.records;
  if (frame.header.records == 0) return;
  range->first_number = std::min(range->first_number, frame.header.first_number);
  range->last_number = std::max(range->last_number, frame.header.last_number);
}

void note(const FrameView& frame, SegmentFacts* facts) {
  std::vector<FrameRange>& ranges = facts->ranges;
  if (ranges.empty() || ranges.back().bytes + kFrameHeaderBytes + frame.payload.size() > kRangeBytes)
    ranges.push_back({.offset = frame.offset, .first_frame = frame.header.sequence});
  note(frame, &ranges.back());
  ++facts->frames;
  facts->records += frame.header.records;
  facts->closed = frame.header.closed;
  if (frame.header.records != 0) {
    facts->first_number = std::min(facts->first_number, frame.header.first_number);
    facts->last_number = std::max(facts->last_number, frame.header.last_number);
  }
  if (frame.header.durable <= facts->durable && facts->frames != 1) return;
  facts->durable = frame.header.durable;
  facts->durable_offset = frame.offset;
}

}  // namespace

// -- one segment ----------------------------------------------------------------------------------

Status read_segment(Folder& folder, const DatabaseId& database, const SegmentName& name, ReadBuffer* buffer,
                    const VisitFrame& visit, SegmentFacts* facts) {
  *facts = {};
  facts->name = name;
  facts->file = folder.path_of(file_name(name));
  Status there = file_bytes(folder, file_name(name), kSegmentBytesMax, &facts->bytes);
  if (there.not_found()) return Status(Code::kCorrupt, "'" + facts->file + "' is missing, although its folder lists it");
  if (!there.ok()) return there;
  Pieces pieces(folder, file_name(name), facts->bytes, buffer);
  const uint64_t seed = seed_of(database, name);
  Bytes rest;
  if (Status status = pieces.take(0, kSegmentHeaderBytes, &rest); !status.ok()) return status;
  SegmentHeader header;
  if (Status status = decode(rest, database, name, &header); !status.ok()) {
    // A crash during a segment's creation may leave an invalid header, but then the segment does
    // not contain frames.
    facts->header_fault = in_file(facts->file, status);
    if (status.code() != Code::kCorrupt) return facts->header_fault;
    facts->tail_fault = words_of(status);  // reported as the effect of a crash, unless a frame follows
    if (status = pieces.take(0, facts->bytes, &rest); !status.ok()) return status;
    facts->bytes = rest.size();
    return find_no_frame(facts->file, rest, 0, seed, 0, kNumberMax, facts).ok() ? Status() : facts->header_fault;
  }
  facts->first_frame = header.first_frame;
  facts->closed_before = facts->closed = header.closed;
  uint64_t at = kSegmentHeaderBytes, next = header.first_frame;
  for (FrameView frame;; ++next) {
    if (Status status = pieces.take(at, kFrameHeaderBytes, &rest); !status.ok()) return status;
    if (peek_frame(rest, &frame.header))
      if (Status status = pieces.take(at, kFrameHeaderBytes + frame.header.payload_bytes, &rest); !status.ok()) return status;
    if (!open_frame(rest, seed, &frame.header)) {
      // The frame may look broken only because another process was writing to the file, so the
      // bytes are read again.
      if (Status status = pieces.take(at, facts->bytes - at, &rest); !status.ok()) return status;
      if (!open_frame(rest, seed, &frame.header)) break;
    }
    if (frame.header.sequence != next)
      return damaged(facts->file, at, "found frame " + std::to_string(frame.header.sequence) + " instead of frame " + std::to_string(next));
    if (frame.header.closed < facts->closed) return damaged(facts->file, at, "the closed number decreases");
    frame.segment = name;
    frame.offset = at;
    frame.payload = rest.subspan(kFrameHeaderBytes, frame.header.payload_bytes);
    note(frame, facts);
    if (Status status = visit(frame); !status.ok()) return status;
    at += kFrameHeaderBytes + frame.header.payload_bytes;
  }
  facts->whole_bytes = at;
  facts->bytes = at + rest.size();
  // The zeros are unused preallocated space. If the zeros had replaced a frame, join_segments()
  // would notice that the next segment does not begin with the expected sequence.
  if (std::all_of(rest.begin(), rest.end(), [](std::byte b) { return b == std::byte{0}; })) {
    facts->bytes = at;
    return {};
  }
  facts->tail_fault = frame_fault(rest, next);
  return find_no_frame(facts->file, rest, at, seed, next, next + rest.size() / kFrameHeaderBytes, facts);
}

Status read_range(Folder& folder, const DatabaseId& database, const SegmentName& name,
                  const FrameRange& range, ReadBuffer* buffer, const VisitFrame& visit) {
  const std::string file = folder.path_of(file_name(name));
  if (Status status = buffer->read_part(folder, file_name(name), range.offset, range.bytes); !status.ok()) return status;
  const Bytes bytes = buffer->bytes();
  const uint64_t seed = seed_of(database, name);
  const auto changed = [&](uint64_t at, uint64_t sequence) {
    return damaged(file, range.offset + at, "frame " + std::to_string(sequence) + " was intact before and is damaged now");
  };
  uint64_t at = 0;
  FrameView frame;
  frame.segment = name;
  for (uint64_t next = range.first_frame; next != range.first_frame + range.frames; ++next) {
    if (!open_frame(bytes.subspan(at), seed, &frame.header) || frame.header.sequence != next) return changed(at, next);
    frame.offset = range.offset + at;
    frame.payload = bytes.subspan(at + kFrameHeaderBytes, frame.header.payload_bytes);
    if (Status status = visit(frame); !status.ok()) return status;
    at += kFrameHeaderBytes + frame.header.payload_bytes;
  }
  return at == range.bytes ? Status() : changed(at, range.first_frame + range.frames - 1);
}

Status read_records(const FrameView& frame, const std::string& folder, const std::function<Status(const Record&)>& visit) {
  Bytes rest = frame.payload;
  const auto refuse = [&](const std::string& words) { return damaged(folder + "/" + file_name(frame.segment), frame.offset, words); };
  Record record;
  uint32_t count = 0;
  while (!rest.empty()) {
    if (!take_record(&rest, &record)) return refuse("record " + std::to_string(count) + " extends past the end of its frame");
    if (record.number < frame.header.first_number || record.number > frame.header.last_number)
      return refuse("record " + std::to_string(count) + " has a number outside its frame's range");
    ++count;
    if (Status status = visit(record); !status.ok()) return status;
  }
  if (count != frame.header.records) return refuse("the number of records differs from that in the frame's header");
  return {};
}

std::string describe(const CutTail& cut) {
  return "'" + cut.file + "' from byte " + std::to_string(cut.offset) + ": " + std::to_string(cut.bytes) + " bytes; " + cut.why;
}

// -- a stream -------------------------------------------------------------------------------------

namespace {

// Checks that the segment continues the segments summarized in `facts`. `next` is the expected
// sequence of its first frame. `begins` says whether it is the stream's first segment.
Status check_place(const SegmentFacts& segment, bool begins, uint64_t next, const StreamFacts& facts) {
  if (segment.first_frame != next)
    return damaged(
        facts.last_file.empty() ? segment.file : facts.last_file, facts.last_offset,
        "frame " + std::to_string(next) + " is missing; '" + segment.file + "' begins with frame " + std::to_string(segment.first_frame));
  if (!begins && segment.closed_before != facts.closed)
    return damaged(segment.file, 48, "the closed number differs from that of the previous frame");
  return {};
}

}  // namespace

Status join_segments(const std::string& folder, std::span<const SegmentFacts> segments, uint32_t first, StreamFacts* facts) {
  *facts = {};
  uint64_t next = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    const SegmentFacts& segment = segments[i];
    const auto position = static_cast<uint32_t>(first + i);
    const bool last = i + 1 == segments.size();
    if (segment.name.segment != position)
      return Status(Code::kCorrupt, "'" + folder + "/" + file_name({segment.name.generation, segment.name.stream, position}) +
                                        "' is missing, but '" + segment.file + "', which follows it, exists");
    if (!segment.header_fault.ok()) {
      if (!last) return segment.header_fault;
      facts->cuts.push_back({segment.file, 0, segment.bytes, segment.tail_fault});
      return {};
    }
    // The frames before a stream's first segment were removed when a checkpoint was published.
    if (i == 0 && first != 0) next = segment.first_frame;
    if (Status status = check_place(segment, i == 0, next, *facts); !status.ok()) return status;
    facts->found = true;
    facts->closed = segment.closed;
    facts->last_number = std::max(facts->last_number, segment.last_number);
    if (segment.frames != 0 && (segment.durable > facts->durable || facts->frames == 0)) {
      facts->durable = segment.durable;
      facts->durable_file = segment.file;
      facts->durable_offset = segment.durable_offset;
    }
    facts->frames += segment.frames;
    facts->last_file = segment.file;
    facts->last_offset = segment.whole_bytes;
    next = segment.first_frame + segment.frames;
    if (segment.whole_bytes == segment.bytes) continue;
    if (!last) return damaged(segment.file, segment.whole_bytes, "frame " + std::to_string(next) + " is damaged; another segment follows");
    facts->cuts.push_back({segment.file, segment.whole_bytes, segment.bytes - segment.whole_bytes, segment.tail_fault});
  }
  return {};
}

}  // namespace elider::log
