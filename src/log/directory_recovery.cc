// The member functions of Directory that recovery calls. They determine which log records are valid
// and from which checkpoint recovery starts, and they read the log.
#include <algorithm>
#include <mutex>
#include <tuple>

#include "base/parallel.h"
#include "base/test_points.h"
#include "log/directory.h"

namespace elider::log {

namespace {
std::string at_end_of(const StreamFacts& stream, const std::string& first_file) {
  return "'" + (stream.last_file.empty() ? first_file : stream.last_file) + "' at byte " + std::to_string(stream.last_offset) +
         ": the log ends at number " + std::to_string(stream.closed) + ", but number ";
}
}  // namespace

// Returns the segments of all listed generations, ordered by generation, stream and position.
Status Directory::list_segments(std::vector<SegmentName>* segments) const {
  std::vector<std::string> names;
  for (size_t f = 0; f < folders_.size(); ++f) {
    if (Status status = folders_[f]->list(&names); !status.ok()) return status;
    SegmentName name;
    for (const std::string& text : names) {
      if (!parse_file_name(text, &name) || name.stream % folders_.size() != f) continue;
      for (const Generation& generation : manifest_.generations)
        if (generation.generation == name.generation && name.stream < generation.streams &&
            name.segment >= generation.first_segments[name.stream])
          segments->push_back(name);
    }
  }
  const auto rank = [](const SegmentName& n) { return std::tuple(n.generation, n.stream, n.segment); };
  std::sort(segments->begin(), segments->end(), [&](const SegmentName& a, const SegmentName& b) { return rank(a) < rank(b); });
  return {};
}

Status Directory::judge(uint32_t threads, const Progress& progress, RecoveryFacts* facts) {
  *facts = {};
  judged_.clear();
  closed_ = 0;
  cuts_.assign(manifest_.generations.size(), 0);
  first_number_ = std::max<uint64_t>(1, manifest_.next_number);
  for (const Checkpoint& checkpoint : manifest_.checkpoints) first_number_ = std::max(first_number_, checkpoint.number + 1);
  std::vector<SegmentName> names;
  if (Status status = list_segments(&names); !status.ok()) return status;
  std::vector<SegmentFacts>& segments = segments_;
  segments.assign(names.size(), {});
  std::vector<ReadBuffer> buffers(std::max<uint32_t>(threads, 1));
  std::vector<uint64_t> file_sizes(names.size());
  uint64_t all_bytes = 0, done = 0;
  for (size_t i = 0; i < names.size() && progress; ++i) {
    Folder& folder = folder_of(names[i].stream);
    if (Status status = file_bytes(folder, file_name(names[i]), kSegmentBytesMax, &file_sizes[i]); !status.ok()) return status;
    all_bytes += file_sizes[i];
  }
  std::mutex mutex;  // guards `done` and calls to progress()
  Status status = parallel(threads, names.size(), [&](uint32_t thread, size_t i) {
    const auto unneeded = [](const FrameView&) { return Status(); };
    Status read = read_segment(folder_of(names[i].stream), manifest_.database, names[i], &buffers[thread], unneeded, &segments[i]);
    if (read.ok() && progress) {
      std::lock_guard lock(mutex);
      done += file_sizes[i];
      progress(done, all_bytes);
    }
    return read;
  });
  if (!status.ok()) return status;
  for (size_t i = 0; i < manifest_.generations.size(); ++i)
    if (status = judge_generation(i, segments, facts); !status.ok()) return status;
  closed_ = facts->closed;
  for (size_t i = 0; i + 1 < segments.size(); ++i) {
    const SegmentName &name = segments[i].name, &next = segments[i + 1].name;
    if (name.generation == next.generation && name.stream == next.stream && segments[i + 1].frames != 0)
      finished_[file_name(name)] = segments[i].last_number - (ELIDER_MUTANT(kFinishedTooSmall) ? 1 : 0);
  }
  return {};
}

// Checks that a generation is complete, and determines its cut.
Status Directory::judge_generation(size_t position, const std::vector<SegmentFacts>& segments, RecoveryFacts* facts) {
  const Generation& generation = manifest_.generations[position];
  std::vector<StreamFacts> streams(generation.streams);
  SnapshotNumber smallest = kNumberMax;
  bool frames = false;
  for (uint32_t s = 0; s < generation.streams; ++s) {
    const auto of_stream = [&](const SegmentFacts& f) { return f.name.generation == generation.generation && f.name.stream == s; };
    const auto begin = std::find_if(segments.begin(), segments.end(), of_stream);
    const auto end = std::find_if_not(begin, segments.end(), of_stream);
    const uint32_t first = generation.first_segments[s];
    if (Status status = join_segments(folder_of(s).path(), {begin, end}, first, &streams[s]); !status.ok()) return status;
    if (const uint64_t largest = std::max(streams[s].last_number, streams[s].closed); largest >= kNumbersEnd)
      return Status(Code::kCorrupt, "'" + streams[s].last_file + "' contains number " + std::to_string(largest) +
                                        ", which is above the largest possible number");
    smallest = std::min(smallest, streams[s].closed);
    frames = frames || streams[s].frames != 0 || generation.first_segments[s] != 0;
    facts->frames += streams[s].frames;
    facts->cuts.insert(facts->cuts.end(), streams[s].cuts.begin(), streams[s].cuts.end());
    first_number_ = std::max({first_number_, streams[s].last_number + 1, streams[s].closed + 1});
  }
  const uint64_t cut = cuts_[position] = generation.cut != kNumberMax ? generation.cut : smallest;
  for (uint32_t s = 0; s < generation.streams; ++s) {
    if (frames && !streams[s].found)
      return Status(Code::kCorrupt, "'" + folder_of(s).path_of(file_name({generation.generation, s, generation.first_segments[s]})) +
                                        "' is missing or lacks a header, although other files of its generation contain frames");
    if (Status status = check_stream(generation, s, cut, streams); !status.ok()) return status;
  }
  facts->closed = std::max(facts->closed, cut);
  for (const SegmentFacts& segment : segments) {
    if (segment.name.generation != generation.generation) continue;
    facts->bytes += segment.bytes;
    for (const FrameRange& range : segment.ranges) {
      if (range.records == 0) continue;
      if (range.first_number > cut) facts->records_void += range.records;
      else judged_.push_back({&folder_of(segment.name.stream), segment.name, cut, range});
    }
  }
  return {};
}

// Checks that the stream reaches the generation's cut and each number that any stream reports as
// durable. Otherwise the stream's end is lost.
Status Directory::check_stream(const Generation& generation, uint32_t stream, uint64_t cut, const std::vector<StreamFacts>& streams) const {
  const std::string file = folder_of(stream).path_of(file_name({generation.generation, stream, generation.first_segments[stream]}));
  if (streams[stream].closed < cut)
    return Status(Code::kCorrupt, at_end_of(streams[stream], file) + std::to_string(cut) + " should be in it, according to the manifest");
  for (const StreamFacts& other : streams)
    if (other.durable > streams[stream].closed && !ELIDER_MUTANT(kTrustShortStream))
      return Status(Code::kCorrupt, at_end_of(streams[stream], file) + std::to_string(other.durable) + " was durable, according to '" +
                                        other.durable_file + "' at byte " + std::to_string(other.durable_offset));
  return {};
}

uint64_t Directory::cut_of(uint32_t generation) const {
  for (size_t i = 0; i < cuts_.size(); ++i)
    if (manifest_.generations[i].generation == generation) return cuts_[i];
  return kNumberMax;
}

Status Directory::choose_base(SnapshotNumber to_number, size_t skipped, std::optional<Checkpoint>* base) {
  const auto& all = manifest_.checkpoints;
  const SnapshotNumber newest = std::max(closed_, all.empty() ? 0 : all.back().number);
  const SnapshotNumber oldest = all.empty() ? 0 : all.front().number;
  if (to_number < oldest || (to_number > newest && to_number != kNumberMax))
    return Status::invalid_argument("the state after number " + std::to_string(to_number) + " is not stored in '" + paths_.front() +
                                    "', which has the states after numbers " + std::to_string(oldest) + " to " + std::to_string(newest));
  size_t count = 0;  // number of checkpoints whose numbers are at most `to_number`
  while (count < all.size() && all[count].number <= to_number) ++count;
  if (skipped >= count && skipped != 0) return Status(Code::kNotFound, "'" + paths_.front() + "' does not contain an older checkpoint");
  base->reset();
  if (count > skipped) *base = all[count - 1 - skipped];
  damaged_.assign(all.begin() + static_cast<std::ptrdiff_t>(count - skipped), all.begin() + static_cast<std::ptrdiff_t>(count));
  base_ = base->has_value() ? (*base)->number : 0;
  to_number_ = to_number;
  pieces_.clear();
  for (const LogPiece& piece : judged_)
    if (piece.range.last_number > base_ && piece.range.first_number <= to_number_) pieces_.push_back(piece);
  const auto before = [](const LogPiece& a, const LogPiece& b) { return a.range.last_number < b.range.last_number; };
  std::stable_sort(pieces_.begin(), pieces_.end(), before);
  return {};
}

Status Directory::read(const LogPiece& piece, ReadBuffer* buffer, const std::function<Status(const Record&)>& visit) {
  return read_range(*piece.folder, manifest_.database, piece.name, piece.range, buffer,
                    [&](const FrameView& frame) { return read_records(frame, piece.folder->path(), visit); });
}

Status Directory::recover(SnapshotNumber to_number, const Visit& visit, RecoveryFacts* facts) {
  std::optional<Checkpoint> base;
  if (Status status = judge(1, nullptr, facts); !status.ok()) return status;
  if (Status status = choose_base(to_number, 0, &base); !status.ok()) return status;
  ReadBuffer buffer;
  std::vector<LogPiece> pieces = pieces_;
  const auto rank = [](const LogPiece& p) { return std::tuple(p.name.generation, p.name.stream, p.range.first_frame); };
  std::sort(pieces.begin(), pieces.end(), [&](const LogPiece& a, const LogPiece& b) { return rank(a) < rank(b); });
  for (const LogPiece& piece : pieces) {
    Status status = read(piece, &buffer, [&](const Record& record) -> Status {
      if (record.number > piece.cut) ++facts->records_void;
      if (record.number <= base_ || record.number > std::min(piece.cut, to_number)) return {};
      ++facts->records;
      facts->last_number = std::max(facts->last_number, record.number);
      return visit(piece.name.generation, piece.name.stream, record);
    });
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace elider::log
