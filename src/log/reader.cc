#include "log/reader.h"

#include <algorithm>

namespace elider::log {

namespace {

Status damaged(const std::string& file, uint64_t offset, const std::string& words) {
  return Status(Code::kCorrupt, "'" + file + "' at byte " + std::to_string(offset) + ": " + words);
}

// Names the file in what a decoder said.
Status in_file(const std::string& file, const Status& status) {
  return Status(status.code(), "'" + file + "' at byte 0: " + status.message());
}

// The offset of a whole frame of this segment from `from` on, whose sequence is not before `next`; or the
// size. Frames need not be aligned, so every byte is looked at; the magic number makes it quick.
uint64_t find_frame(Bytes bytes, uint64_t from, uint64_t seed, uint64_t next) {
  FrameHeader header;
  for (uint64_t at = from; at + kFrameHeaderBytes <= bytes.size(); ++at)
    if (open_frame(bytes.subspan(at), seed, &header) && header.sequence >= next) return at;
  return bytes.size();
}

class StreamReader {
 public:
  StreamReader(FileSystem& files, const std::string& folder, const DatabaseId& database, const std::function<Status(const FrameView&)>& visit,
               StreamFacts* facts)
      : files_(files), folder_(folder), database_(database), visit_(visit), facts_(facts) {}

  Status read(const std::vector<SegmentName>& segments) {
    for (size_t i = 0; i < segments.size(); ++i) {
      const std::string path = folder_ + "/" + file_name(segments[i]);
      if (segments[i].segment != i)
        return Status(Code::kCorrupt, "'" + folder_ + "/" + file_name({segments[i].generation, segments[i].stream, static_cast<uint32_t>(i)}) +
                                          "' is missing: '" + path + "' follows it");
      if (Status status = read_segment(path, segments[i], i + 1 == segments.size()); !status.ok()) return status;
    }
    return {};
  }

 private:
  Status read_segment(const std::string& path, const SegmentName& name, bool last) {
    std::vector<std::byte> contents;
    if (Status status = files_.read_all(path, &contents); !status.ok()) return status;
    const Bytes bytes(contents);
    const uint64_t seed = seed_of(database_, name);
    facts_->bytes += bytes.size();
    SegmentHeader header;
    if (Status status = decode(bytes, database_, name, &header); !status.ok()) {
      // A crash while the segment was made leaves no frame in it.
      const bool torn = last && status.code() == Code::kCorrupt && find_frame(bytes, 0, seed, 0) == bytes.size();
      if (!torn) return in_file(path, status);
      facts_->cuts.push_back({path, 0, bytes.size()});
      return {};
    }
    facts_->found = true;
    if (header.first_frame != next_)
      return damaged(facts_->last_file.empty() ? path : facts_->last_file, facts_->last_offset,
                     "frame " + std::to_string(next_) + " is missing; '" + path + "' begins with frame " + std::to_string(header.first_frame));
    if (name.segment != 0 && header.closed != facts_->closed) return damaged(path, 48, "the closed number is not that of the frame before");
    facts_->closed = header.closed;
    return read_frames(path, name, bytes, seed, last);
  }

  Status read_frames(const std::string& path, const SegmentName& name, Bytes bytes, uint64_t seed, bool last) {
    uint64_t at = kSegmentHeaderBytes;
    FrameView frame;
    while (open_frame(bytes.subspan(at), seed, &frame.header)) {
      if (frame.header.sequence != next_) return damaged(path, at, "frame " + std::to_string(frame.header.sequence) + " stands where frame " +
                                                                       std::to_string(next_) + " belongs");
      if (frame.header.closed < facts_->closed) return damaged(path, at, "the closed number falls");
      frame.segment = name;
      frame.offset = at;
      frame.payload = bytes.subspan(at + kFrameHeaderBytes, frame.header.payload_bytes);
      note(path, frame);
      if (Status status = visit_(frame); !status.ok()) return status;
      at += kFrameHeaderBytes + frame.header.payload_bytes;
      ++next_;
    }
    facts_->last_file = path;
    facts_->last_offset = at;
    // Room that was made and not used. Were a frame lost there, the next segment would not begin where this one ends.
    if (std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end(), [](std::byte b) { return b == std::byte{0}; })) return {};
    const uint64_t whole = find_frame(bytes, at, seed, next_);
    if (whole != bytes.size())
      return damaged(path, at, "frame " + std::to_string(next_) + " is damaged; a whole one stands behind it, at byte " + std::to_string(whole));
    if (!last) return damaged(path, at, "frame " + std::to_string(next_) + " is damaged; another segment follows");
    facts_->cuts.push_back({path, at, bytes.size() - at});
    return {};
  }

  void note(const std::string& path, const FrameView& frame) {
    ++facts_->frames;
    facts_->records += frame.header.records;
    facts_->closed = frame.header.closed;
    facts_->last_number = std::max(facts_->last_number, frame.header.last_number);
    if (frame.header.durable <= facts_->durable && facts_->frames != 1) return;
    facts_->durable = frame.header.durable;
    facts_->durable_file = path;
    facts_->durable_offset = frame.offset;
  }

  FileSystem& files_;
  const std::string& folder_;
  const DatabaseId& database_;
  const std::function<Status(const FrameView&)>& visit_;
  StreamFacts* facts_;
  uint64_t next_ = 0;  // the sequence of the next frame
};

}  // namespace

Status read_stream(FileSystem& files, const std::string& folder, const DatabaseId& database, uint32_t generation, uint32_t stream,
                   const std::function<Status(const FrameView&)>& visit, StreamFacts* facts) {
  *facts = {};
  std::vector<std::string> names;
  if (Status status = files.list(folder, &names); !status.ok()) return status;
  std::vector<SegmentName> segments;  // in order, as the names are
  SegmentName name;
  for (const std::string& text : names)
    if (parse_file_name(text, &name) && name.generation == generation && name.stream == stream) segments.push_back(name);
  return StreamReader(files, folder, database, visit, facts).read(segments);
}

Status read_records(const FrameView& frame, const std::string& folder, const std::function<Status(const Record&)>& visit) {
  Bytes rest = frame.payload;
  const auto refuse = [&](const std::string& words) { return damaged(folder + "/" + file_name(frame.segment), frame.offset, words); };
  Record record;
  uint32_t count = 0;
  while (!rest.empty()) {
    if (!take_record(&rest, &record)) return refuse("record " + std::to_string(count) + " of the frame does not fit in it");
    if (record.number < frame.header.first_number || record.number > frame.header.last_number)
      return refuse("record " + std::to_string(count) + " has a number that its frame denies");
    ++count;
    if (Status status = visit(record); !status.ok()) return status;
  }
  if (count != frame.header.records) return refuse("the frame has not as many records as it says");
  return {};
}

}  // namespace elider::log
