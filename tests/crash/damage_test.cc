// Story: a database was closed properly. It was opened again, and then closed properly or stopped
// by a crash after everything was on the disk. Then its files are damaged: a byte changes, or a
// file is cut short, is missing, is duplicated, or takes another file's place. Opening either
// refuses (kCorrupt or kUnsupported, with the file's name), or reports what it cut off. It never
// stops the process, and never yields a state that no crash could have left.
//
// If the database was closed properly, nothing is lost: everything is there, or opening refuses.
// After a crash, one kind of damage cannot be distinguished from another crash, and is accepted
// without an error: the end of the last file of a stream of the last opening is missing, and no
// other stream's file refers to it. Then exactly the tail of the commit order is missing.
#include <gtest/gtest.h>

#include <cstdio>

#include "base/sanitizer.h"
#include "tests/crash/image_check.h"
#include "tests/support/status_matchers.h"

namespace elider::crash {
namespace {

using Contents = io::MemoryFiles::Contents;

constexpr size_t kStep = ELIDER_ASAN || ELIDER_TSAN ? 61 : 1;  // with sanitizers, one byte in 61 is tested

struct Opened {
  Status status;
  State state;
  std::vector<std::string> cuts;
};

struct Files {
  uint32_t streams;
  bool checkpoints;
  bool closed;  // whether the second run was also closed
};

class Damage : public testing::TestWithParam<Files> {
 protected:
  // Makes two runs, the second on the files of the first.
  void SetUp() override {
    shape_ = {.seed = 7,
              .sessions = 2,
              .transactions = 14,
              .log_threads = GetParam().streams,
              .folders = GetParam().streams,
              .flush_interval_us = 200,
              .checkpoints = GetParam().checkpoints,
              .words = GetParam().streams == 1};  // this test opens the files once for each of their bytes
    Recorder first(shape_);
    ASSERT_OK(first.run());
    const Opened between = open(whole(first));
    ASSERT_OK(between.status);
    Story story = first.story();
    story.continue_from(between.state);
    shape_.seed = 8;
    second_ = std::make_unique<Recorder>(shape_, io::CrashDisk(whole(first)), std::move(story));
    ASSERT_OK(second_->run());
    whole_ = whole(*second_, GetParam().closed);
    const Opened opened = open(whole_);
    ASSERT_OK(opened.status);
    ASSERT_EQ(opened.cuts.size(), 0u);
    full_ = opened.state;
    ASSERT_EQ(second_->story().judge(full_, second_->files().call_count()), "");
  }

  // Returns everything that was written. `closed`: includes the manifest that records the closing,
  // which is written last.
  static Contents whole(Recorder& run, bool closed = true) {
    auto calls = run.files().calls();
    if (!closed) {
      while (calls.back().kind != io::MemoryFiles::Call::Kind::kCreate) calls.pop_back();
      EXPECT_TRUE(calls.back().path.ends_with("MANIFEST.new"));
      calls.pop_back();
    }
    io::CrashDisk disk(run.before());
    for (const auto& call : calls) disk.apply(call);
    return disk.everything();
  }
  Opened open(const Contents& contents) {
    io::MemoryFiles files(contents);
    const io::SubstituteFiles substitute(files);
    Opened result;
    auto db = Database::open(recovery_options(shape_));
    result.status = db.ok() ? Status() : db.status();
    if (!db.ok()) return result;
    result.cuts = db->recovery().cuts;
    result.status = read_state(*db, &result.state);
    return result;
  }

  static bool is_refused(const Status& status) { return status.code() == Code::kCorrupt || status.code() == Code::kUnsupported; }
  static bool is_segment(const std::string& path) { return path.find("/log-") != std::string::npos; }
  static std::string generation_of(const std::string& path) { return path.substr(path.find("/log-") + 5, 8); }
  // Returns "d0/log-GGGGGGGG-SS-", which the names of all segments of one stream share.
  static std::string stream_of(const std::string& path) { return path.substr(0, path.size() - 8); }
  // Returns whether a crash may have cut the end of the file: it is the last file of a stream, and
  // the last opening was not closed.
  bool may_be_torn(const std::string& path) const { return !GetParam().closed && is_last_of_all(path); }
  // The last frame of such a file may not contain records, if another stream's records ended
  // earlier. Nothing is lost without that frame.
  bool may_end_early(const std::string& path) const { return GetParam().streams > 1 && is_last_of_all(path); }
  bool is_last_of_all(const std::string& path) const {
    if (!is_segment(path)) return false;
    std::string last_generation;
    for (const auto& [other, bytes] : whole_)
      if (is_segment(other)) last_generation = std::max(last_generation, generation_of(other));
    const auto next = std::next(whole_.find(path));
    const bool last_of_stream = next == whole_.end() || !is_segment(next->first) || stream_of(next->first) != stream_of(path);
    return last_of_stream && generation_of(path) == last_generation;
  }
  // Returns an empty text, or why damage to this file cannot have this result.
  std::string judge(const std::string& path, const Opened& opened) const {
    if (is_refused(opened.status)) {
      const std::string& words = opened.status.message();
      if (words.find("'d") == std::string::npos) return "no file is named: " + words;
      return "";
    }
    if (!opened.status.ok()) return "another error than kCorrupt: " + opened.status.message();
    if (std::string wrong = second_->story().judge(opened.state, 0); !wrong.empty()) return wrong;
    if (!opened.cuts.empty() && may_be_torn(path)) return "";
    if (!opened.cuts.empty() && !may_end_early(path)) return "damage that no crash leaves was cut off";
    return difference(full_, opened.state).empty() ? "" : "part of the log is gone without a word";
  }

  RunShape shape_;
  std::unique_ptr<Recorder> second_;
  Contents whole_;
  State full_;
};

TEST_P(Damage, EveryFlippedByteIsFoundOrCutByTheRules) {
  Random random(1);
  uint64_t refused = 0, cut = 0;
  for (const auto& [path, bytes] : whole_)
    for (size_t at = 0; at < bytes.size(); at += kStep) {
      Contents image = whole_;
      image[path][at] ^= static_cast<std::byte>(1 + random.below(255));
      const Opened opened = open(image);
      ASSERT_EQ(judge(path, opened), "") << path << " at byte " << at;
      ASSERT_FALSE(opened.status.ok() && opened.cuts.empty()) << path << " at byte " << at << ": the damage was not noticed";
      (opened.status.ok() ? cut : refused)++;
    }
  std::printf("%llu bytes: %llu refused, %llu cut\n", static_cast<unsigned long long>(refused + cut),
              static_cast<unsigned long long>(refused), static_cast<unsigned long long>(cut));
  EXPECT_GT(refused, cut);
  if (GetParam().closed && GetParam().streams == 1) {
    EXPECT_EQ(cut, 0u);
  } else if (kStep == 1 && !GetParam().closed) {
    EXPECT_GT(cut, 0u);
  }
}

TEST_P(Damage, EveryTruncationIsFoundOrCutByTheRules) {
  uint64_t refused = 0, cut = 0, at_a_frame = 0;
  for (const auto& [path, bytes] : whole_)
    for (size_t size = 0; size < bytes.size(); size += kStep) {
      Contents image = whole_;
      image[path].resize(size);
      const Opened opened = open(image);
      if (opened.status.ok() && opened.cuts.empty() && may_be_torn(path)) {
        // The file ends between two frames. This looks as if the rest had never been written.
        ++at_a_frame;
        ASSERT_EQ(second_->story().judge(opened.state, 0), "") << path << " cut to " << size;
        continue;
      }
      ASSERT_EQ(judge(path, opened), "") << path << " cut to " << size;
      (opened.status.ok() ? cut : refused)++;
    }
  std::printf("%llu refused, %llu cut, %llu ended between two frames\n", static_cast<unsigned long long>(refused),
              static_cast<unsigned long long>(cut), static_cast<unsigned long long>(at_a_frame));
  EXPECT_LT(at_a_frame, 40u);
  EXPECT_GT(refused, 0u);
  if (GetParam().closed && GetParam().streams == 1) {
    EXPECT_EQ(cut, 0u);
  }
}

TEST_P(Damage, AMissingFileIsAnError) {
  uint64_t refused = 0;
  for (const auto& [path, bytes] : whole_) {
    Contents image = whole_;
    image.erase(path);
    const Opened opened = open(image);
    if (may_be_torn(path) && opened.status.ok()) {
      EXPECT_EQ(second_->story().judge(opened.state, 0), "") << path;
      continue;
    }
    if (may_end_early(path) && opened.status.ok()) {
      EXPECT_EQ(difference(full_, opened.state), "") << path;
      continue;
    }
    EXPECT_TRUE(is_refused(opened.status)) << path << ": " << opened.status.message();
    ++refused;
  }
  EXPECT_GT(refused, 2u);
}

TEST_P(Damage, AFileInAnothersPlaceIsAnError) {
  for (const auto& [path, bytes] : whole_)
    for (const auto& [other, other_bytes] : whole_) {
      if (path == other) continue;
      Contents image = whole_;
      image[path] = other_bytes;
      const Opened opened = open(image);
      if ((may_be_torn(path) || may_end_early(path)) && opened.status.ok()) {
        EXPECT_EQ(judge(path, opened), "") << other << " as " << path;
        EXPECT_FALSE(opened.cuts.empty()) << other << " as " << path;
        continue;
      }
      EXPECT_TRUE(is_refused(opened.status)) << other << " as " << path << ": " << opened.status.message();
    }
}

// A copy of a file has an unused name. The state is the same as without it, or opening is refused.
TEST_P(Damage, AFileThatIsThereTwiceAddsNothing) {
  for (const auto& [path, bytes] : whole_) {
    if (!is_segment(path)) continue;
    const size_t folder = path.find('/');
    const std::string name = path.substr(folder);
    std::vector<std::string> free_names = {"d0" + name, "d1" + name, path + ".copy", path.substr(0, folder) + "/log-00000009-00-00000000"};
    for (const char* stream : {"00", "01", "07"})
      for (const char* generation : {"00000001", "00000002"})
        for (int position = 0; position < 8; ++position)
          free_names.push_back(path.substr(0, folder) + "/log-" + generation + "-" + stream + "-0000000" + std::to_string(position));
    for (const std::string& free_name : free_names) {
      if (whole_.contains(free_name)) continue;
      Contents image = whole_;
      image[free_name] = bytes;
      const Opened opened = open(image);
      if (is_refused(opened.status)) continue;
      EXPECT_OK(opened.status) << path << " as " << free_name;
      EXPECT_EQ(difference(full_, opened.state), "") << path << " as " << free_name;
    }
  }
}

TEST_P(Damage, AnOlderManifestIsAnError) {
  const auto& calls = second_->files().calls();
  io::CrashDisk disk(second_->before());
  const Contents older = disk.everything();
  ASSERT_FALSE(calls.empty());
  for (const auto& [path, bytes] : older) {
    if (path.find("MANIFEST") == std::string::npos) continue;
    Contents image = whole_;
    image[path] = bytes;
    const Opened opened = open(image);
    EXPECT_TRUE(is_refused(opened.status)) << path << ": " << opened.status.message();
  }
}

// A copy is incomplete, or a folder is in another's place. Opening refuses and names an existing
// file, and the files do not change.
TEST_P(Damage, FoldersThatAreNotOneWholeDatabaseAreRefusedAndKept) {
  const auto expect_refused = [&](const Contents& image, const std::vector<std::string>& folders, const std::string& named) {
    io::MemoryFiles files(image);
    const io::SubstituteFiles substitute(files);
    Options options = recovery_options(shape_);
    options.data_folders = folders;
    const auto db = Database::open(options);
    ASSERT_FALSE(db.ok());
    EXPECT_NE(db.status().message().find("'" + named), std::string::npos) << db.status().message();
    EXPECT_TRUE(files.contents() == image);
  };
  const auto only = [&](const std::string& begin) {
    Contents image;
    for (const auto& [path, bytes] : whole_)
      if (path.starts_with(begin)) image[path] = bytes;
    return image;
  };
  const std::vector<std::string> both = folders_of(shape_.folders);
  expect_refused(only("d0/log-"), both, "d0/log-");
  if (shape_.checkpoints) expect_refused(only("d0/checkpoint-"), both, "d0/checkpoint-");
  if (shape_.folders == 1) return;
  expect_refused(only("d1/"), {"d1"}, "d1/");
  expect_refused(whole_, {"d1", "d0"}, "d1/");
  expect_refused(whole_, {"d2", "d0"}, "d0/MANIFEST");
  // A file of another database is added to all files of one that does not have a file of this name.
  Contents fresh;
  {
    io::MemoryFiles files;
    const io::SubstituteFiles substitute(files);
    ASSERT_OK(Database::open(recovery_options(shape_)));
    fresh = files.contents();
  }
  for (const char* begin : {"d1/checkpoint-", "d0/MANIFEST"})
    for (const auto& [path, bytes] : only(begin)) {
      Contents image = fresh;
      const std::string there = "d1" + path.substr(2);
      image[there] = bytes;
      expect_refused(image, both, there);
    }
}

// The second folder of an open database is also locked.
TEST_P(Damage, EveryFolderIsLocked) {
  io::MemoryFiles files(whole_);
  const io::SubstituteFiles substitute(files);
  Options options = recovery_options(shape_);
  const auto first = Database::open(options);
  ASSERT_OK(first);
  for (const std::string& folder : folders_of(shape_.folders)) {
    options.data_folders = {folder};
    EXPECT_REFUSED(Code::kInvalidArgument, "the folder '" + folder + "' is locked", Database::open(options));
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Damage,
                         testing::Values(Files{1, false, true}, Files{2, false, true}, Files{1, true, true}, Files{2, true, true},
                                         Files{1, true, false}, Files{2, false, false}),
                         [](const auto& info) {
                           return std::to_string(info.param.streams) + "_streams" + (info.param.checkpoints ? "_and_checkpoints" : "") +
                                  (info.param.closed ? "" : "_and_a_crash");
                         });

}  // namespace
}  // namespace elider::crash
