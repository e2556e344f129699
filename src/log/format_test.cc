#include "log/format.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/checksum.h"
#include "tests/support/log_test_support.h"

namespace elider::log {
namespace {

constexpr DatabaseId kDatabase = {0x1122334455667788, 0x99aabbccddeeff00};

// The contents of tests/golden/log-v1 to log-v3: one stream, two frames, three records.
MemoryFiles::Contents golden() {
  const SegmentName name{1, 0, 0};
  std::vector<std::byte> segment;
  encode(SegmentHeader{kDatabase, name, 0, 4}, &segment);
  const auto add_frame = [&](FrameHeader header, const std::vector<std::pair<uint64_t, std::string>>& records) {
    std::vector<std::byte> frame(kFrameHeaderBytes);
    for (const auto& [number, text] : records) {
      const size_t at = frame.size();
      frame.resize(at + kRecordHeaderBytes + text.size());
      put_record_header(frame.data() + at, number, static_cast<uint32_t>(text.size()));
      std::memcpy(frame.data() + at + kRecordHeaderBytes, text.data(), text.size());
    }
    header.payload_bytes = static_cast<uint32_t>(frame.size() - kFrameHeaderBytes);
    header.records = static_cast<uint32_t>(records.size());
    seal(header, seed_of(kDatabase, name), frame);
    segment.insert(segment.end(), frame.begin(), frame.end());
  };
  add_frame({0, 6, 4, 5, 6, 0, 0}, {{5, "five"}, {6, "six"}});
  add_frame({1, 7, 6, 7, 7, 0, 0}, {{7, "seven"}});
  Manifest manifest;
  manifest.database = kDatabase;
  manifest.next_number = 5;
  manifest.generations = {{1, 1, kNumberMax, {0}}};
  return {{"db/MANIFEST", encode(manifest)}, {"db/" + file_name(name), segment}};
}

std::vector<std::byte> contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

const std::filesystem::path kGolden = std::filesystem::path(ELIDER_TEST_SOURCE_DIR) / "tests" / "golden";

TEST(Format, TheGoldenFilesAreWhatIsWrittenToday) {
  for (const auto& [path, bytes] : golden()) {
    const std::filesystem::path file = kGolden / "log-v3" / path.substr(3);
    if (std::getenv("ELIDER_WRITE_GOLDEN") != nullptr) {
      std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }
    EXPECT_EQ(contents_of(file), bytes) << file;
  }
}

TEST(Format, TheGoldenFilesAreRead) {
  for (const char* version : {"log-v1", "log-v2", "log-v3"}) {
    SCOPED_TRACE(version);
    MemoryFiles::Contents contents;
    for (const char* name : {"MANIFEST", "log-00000001-00-00000000"})
      contents["db/" + std::string(name)] = contents_of(kGolden / version / name);
    MemoryFiles files(contents);
    const Recovered recovered = recover(files, kNumberMax, false);
    ASSERT_TRUE(recovered.status.ok()) << recovered.status.message();
    EXPECT_EQ(recovered.state, (State{{5, "five"}, {6, "six"}, {7, "seven"}}));
    EXPECT_EQ(recover(files, 6).state, (State{{5, "five"}, {6, "six"}})) << "up to a number";
  }
}

// A file with a matching checksum and an unknown version is refused, and the message names the
// version.
TEST(Format, AnUnknownVersionIsRefused) {
  for (const auto& [path, bytes] : golden()) {
    auto contents = golden();
    std::vector<std::byte>& changed = contents[path];
    changed[8] = std::byte{9};
    const size_t end = path == "db/MANIFEST" ? changed.size() - 8 : 56;
    const uint64_t sum = checksum(Bytes(changed).first(end), 0);
    std::memcpy(changed.data() + end, &sum, sizeof sum);
    MemoryFiles files(contents);
    const Recovered recovered = recover(files);
    EXPECT_EQ(recovered.status.code(), Code::kUnsupported);
    EXPECT_NE(recovered.status.message().find("version 9"), std::string::npos) << recovered.status.message();
    EXPECT_NE(recovered.status.message().find(path), std::string::npos) << recovered.status.message();
  }
}

TEST(Format, FileNamesAreReadAsTheyAreWritten) {
  SegmentName name;
  EXPECT_TRUE(parse_file_name(file_name({0x12, 3, 0xabcdef01}), &name));
  EXPECT_EQ(name, (SegmentName{0x12, 3, 0xabcdef01}));
  for (const char* text : {"MANIFEST", "log-1-0-0", "log-00000001-00-00000000x", "log-00000001-00-0000000G", ""})
    EXPECT_FALSE(parse_file_name(text, &name)) << text;
}

// -- on the machine's own files -------------------------------------------------------------------

class SystemFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string text = (std::filesystem::temp_directory_path() / "elider_log_XXXXXX").string();
    ASSERT_NE(::mkdtemp(text.data()), nullptr);
    folder_ = text;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(SystemFolder, HoldsALogAndIsLockedMeanwhile) {
  const std::vector<std::string> folders = {(folder_ / "data").string()};
  std::unique_ptr<Directory> directory, other;
  EXPECT_EQ(Directory::open(system_files(), folders, false, &directory).code(), Code::kNotFound);
  ASSERT_TRUE(Directory::open(system_files(), folders, true, &directory).ok());
  const Status refused = Directory::open(system_files(), folders, true, &other);
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_NE(refused.message().find("is locked"), std::string::npos) << refused.message();

  uint32_t generation = 0;
  ASSERT_TRUE(directory->begin_generation(1, &generation).ok());
  TestNumbers numbers(directory->first_number());
  std::unique_ptr<Log> log;
  LogOptions options;
  options.folders = directory->folders();
  ASSERT_TRUE(Log::start(options, directory->manifest().database, generation, numbers, &log).ok());
  std::byte* place = nullptr;
  ASSERT_TRUE(log->reserve(0, 5, &place).ok());
  log->begin_commit(0);
  const uint64_t number = numbers.current();
  std::memcpy(place, "hello", 5);
  log->publish(0, number, 5);
  log->end_commit(0);
  ASSERT_TRUE(log->wait_durable(number).ok());
  log.reset();
  directory.reset();

  ASSERT_TRUE(Directory::open(system_files(), folders, false, &directory).ok());
  std::string text;
  RecoveryFacts facts;
  ASSERT_TRUE(directory->recover(kNumberMax, [&](uint32_t, uint32_t, const Record& record) {
    text.assign(reinterpret_cast<const char*>(record.bytes.data()), record.bytes.size());
    return Status();
  }, &facts).ok());
  EXPECT_EQ(text, "hello");
}

TEST_F(SystemFolder, AFileThatCannotBeMadeIsNamed) {
  std::unique_ptr<Directory> directory;
  const Status status = Directory::open(system_files(), {(folder_ / "no" / "such").string()}, true, &directory);
  EXPECT_EQ(status.code(), Code::kIoError);
  EXPECT_NE(status.message().find("no/such"), std::string::npos) << status.message();
}

// The checksum matches, but no database can have written these numbers. The manifest is refused
// before anything is allocated or created according to them.
TEST(Format, AForgedManifestIsRefused) {
  Manifest good;
  good.database = kDatabase;
  good.next_number = 5;
  good.checkpoints = {{3, 1}};
  good.generations = {{1, 1, 4, {0}}};
  Manifest read;
  ASSERT_TRUE(decode(encode(good), &read).ok());
  const auto refused = [&](const char* word, const std::function<void(Manifest&)>& forge) {
    Manifest forged = good;
    forge(forged);
    MemoryFiles files({{"db/MANIFEST", encode(forged)}});
    std::unique_ptr<Directory> directory;
    const Status status = Directory::open(files, {"db"}, false, &directory);
    EXPECT_EQ(status.code(), Code::kCorrupt) << word << ": " << status.message();
    EXPECT_NE(status.message().find("'db/MANIFEST'"), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
  };
  for (const uint64_t number : {kNumbersEnd, kNumberMax - 1}) {
    refused("next number", [&](Manifest& m) { m.next_number = number; });
    refused("checkpoint's number", [&](Manifest& m) { m.checkpoints[0].number = number; });
    refused("cut", [&](Manifest& m) { m.generations[0].cut = number; });
  }
  refused("generation", [](Manifest& m) { m.generations[0].generation = ~uint32_t{0}; });
}

}  // namespace
}  // namespace elider::log
