// Checkpoints of a log whose records are texts. Story of the crash tests: a worker commits records.
// From time to time, all records are written as a checkpoint, which is then published. The machine
// stops at any system call, and any subset of the unsynced sectors is on the disk. Recovery then
// uses the checkpoint and the log after it. It finds everything that was acknowledged, and a prefix
// of what was committed. If any byte of a checkpoint is changed, the change is detected.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/checksum.h"
#include "base/random.h"
#include "base/test_points.h"
#include "log/checkpoint_file.h"
#include "tests/support/crash_disk.h"
#include "tests/support/log_test_support.h"

namespace elider::log {
namespace {

double scale() {
  const char* const text = std::getenv("ELIDER_TEST_SCALE");
  return text == nullptr ? 1.0 : std::atof(text);
}

// Stores each record as a row, which is its number (8 bytes), its size (4) and its text.
std::vector<std::byte> block_of(const State& state) {
  std::vector<std::byte> block(kBlockHeaderBytes);
  for (const auto& [number, text] : state) {
    const size_t at = block.size();
    block.resize(at + kRecordHeaderBytes + text.size());
    put_record_header(block.data() + at, number, static_cast<uint32_t>(text.size()));
    if (!text.empty()) std::memcpy(block.data() + at + kRecordHeaderBytes, text.data(), text.size());
  }
  return block;
}

// Writes two parts of one block each, one with even numbers and one with odd ones.
Status write_checkpoint(Directory& directory, uint64_t number, const State& state) {
  for (uint32_t part = 0; part < 2; ++part) {
    std::unique_ptr<PartWriter> writer;
    Status created = PartWriter::create(directory.folder_of(part), directory.manifest().database, {number, part}, &writer);
    if (!created.ok()) return created;
    State mine;
    for (const auto& [of, text] : state)
      if (of % 2 == part) mine.emplace(of, text);
    std::vector<std::byte> block = block_of(mine);
    if (Status status = writer->append(BlockKind::kRows, 7, static_cast<uint32_t>(mine.size()), block); !status.ok()) return status;
    if (Status status = writer->finish(); !status.ok()) return status;
  }
  return {};
}

Status read_checkpoint(Directory& directory, const Checkpoint& checkpoint, State* state) {
  for (uint32_t part = 0; part < checkpoint.parts; ++part) {
    std::unique_ptr<PartReader> reader;
    Status opened = PartReader::open(directory.folder_of(part), directory.manifest().database, {checkpoint.number, part}, &reader);
    if (!opened.ok()) return opened;
    CheckpointBlock block;
    for (;;) {
      if (Status status = reader->next(&block); !status.ok()) return status;
      if (block.kind == BlockKind::kEnd) break;
      Bytes rest = block.payload;
      Record record;
      while (take_record(&rest, &record))
        state->emplace(record.number, std::string(reinterpret_cast<const char*>(record.bytes.data()), record.bytes.size()));
    }
  }
  return {};
}

// Recovers the checkpoint and the log after it. If the newest checkpoint is damaged, uses the
// previous one.
Recovered recover_all(FileSystem& files, uint64_t to_number = kNumberMax, uint64_t* base_number = nullptr) {
  Recovered result;
  std::unique_ptr<Directory> directory;
  uint64_t base_of = 0;
  result.status = Directory::open(files, kFolders, true, &directory);
  if (result.status.ok()) result.status = directory->judge(1, nullptr, &result.facts);
  for (size_t skipped = 0; result.status.ok(); ++skipped) {
    std::optional<Checkpoint> base;
    result.state.clear();
    result.status = directory->choose_base(to_number, skipped, &base);
    if (result.status.ok() && base.has_value()) result.status = read_checkpoint(*directory, *base, &result.state);
    const bool older = base.has_value() && directory->manifest().checkpoints.front().number < base->number;
    if (result.status.code() == Code::kCorrupt && older) {
      result.status = {};
      continue;
    }
    base_of = base.has_value() ? base->number : 0;
    if (base_number != nullptr) *base_number = base_of;
    break;
  }
  if (!result.status.ok()) return result;
  ReadBuffer buffer;
  for (const LogPiece& piece : directory->pieces()) {
    result.status = directory->read(piece, &buffer, [&](const Record& record) {
      if (record.number <= base_of || record.number > std::min(piece.cut, to_number)) return Status();
      result.state.emplace(record.number, std::string(reinterpret_cast<const char*>(record.bytes.data()), record.bytes.size()));
      return Status();
    });
    if (!result.status.ok()) break;
  }
  return result;
}

struct Workload {
  std::vector<MemoryFiles::Call> calls;
  MemoryFiles::Contents before;
  State written;
  std::vector<std::pair<size_t, uint64_t>> acknowledged;  // after this many calls, all commits up to the number are durable
};

// Commits with two streams of small segments. After every few commits it takes a checkpoint.
void run_workload(Workload& run, uint64_t seed, uint32_t kept) {
  MemoryFiles files(run.before);
  {
    Random random(seed);
    Running running;
    LogOptions options;
    options.streams = 2;
    options.workers = 2;
    options.segment_bytes = 600;
    ASSERT_TRUE(running.start(files, options).ok());
    for (int i = 0; i < 24; ++i) {
      uint64_t number = 0;
      const std::string text = std::to_string(seed) + ":" + std::to_string(i) + std::string(random.below(300), '.');
      ASSERT_TRUE(running.commit(static_cast<uint32_t>(i % 2), text, &number).ok());
      run.written.emplace(number, text);
      if (!random.one_in(3)) {
        ASSERT_TRUE(running.log->wait_durable(number).ok());
        run.acknowledged.emplace_back(files.call_count(), number);
      }
      if (i % 6 != 5) continue;
      const uint64_t snapshot = running.numbers->advance();
      State state(run.written.begin(), run.written.upper_bound(snapshot));
      ASSERT_TRUE(write_checkpoint(*running.directory, snapshot, state).ok());
      ASSERT_TRUE(running.log->wait_durable(snapshot).ok());
      Published published;
      ASSERT_TRUE(running.directory->publish({snapshot, 2}, kept, running.log->take_finished(), &published).ok());
      run.acknowledged.emplace_back(files.call_count(), snapshot);
    }
    running.log.reset();
  }
  run.calls = files.calls();
}

// Returns an empty text, or a description of what is wrong with the recovered state. A record may
// be in the checkpoint, in the log, or in both.
std::string judge(const Recovered& recovered, const State& written, uint64_t acknowledged) {
  if (!recovered.status.ok()) return recovered.status.message();
  std::map<uint64_t, std::set<std::string>> there, wanted;
  uint64_t last = acknowledged;
  for (const auto& [number, text] : recovered.state) {
    there[number].insert(text);
    last = std::max(last, number);
  }
  for (const auto& [number, text] : written)
    if (number <= last) wanted[number].insert(text);
  if (there == wanted) return "";
  return "recovered " + std::to_string(there.size()) + " numbers up to " + std::to_string(last) + " instead of " +
         std::to_string(wanted.size()) + "; acknowledged was " + std::to_string(acknowledged);
}

std::string check_crashes(const Workload& run, uint64_t seed, int samples, uint64_t* images) {
  Random random(seed);
  CrashDisk disk(run.before);
  for (size_t count = 0; count <= run.calls.size(); ++count) {
    if (count != 0) disk.apply(run.calls[count - 1]);
    uint64_t acknowledged = 0;
    for (const auto& [calls, number] : run.acknowledged)
      if (calls <= count) acknowledged = std::max(acknowledged, number);
    for (int sample = 0; sample < samples; ++sample) {
      const uint32_t chance = sample == 0 ? 0 : sample == 1 ? 100 : static_cast<uint32_t>(random.below(101));
      ++*images;
      MemoryFiles files(disk.image([&] { return random.below(100) < chance; }));
      if (std::string wrong = judge(recover_all(files), run.written, acknowledged); !wrong.empty())
        return "seed " + std::to_string(seed) + ", after call " + std::to_string(count) + ": " + wrong;
    }
  }
  return "";
}

MemoryFiles::Contents whole_image(const Workload& run) {
  CrashDisk disk(run.before);
  for (const MemoryFiles::Call& call : run.calls) disk.apply(call);
  return disk.everything();
}

std::string search(uint64_t seeds, int samples) {
  uint64_t images = 0;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    Workload run;
    run_workload(run, seed, 1 + seed % 2);
    if (std::string wrong = check_crashes(run, seed, samples, &images); !wrong.empty()) return wrong;
    Workload second;
    second.before = whole_image(run);
    second.written = run.written;
    run_workload(second, seed + 1000, 1 + seed % 2);
    second.acknowledged.emplace_back(0, run.written.rbegin()->first);
    if (std::string wrong = check_crashes(second, seed + 1000, samples, &images); !wrong.empty()) return wrong;
  }
  std::printf("%llu images\n", static_cast<unsigned long long>(images));
  return "";
}

TEST(CheckpointCrash, EveryImageRecoversToAPrefixWithAllThatWasAcknowledged) {
  EXPECT_EQ(search(static_cast<uint64_t>(std::max(1.0, 4 * scale())), 6), "");
}

class CheckpointMutant : public testing::TestWithParam<Mutant> {
 protected:
  void SetUp() override {
    if (!TestPoints::enabled()) GTEST_SKIP() << "built without mutants";
  }
  void TearDown() override { set_mutant(Mutant::kNone); }
};

TEST_P(CheckpointMutant, IsCaught) {
  set_mutant(GetParam());
  EXPECT_NE(search(10, 4), "");
}

INSTANTIATE_TEST_SUITE_P(Durability, CheckpointMutant, testing::Values(Mutant::kPublishUnsynced, Mutant::kRemoveLogEarly),
                         [](const auto& info) {
                           std::string name(name_of(info.param));
                           return name;
                         });

// -- what is kept, and from where one may begin ---------------------------------------------------

TEST(Checkpoint, TheLogBeforeItGoesAndTheLogBehindItStays) {
  Workload run;
  run_workload(run, 3, 1);
  std::vector<std::string> segments, parts;
  for (const auto& [path, bytes] : whole_image(run)) {
    SegmentName segment;
    CheckpointName part;
    if (parse_file_name(path.substr(3), &segment)) segments.push_back(path);
    if (parse_file_name(path.substr(3), &part)) parts.push_back(path);
  }
  EXPECT_EQ(parts.size(), 2u) << "one checkpoint is kept";
  EXPECT_LT(segments.size(), 8u) << "most of the log is gone";
}

// Takes a checkpoint of each number in turn, in a log of short segments. Each checkpoint removes
// parts of the log, but no record with a number above the checkpoint's. The segments were written
// by the running log, or existed when the log was opened.
TEST(Checkpoint, OneOfEachNumberLetsGoNoRecordBehindIt) {
  for (const bool opened_again : {false, true}) {
    MemoryFiles files;
    LogOptions options;
    options.flush_interval_us = 10'000'000;
    options.segment_bytes = 1024;
    State written;
    auto running = std::make_unique<Running>();
    ASSERT_TRUE(running->start(files, options).ok());
    for (int i = 0; i < 24; ++i) {
      const std::string text = std::to_string(i) + std::string(250, '.');
      uint64_t number = 0;
      ASSERT_TRUE(running->commit(0, text, &number).ok());
      ASSERT_TRUE(running->log->wait_durable(number).ok());  // so that each record has its own number and its own frame
      ASSERT_EQ(written.count(number), 0u);
      written.emplace(number, text);
      if (i != 11 || !opened_again) continue;
      running = std::make_unique<Running>();
      ASSERT_TRUE(running->start(files, options).ok());
    }
    const auto count_segments = [&] {
      size_t count = 0;
      for (const auto& [path, bytes] : files.contents()) count += path.find("/log-") != std::string::npos;
      return count;
    };
    const size_t segments = count_segments();
    EXPECT_GT(segments, 6u);
    for (const auto& [number, text] : written) {
      ASSERT_TRUE(write_checkpoint(*running->directory, number, State(written.begin(), written.upper_bound(number))).ok());
      Published published;
      ASSERT_TRUE(running->directory->publish({number, 2}, 1, running->log->take_finished(), &published).ok());
      MemoryFiles copy(files.contents());
      EXPECT_EQ(judge(recover_all(copy), written, written.rbegin()->first), "") << "checkpoint " << number;
    }
    EXPECT_LT(count_segments(), segments / 2) << "the log before it goes";
  }
}

TEST(Checkpoint, ADamagedOneIsMadeUpForByAnOlderOneAndItsLog) {
  Workload run;
  run_workload(run, 4, 2);
  auto image = whole_image(run);
  std::vector<std::string> parts;
  for (auto& [path, bytes] : image)
    if (path.find("/checkpoint-") != std::string::npos) parts.push_back(path);
  ASSERT_EQ(parts.size(), 4u);
  image[parts.back()][100] ^= std::byte{1};
  MemoryFiles files(image);
  uint64_t base = 0;
  EXPECT_EQ(judge(recover_all(files, kNumberMax, &base), run.written, run.written.rbegin()->first), "");
  EXPECT_NE(parts.front().find(file_name(CheckpointName{base, 0})), std::string::npos);
  image[parts.front()][100] ^= std::byte{1};
  MemoryFiles both(image);
  const Recovered refused = recover_all(both);
  EXPECT_EQ(refused.status.code(), Code::kCorrupt);
  EXPECT_NE(refused.status.message().find(parts.front()), std::string::npos) << refused.status.message();
}

TEST(Checkpoint, AnEarlierStateIsThereAsFarBackAsTheOldestCheckpoint) {
  Workload run;
  run_workload(run, 5, 2);
  MemoryFiles files(whole_image(run));
  std::unique_ptr<Directory> directory;
  ASSERT_TRUE(Directory::open(files, kFolders, false, &directory).ok());
  const uint64_t oldest = directory->manifest().checkpoints.front().number;
  directory.reset();
  const uint64_t last = run.written.rbegin()->first;
  for (uint64_t number = oldest; number <= last; ++number) {
    const Recovered recovered = recover_all(files, number);
    ASSERT_TRUE(recovered.status.ok()) << recovered.status.message();
    EXPECT_EQ(judge(recovered, State(run.written.begin(), run.written.upper_bound(number)), number), "") << number;
  }
  const Recovered refused = recover_all(files, oldest - 1);
  EXPECT_EQ(refused.status.code(), Code::kInvalidArgument);
  EXPECT_NE(refused.status.message().find(" " + std::to_string(oldest) + " to "), std::string::npos) << refused.status.message();
  EXPECT_EQ(recover_all(files, last + 1000).status.code(), Code::kInvalidArgument);
}

// -- damage ---------------------------------------------------------------------------------------

bool of_checkpoint(const std::string& path) {
  return path.find("/checkpoint-") != std::string::npos || path.find("/MANIFEST") != std::string::npos;
}

TEST(CheckpointDamage, EveryFlippedByteIsFound) {
  Workload run;
  run_workload(run, 6, 1);
  const auto whole = whole_image(run);
  Random random(6);
  for (const auto& [path, bytes] : whole) {
    if (!of_checkpoint(path)) continue;
    for (size_t at = 0; at < bytes.size(); ++at) {
      auto image = whole;
      image[path][at] ^= static_cast<std::byte>(1 + random.below(255));
      MemoryFiles files(image);
      const Status status = recover_all(files).status;
      ASSERT_TRUE(status.code() == Code::kCorrupt || status.code() == Code::kUnsupported)
          << path << " at " << at << ": " << status.message();
      ASSERT_NE(status.message().find(path), std::string::npos) << status.message();
    }
  }
}

TEST(CheckpointDamage, EveryTruncationAndEveryTailIsFound) {
  Workload run;
  run_workload(run, 7, 1);
  const auto whole = whole_image(run);
  for (const auto& [path, bytes] : whole) {
    if (!of_checkpoint(path)) continue;
    for (size_t size = 0; size <= bytes.size() + 1; ++size) {
      if (size == bytes.size()) continue;
      auto image = whole;
      image[path].resize(size);
      MemoryFiles files(image);
      const Status status = recover_all(files).status;
      ASSERT_EQ(status.code(), Code::kCorrupt) << path << " cut to " << size << ": " << status.message();
      ASSERT_NE(status.message().find(path), std::string::npos) << status.message();
    }
    auto image = whole;
    image.erase(path);
    MemoryFiles files(image);
    EXPECT_EQ(recover_all(files).status.code(), Code::kCorrupt) << path << " is missing";
  }
}

// The frames of a finished segment are changed to report numbers that are too small. A checkpoint
// would then remove the segment. It must not do so, and the damage must be found.
TEST(CheckpointDamage, ASegmentIsNotRemovedUponWhatADamagedHeaderSays) {
  MemoryFiles files;
  Running running;
  LogOptions options;
  options.segment_bytes = 600;
  ASSERT_TRUE(running.start(files, options).ok());
  uint64_t number = 0, snapshot = 0;
  State state;
  for (int i = 0; i < 12; ++i) {
    const std::string text(200, static_cast<char>('a' + i));
    ASSERT_TRUE(running.commit(0, text, &number).ok());
    ASSERT_TRUE(running.log->wait_durable(number).ok());
    if (snapshot == 0) state.emplace(number, text);
    if (i == 3) snapshot = running.numbers->advance();
  }
  for (const auto& [path, bytes] : files.contents()) {
    if (path.find("/log-") == std::string::npos) continue;
    std::unique_ptr<File> file;
    ASSERT_TRUE(files.open(path, OpenMode::kRead, &file).ok());
    FrameHeader header;
    for (size_t at = kSegmentHeaderBytes; peek_frame(Bytes(bytes).subspan(at), &header); at += kFrameHeaderBytes + header.payload_bytes)
      ASSERT_TRUE(file->write_at(at + 32, std::vector<std::byte>(16)).ok());  // the smallest and the largest number
  }
  ASSERT_TRUE(write_checkpoint(*running.directory, snapshot, state).ok());
  Published published;
  ASSERT_TRUE(running.directory->publish({snapshot, 2}, 1, running.log->take_finished(), &published).ok());
  running.log.reset();
  running.directory.reset();
  const Recovered recovered = recover_all(files);
  EXPECT_EQ(recovered.status.code(), Code::kCorrupt) << recovered.status.message();
  EXPECT_EQ(recovered.status.message().find("is missing"), std::string::npos) << recovered.status.message();
  size_t segments = 0;
  for (const auto& [path, bytes] : files.contents()) segments += path.find("/log-") != std::string::npos;
  EXPECT_GT(segments, 3u);
}

TEST(CheckpointDamage, AFailureLeavesTheOldOneAndTheLog) {
  Workload run;
  run_workload(run, 8, 1);
  const auto whole = whole_image(run);
  size_t refused = 0;
  for (size_t call = 0;; ++call) {
    MemoryFiles files(whole);
    Running running;
    ASSERT_TRUE(running.start(files, {}).ok());
    uint64_t number = 0;
    ASSERT_TRUE(running.commit(0, "more", &number).ok());
    ASSERT_TRUE(running.log->wait_durable(number).ok());
    State written = run.written;
    written.emplace(number, "more");
    const uint64_t snapshot = running.numbers->advance();
    size_t made = 0;
    files.refuse_with([&](const MemoryFiles::Call& asked) {
      const bool others = asked.path.find("/log-") != std::string::npos && asked.kind != MemoryFiles::Call::Kind::kRemove;
      return !others && made++ == call ? file_error("write", asked.path, ENOSPC) : Status();
    });
    Status status = write_checkpoint(*running.directory, snapshot, State(written.begin(), written.upper_bound(snapshot)));
    auto published = Published::kNo;
    if (status.ok()) status = running.directory->publish({snapshot, 2}, 1, running.log->take_finished(), &published);
    files.refuse_with(nullptr);
    if (!status.ok()) {
      ++refused;
      EXPECT_EQ(status.code(), Code::kIoError);
    }
    ASSERT_TRUE(running.commit(0, "yet more", &number).ok());
    ASSERT_TRUE(running.log->wait_durable(number).ok());
    written.emplace(number, "yet more");
    running.log.reset();
    running.directory.reset();
    ASSERT_EQ(judge(recover_all(files), written, number), "") << "call " << call << ": " << status.message();
    if (status.ok()) break;
  }
  EXPECT_GE(refused, 10u);
}

// -- format ---------------------------------------------------------------------------------------

constexpr DatabaseId kDatabase = {0x1122334455667788, 0x99aabbccddeeff00};

// The contents of tests/golden/checkpoint-v1 to -v3: a checkpoint at number 6 in two parts, and a
// manifest of version 2.
MemoryFiles::Contents golden() {
  MemoryFiles files;
  const auto folder = open_folder(files);
  for (uint32_t part = 0; part < 2; ++part) {
    std::unique_ptr<PartWriter> writer;
    EXPECT_TRUE(PartWriter::create(*folder, kDatabase, {6, part}, &writer).ok());
    std::vector<std::byte> block = block_of(part == 0 ? State{{6, "six"}} : State{{5, "five"}});
    EXPECT_TRUE(writer->append(BlockKind::kRows, 7, 1, block).ok());
    EXPECT_TRUE(writer->finish().ok());
  }
  auto contents = files.contents();
  Manifest manifest;
  manifest.database = kDatabase;
  manifest.next_number = 9;
  manifest.checkpoints = {{6, 2}};
  manifest.generations = {{2, 1, 8, {0}}};
  contents["db/MANIFEST"] = encode(manifest);
  std::vector<std::byte> segment;
  encode(SegmentHeader{kDatabase, {2, 0, 0}, 0, 8}, &segment);
  contents["db/log-00000002-00-00000000"] = segment;
  return contents;
}

const std::filesystem::path kGolden = std::filesystem::path(ELIDER_TEST_SOURCE_DIR) / "tests" / "golden";

std::vector<std::byte> contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

TEST(CheckpointFormat, TheGoldenFilesAreWhatIsWrittenToday) {
  for (const auto& [path, bytes] : golden()) {
    const std::filesystem::path file = kGolden / "checkpoint-v3" / path.substr(3);
    if (std::getenv("ELIDER_WRITE_GOLDEN") != nullptr)
      std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    EXPECT_EQ(contents_of(file), bytes) << file;
  }
}

TEST(CheckpointFormat, TheGoldenFilesAreRead) {
  for (const char* version : {"checkpoint-v1", "checkpoint-v2", "checkpoint-v3"}) {
    SCOPED_TRACE(version);
    MemoryFiles::Contents contents;
    for (const auto& [path, bytes] : golden()) contents[path] = contents_of(kGolden / version / path.substr(3));
    MemoryFiles files(contents);
    uint64_t base = 0;
    const Recovered recovered = recover_all(files, kNumberMax, &base);
    ASSERT_TRUE(recovered.status.ok()) << recovered.status.message();
    EXPECT_EQ(base, 6u);
    EXPECT_EQ(recovered.state, (State{{5, "five"}, {6, "six"}}));
  }
}

TEST(CheckpointFormat, AnUnknownVersionIsRefused) {
  auto contents = golden();
  const std::string path = "db/" + file_name(CheckpointName{6, 1});
  std::vector<std::byte>& changed = contents[path];
  changed[8] = std::byte{9};
  const uint64_t sum = checksum(Bytes(changed).first(56), 0);
  std::memcpy(changed.data() + 56, &sum, sizeof sum);
  MemoryFiles files(contents);
  const Status status = recover_all(files).status;
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.message().find(path), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("version 9"), std::string::npos) << status.message();
}

// A field that is zero in this version may have a meaning in another version. If the checksum
// matches, such a file is not damaged, but it is refused.
TEST(CheckpointFormat, WhatIsZeroMustBeZero) {
  const std::string part = "db/" + file_name(CheckpointName{6, 1});
  const auto expect_refused = [](const MemoryFiles::Contents& contents, const std::string& path) {
    MemoryFiles files(contents);
    const Status status = recover_all(files).status;
    EXPECT_EQ(status.code(), Code::kCorrupt) << path;
    EXPECT_NE(status.message().find(path), std::string::npos) << status.message();
  };
  const auto seal = [](std::vector<std::byte>* bytes, size_t at, uint64_t sum) { std::memcpy(bytes->data() + at, &sum, sizeof sum); };
  {
    auto contents = golden();
    std::vector<std::byte>& bytes = contents["db/MANIFEST"];
    bytes[56 + 12] = std::byte{1};  // of the first checkpoint
    seal(&bytes, bytes.size() - 8, checksum(Bytes(bytes).first(bytes.size() - 8), 0));
    expect_refused(contents, "db/MANIFEST");
  }
  for (const size_t at : {40u, 55u}) {  // of a part's header
    auto contents = golden();
    std::vector<std::byte>& bytes = contents[part];
    bytes[at] = std::byte{1};
    seal(&bytes, 56, checksum(Bytes(bytes).first(56), 0));
    expect_refused(contents, part);
  }
  auto contents = golden();
  std::vector<std::byte>& bytes = contents[part];
  std::byte named[28];  // the checksum of these bytes is the part's seed
  std::memcpy(named, bytes.data() + 16, 24);
  std::memcpy(named + 24, bytes.data() + 12, 4);
  const size_t block = kCheckpointHeaderBytes;
  uint32_t payload = 0;
  std::memcpy(&payload, bytes.data() + block + 4, sizeof payload);
  bytes[block + 28] = std::byte{1};
  const uint64_t of_header = checksum(Bytes(bytes).subspan(block, 32), checksum(named, 1));
  seal(&bytes, block + 32, checksum(Bytes(bytes).subspan(block + kBlockHeaderBytes, payload), of_header));
  expect_refused(contents, part);
}

TEST(CheckpointFormat, FileNamesAreReadAsTheyAreWritten) {
  CheckpointName name;
  EXPECT_TRUE(parse_file_name(file_name(CheckpointName{0x123456789abcdef0, 0x12}), &name));
  EXPECT_EQ(name, (CheckpointName{0x123456789abcdef0, 0x12}));
  for (const char* text : {"MANIFEST", "checkpoint-1-0", "checkpoint-0000000000000001-0000000G", "checkpoint-0000000000000001-00000000x"})
    EXPECT_FALSE(parse_file_name(text, &name)) << text;
}

}  // namespace
}  // namespace elider::log
