// Tests of reading a segment in pieces. The result must not depend on where a piece ends.
#include <gtest/gtest.h>

#include <random>

#include "tests/support/forwarding_folder.h"
#include "tests/support/log_test_support.h"
#include "log/reader.h"

namespace elider::log {
namespace {

constexpr DatabaseId kOwner = {1, 2};
constexpr SegmentName kName = {1, 0, 0};

struct Segment {
  std::vector<std::byte> bytes;
  std::vector<uint64_t> offsets;  // offsets of its frames
  std::vector<uint64_t> ends;
};

// Returns a segment with frames of a few bytes, of about a piece, and of several pieces.
Segment segment_of(std::mt19937_64& random) {
  Segment made;
  encode({kOwner, kName, 0, 0}, &made.bytes);
  const uint64_t seed = seed_of(kOwner, kName);
  for (uint64_t i = 0, count = 1 + random() % 8; i < count; ++i) {
    const uint64_t kind = random() % 4;
    const uint64_t text = kind == 0   ? 0
                          : kind == 1 ? random() % 200
                          : kind == 2 ? kRangeBytes - 300 + random() % 600
                                      : random() % (3 * kRangeBytes);
    const bool empty = kind == 0;
    const size_t begin = made.bytes.size(), payload = empty ? 0 : kRecordHeaderBytes + text;
    made.bytes.resize(begin + kFrameHeaderBytes + payload);
    if (!empty) {
      put_record_header(made.bytes.data() + begin + kFrameHeaderBytes, i + 1, static_cast<uint32_t>(text));
      for (size_t at = begin + kFrameHeaderBytes + kRecordHeaderBytes; at < made.bytes.size(); ++at)
        made.bytes[at] = static_cast<std::byte>(at * 7 + i);
    }
    const uint64_t number = empty ? 0 : i + 1;
    seal({i, i + 1, i, number, number, static_cast<uint32_t>(payload), empty ? 0u : 1u}, seed, std::span(made.bytes).subspan(begin));
    made.offsets.push_back(begin);
    made.ends.push_back(made.bytes.size());
  }
  return made;
}

class Segments : public testing::Test {
 protected:
  // Uses the buffer that the previous read has filled.
  Status read(const std::vector<std::byte>& bytes) {
    MemoryFiles::Contents contents;
    contents["db/" + file_name(kName)] = bytes;
    MemoryFiles files(std::move(contents));
    visited_.clear();
    const auto visit = [&](const FrameView& frame) {
      visited_.push_back(frame.offset);
      EXPECT_TRUE(std::equal(frame.payload.begin(), frame.payload.end(),
                             bytes.begin() + static_cast<std::ptrdiff_t>(frame.offset + kFrameHeaderBytes)));
      return Status();
    };
    return read_segment(*open_folder(files), kOwner, kName, &buffer_, visit, &facts_);
  }
  // Expects that the segment's frames before `frame` are whole and that the rest is cut off.
  void expect_frames(const Segment& segment, size_t frame, size_t bytes) {
    EXPECT_EQ(visited_, std::vector<uint64_t>(segment.offsets.begin(), segment.offsets.begin() + static_cast<std::ptrdiff_t>(frame)));
    EXPECT_EQ(facts_.frames, frame);
    EXPECT_EQ(facts_.whole_bytes, frame == 0 ? kSegmentHeaderBytes : segment.ends[frame - 1]);
    EXPECT_EQ(facts_.bytes, bytes);
    uint64_t in_ranges = 0, next = 0;
    for (const FrameRange& range : facts_.ranges) {
      EXPECT_EQ(range.first_frame, next);
      next += range.frames;
      in_ranges += range.bytes;
    }
    EXPECT_EQ(next, frame);
    EXPECT_EQ(kSegmentHeaderBytes + in_ranges, facts_.whole_bytes);
  }

  ReadBuffer buffer_;
  SegmentFacts facts_;
  std::vector<uint64_t> visited_;
};

TEST_F(Segments, AreJudgedAlikeWhereverTheirPiecesEnd) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Segment segment = segment_of(random);
    const size_t frames = segment.offsets.size();
    ASSERT_TRUE(read(segment.bytes).ok());
    expect_frames(segment, frames, segment.bytes.size());

    std::vector<std::byte> longer = segment.bytes;  // with unused room at the end
    longer.resize(longer.size() + random() % (2 * kRangeBytes));
    ASSERT_TRUE(read(longer).ok());
    expect_frames(segment, frames, segment.bytes.size());

    for (int i = 0; i < 4; ++i) {
      const size_t hit = random() % frames;
      const uint64_t begin = segment.offsets[hit], size = segment.ends[hit] - begin;
      const uint64_t at = begin + random() % (i % 2 == 0 ? std::min<uint64_t>(size, kFrameHeaderBytes) : size);
      SCOPED_TRACE("frame " + std::to_string(hit) + " of " + std::to_string(frames) + ", byte " + std::to_string(at));
      std::vector<std::byte> shorter(segment.bytes.begin(), segment.bytes.begin() + static_cast<std::ptrdiff_t>(at));
      ASSERT_TRUE(read(shorter).ok());
      expect_frames(segment, hit, shorter.size());

      std::vector<std::byte> damaged = segment.bytes;
      damaged[at] ^= std::byte{0x10};
      const Status status = read(damaged);
      if (hit + 1 == frames) {
        ASSERT_TRUE(status.ok()) << status.message();
        expect_frames(segment, hit, damaged.size());
        continue;
      }
      EXPECT_EQ(status.code(), Code::kCorrupt);
      const std::string where = "at byte " + std::to_string(begin), behind = "at byte " + std::to_string(segment.offsets[hit + 1]);
      EXPECT_NE(status.message().find(where), std::string::npos) << status.message();
      EXPECT_NE(status.message().find(behind), std::string::npos) << status.message();
    }
  }
}

TEST_F(Segments, ThatAreShortNeedNoMoreThanTheyHave) {
  std::mt19937_64 random(1);
  const Segment segment = segment_of(random);
  for (const size_t bytes : {size_t{0}, size_t{10}, kSegmentHeaderBytes - 1}) {
    ASSERT_TRUE(read(segment.bytes).ok());  // the buffer then holds frames of another file
    ASSERT_TRUE(read({segment.bytes.begin(), segment.bytes.begin() + static_cast<std::ptrdiff_t>(bytes)}).ok());
    EXPECT_FALSE(facts_.header_fault.ok());
    EXPECT_EQ(facts_.frames, 0u);
    EXPECT_EQ(facts_.bytes, bytes);
  }
}

// Another process writes to the file while it is read. A frame that was missing at first must not
// be reported as damaged.
class GrowingFolder final : public ForwardingFolder {
 public:
  GrowingFolder(MemoryFiles& before, MemoryFiles& after) : ForwardingFolder(open_folder(after)), before_(open_folder(before)) {}
  Status open(const std::string& name, OpenMode mode, std::unique_ptr<File>* file) override {
    return (opened_++ < 2 ? *before_ : folder()).open(name, mode, file);  // the first two times, for its size and its first piece
  }

 private:
  const std::unique_ptr<Folder> before_;
  int opened_ = 0;
};

TEST_F(Segments, MayGrowWhileTheyAreRead) {
  std::vector<std::byte> bytes;
  encode({kOwner, kName, 0, 0}, &bytes);
  const uint64_t seed = seed_of(kOwner, kName);
  std::vector<uint64_t> ends;
  for (uint64_t i = 0; i < 3; ++i) {
    const size_t begin = bytes.size(), payload = kRecordHeaderBytes + 500'000;
    bytes.resize(begin + kFrameHeaderBytes + payload);
    put_record_header(bytes.data() + begin + kFrameHeaderBytes, i + 1, 500'000);
    seal({i, i + 1, i, i + 1, i + 1, static_cast<uint32_t>(payload), 1}, seed, std::span(bytes).subspan(begin));
    ends.push_back(bytes.size());
  }
  bytes.resize(bytes.size() + kRangeBytes);
  std::vector<std::byte> earlier = bytes;
  std::fill(earlier.begin() + static_cast<std::ptrdiff_t>(ends[0]), earlier.end(), std::byte{0});
  MemoryFiles before({{"db/" + file_name(kName), earlier}}), after({{"db/" + file_name(kName), bytes}});
  GrowingFolder folder(before, after);
  const Status status = read_segment(folder, kOwner, kName, &buffer_, [](const FrameView&) { return Status(); }, &facts_);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(facts_.frames, 3u);
  EXPECT_EQ(facts_.whole_bytes, ends[2]);
}

// -- what is cut says why -------------------------------------------------------------------------

std::vector<std::byte> frame_of(uint64_t sequence, const SegmentName& name) {
  std::vector<std::byte> frame(kFrameHeaderBytes + kRecordHeaderBytes + 20, std::byte{7});
  put_record_header(frame.data() + kFrameHeaderBytes, sequence + 1, 20);
  seal({sequence, sequence + 1, sequence, sequence + 1, sequence + 1, static_cast<uint32_t>(frame.size() - kFrameHeaderBytes), 1},
       seed_of(kOwner, name), frame);
  return frame;
}

// Reads a last segment that has frame 0 followed by these bytes. Returns the description of the
// cut, or an empty text if nothing is cut.
std::string cut_of(const std::vector<std::byte>& behind) {
  std::vector<std::byte> bytes;
  encode({kOwner, kName, 0, 0}, &bytes);
  const std::vector<std::byte> first = frame_of(0, kName);
  bytes.insert(bytes.end(), first.begin(), first.end());
  const size_t offset = bytes.size();
  bytes.insert(bytes.end(), behind.begin(), behind.end());
  MemoryFiles files(MemoryFiles::Contents{{"db/" + file_name(kName), bytes}});
  ReadBuffer buffer;
  std::vector<SegmentFacts> facts(1);
  StreamFacts stream;
  Status status = read_segment(*open_folder(files), kOwner, kName, &buffer, [](const FrameView&) { return Status(); }, &facts[0]);
  if (status.ok()) status = join_segments("db", facts, 0, &stream);
  if (!status.ok()) return "refused: " + status.message();
  if (stream.cuts.empty()) return "";
  const std::string place = "'db/" + file_name(kName) + "' from byte " + std::to_string(offset) + ": ";
  EXPECT_EQ(describe(stream.cuts[0]), place + std::to_string(stream.cuts[0].bytes) + " bytes; " + stream.cuts[0].why);
  EXPECT_EQ(stream.cuts[0].bytes, behind.size());
  return stream.cuts[0].why;
}

TEST(CutTails, SayWhatIsWrongWithThem) {
  const std::vector<std::byte> whole = frame_of(1, kName);
  const auto first_bytes = [&](ptrdiff_t count) { return std::vector<std::byte>(whole.begin(), whole.begin() + count); };
  EXPECT_EQ(cut_of(whole), "");
  EXPECT_EQ(cut_of(std::vector<std::byte>(200)), "") << "room that was not used";
  EXPECT_EQ(cut_of(first_bytes(3)), "the header of frame 1 is cut short");
  EXPECT_EQ(cut_of(first_bytes(40)), "the header of frame 1 is cut short");
  EXPECT_EQ(cut_of(first_bytes(80)), "frame 1 is cut short: the file has 80 of its 96 bytes");
  std::vector<std::byte> changed = whole;
  changed[90] ^= std::byte{1};
  EXPECT_EQ(cut_of(changed), "the checksum of frame 1 does not match");
  changed = whole;
  std::fill_n(changed.begin(), kFrameHeaderBytes, std::byte{0});
  EXPECT_EQ(cut_of(changed), "found zeros instead of the header of frame 1");
  EXPECT_EQ(cut_of(std::vector<std::byte>(100, std::byte{0x5a})), "the data there does not begin with a frame's magic number");
  changed = whole;
  changed[52] = std::byte{1};
  EXPECT_EQ(cut_of(changed), "the header of frame 1 is invalid");
  EXPECT_EQ(cut_of(frame_of(7, {1, 0, 3})), "found the header of frame 7 instead of that of frame 1") << "another segment's";
  EXPECT_NE(cut_of(frame_of(2, kName)).find("refused: "), std::string::npos) << "a whole frame out of order is damage, no crash";
}

TEST(CutTails, OfASegmentWithoutAHeaderSayThat) {
  MemoryFiles files(MemoryFiles::Contents{{"db/" + file_name(kName), std::vector<std::byte>(30)}});
  ReadBuffer buffer;
  std::vector<SegmentFacts> facts(1);
  StreamFacts stream;
  ASSERT_TRUE(read_segment(*open_folder(files), kOwner, kName, &buffer, [](const FrameView&) { return Status(); }, &facts[0]).ok());
  ASSERT_TRUE(join_segments("db", facts, 0, &stream).ok());
  ASSERT_EQ(stream.cuts.size(), 1u);
  EXPECT_EQ(describe(stream.cuts[0]), "'db/" + file_name(kName) + "' from byte 0: 30 bytes; the segment's header is cut short");
}

}  // namespace
}  // namespace elider::log
