// Tests of pieces, the parts of a segment that recovery reads independently. A piece consists of
// whole frames, as judge() has found.
#include <algorithm>
#include <optional>

#include "tests/support/log_test_support.h"

namespace elider::log {
namespace {

constexpr size_t kTextBytes = 300'000;  // three frames with such a record are a piece

std::string text_of(int i) { return std::string(kTextBytes + static_cast<size_t>(i), static_cast<char>('a' + i % 26)); }

// Writes one record per frame, to each stream in turn.
State write_log(MemoryFiles& files, uint32_t streams, int records) {
  State written;
  Running running;
  LogOptions options;
  options.streams = options.workers = streams;
  options.flush_interval_us = 10'000'000;  // each wait makes the log write a frame: one per record
  EXPECT_TRUE(running.start(files, options).ok());
  for (int i = 0; i < records; ++i) {
    uint64_t number = 0;
    EXPECT_TRUE(running.commit(static_cast<uint32_t>(i) % streams, text_of(i), &number).ok());
    EXPECT_TRUE(running.log->wait_durable(number).ok());
    written.emplace(number, text_of(i));
  }
  return written;
}

struct Judged {
  std::unique_ptr<Directory> directory;
  RecoveryFacts facts;
  Status status;
  explicit Judged(FileSystem& files) {
    status = Directory::open(files, kFolders, false, &directory);
    if (status.ok()) status = directory->judge(2, nullptr, &facts);
    std::optional<Checkpoint> base;
    if (status.ok()) status = directory->choose_base(kNumberMax, 0, &base);
  }
};

Status read(Directory& directory, const LogPiece& piece, State* state) {
  ReadBuffer buffer;
  return directory.read(piece, &buffer, [&](const Record& record) {
    EXPECT_GE(record.number, piece.range.first_number);
    EXPECT_LE(record.number, piece.range.last_number);
    const std::string text(reinterpret_cast<const char*>(record.bytes.data()), record.bytes.size());
    if (record.number <= piece.cut) state->emplace(record.number, text);
    return Status();
  });
}

void overwrite(MemoryFiles& files, const LogPiece& piece, uint64_t offset) {
  std::unique_ptr<File> file;
  ASSERT_TRUE(files.open(piece.folder->path_of(file_name(piece.name)), OpenMode::kRead, &file).ok());
  std::byte byte{};
  size_t count = 0;
  ASSERT_TRUE(file->read_at(offset, {&byte, 1}, &count).ok());
  byte ^= std::byte{1};
  ASSERT_TRUE(file->write_at(offset, {&byte, 1}).ok());
}

TEST(Pieces, OfSegmentsThatAreLongerHoldAllRecordsOnce) {
  for (const uint32_t streams : {1u, 2u}) {
    MemoryFiles files;
    const State written = write_log(files, streams, 20);
    Judged judged(files);
    ASSERT_TRUE(judged.status.ok()) << judged.status.message();
    const std::vector<LogPiece>& pieces = judged.directory->pieces();
    EXPECT_GE(pieces.size(), 6u);
    State state;
    std::map<uint32_t, std::vector<FrameRange>> ranges;  // by stream
    bool overlap = false;
    for (const LogPiece& piece : pieces) {
      EXPECT_LE(piece.range.bytes, kRangeBytes);
      ranges[piece.name.stream].push_back(piece.range);
      for (const LogPiece& other : pieces)
        overlap = overlap || (other.name.stream != piece.name.stream && other.range.first_number < piece.range.last_number &&
                              piece.range.first_number < other.range.last_number);
      ASSERT_TRUE(read(*judged.directory, piece, &state).ok());
    }
    EXPECT_EQ(overlap, streams == 2) << "the streams take turns";
    EXPECT_TRUE(std::is_permutation(state.begin(), state.end(), written.begin(), written.end()));
    EXPECT_EQ(ranges.size(), streams);
    const auto before = [](const LogPiece& a, const LogPiece& b) { return a.range.last_number < b.range.last_number; };
    EXPECT_TRUE(std::is_sorted(pieces.begin(), pieces.end(), before));
  }
}

TEST(Pieces, RangesOfASegmentFollowEachOther) {
  MemoryFiles files;
  write_log(files, 1, 12);
  Judged judged(files);
  ASSERT_TRUE(judged.status.ok());
  const SegmentFacts& segment = judged.directory->segments().front();
  ASSERT_GE(segment.ranges.size(), 3u);
  uint64_t at = kSegmentHeaderBytes, frame = segment.first_frame, records = 0;
  for (const FrameRange& range : segment.ranges) {
    EXPECT_EQ(range.offset, at);
    EXPECT_EQ(range.first_frame, frame);
    at += range.bytes;
    frame += range.frames;
    records += range.records;
  }
  EXPECT_EQ(at, segment.whole_bytes);
  EXPECT_EQ(frame, segment.first_frame + segment.frames);
  EXPECT_EQ(records, segment.records);
}

// The last frame is torn and is cut off. The earlier pieces, and the earlier frames of its own
// piece, are found.
TEST(Pieces, ATornTailIsInNone) {
  MemoryFiles files;
  State written = write_log(files, 1, 8);
  MemoryFiles::Contents contents = files.contents();
  std::vector<std::byte>& bytes = contents.at("db/log-00000001-00-00000000");
  Judged whole(files);
  const uint64_t end = whole.directory->segments().front().whole_bytes;
  bytes.resize(end - 1000);
  MemoryFiles crashed(contents);
  Judged judged(crashed);
  ASSERT_TRUE(judged.status.ok()) << judged.status.message();
  ASSERT_EQ(judged.facts.cuts.size(), 1u);
  written.erase(std::prev(written.end()));
  State state;
  for (const LogPiece& piece : judged.directory->pieces()) {
    EXPECT_LE(piece.range.offset + piece.range.bytes, judged.facts.cuts.front().offset);
    ASSERT_TRUE(read(*judged.directory, piece, &state).ok());
  }
  EXPECT_EQ(state, written);
}

TEST(Pieces, DamageThatComesAfterTheyWereJudgedIsFoundWhereItIs) {
  MemoryFiles files;
  write_log(files, 1, 12);
  Judged judged(files);
  ASSERT_TRUE(judged.status.ok());
  const std::vector<LogPiece>& pieces = judged.directory->pieces();
  ASSERT_GE(pieces.size(), 3u);
  const FrameRange& range = pieces[1].range;
  ASSERT_GE(range.frames, 2u);
  for (const uint64_t offset : {range.offset, range.offset + 70, range.offset + range.bytes - 1}) {
    overwrite(files, pieces[1], offset);
    for (const LogPiece& piece : pieces) {
      State state;
      const Status status = read(*judged.directory, piece, &state);
      EXPECT_EQ(status.code(), &piece == &pieces[1] ? Code::kCorrupt : Code::kOk) << status.message();
      const bool first = offset < range.offset + 100;
      EXPECT_EQ(state.size(), piece.range.records - (status.ok() ? 0 : first ? range.records : 1)) << "frames before it were read";
      if (status.ok()) continue;
      EXPECT_NE(status.message().find("log-00000001-00-00000000' at byte "), std::string::npos) << status.message();
      EXPECT_EQ(status.message().find("at byte " + std::to_string(range.offset) + ":") != std::string::npos, first) << status.message();
    }
    overwrite(files, pieces[1], offset);
  }
}

TEST(Pieces, OfAFileThatWasCutOrEmptiedMeanwhileAreDamaged) {
  MemoryFiles files;
  write_log(files, 1, 6);
  Judged judged(files);
  ASSERT_TRUE(judged.status.ok());
  std::unique_ptr<File> emptied;
  ASSERT_TRUE(files.open("db/log-00000001-00-00000000", OpenMode::kCreateNew, &emptied).ok());
  State state;
  for (const LogPiece& piece : judged.directory->pieces()) EXPECT_EQ(read(*judged.directory, piece, &state).code(), Code::kCorrupt);
  EXPECT_TRUE(state.empty());
}

// A piece consists of its own frames. Other frames, even whole ones, are not accepted in their
// place.
TEST(Pieces, ARangeThatIsNotItsFramesIsRefused) {
  MemoryFiles files;
  write_log(files, 1, 6);
  Judged judged(files);
  ASSERT_TRUE(judged.status.ok());
  for (const int what : {0, 1, 2}) {
    LogPiece piece = judged.directory->pieces().front();
    ASSERT_GE(piece.range.frames, 2u);
    if (what == 0) ++piece.range.first_frame;
    if (what == 1) --piece.range.frames;
    if (what == 2) piece.range.bytes -= 1;
    State state;
    EXPECT_EQ(read(*judged.directory, piece, &state).code(), Code::kCorrupt) << what;
  }
}

}  // namespace
}  // namespace elider::log
