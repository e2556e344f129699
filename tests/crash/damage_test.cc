// The story. A database was closed well; it was opened again, and closed well, too, or stopped by a
// crash once all was on the disk. Then something happens to its files: a byte changes, a file is
// cut short, is missing, stands there twice or in another's place. Opening it refuses (kCorrupt or
// kUnsupported, with the file's name), or reports what it cut off; it never stops the process, and
// never gives a state that no crash could have left.
//
// Of what was closed well nothing is ever lost: it is all there, or opening refuses. What cannot be
// told from another crash, and so is accepted without an error, after a crash: the end of the last
// file of a stream of the last opening, where no other stream's file knows of more. Then exactly
// the tail of the commit order is gone.
#include <gtest/gtest.h>

#include <cstdio>

#include "base/sanitizer.h"
#include "tests/crash/image_check.h"
#include "tests/support/status_matchers.h"

namespace elider::crash {
namespace {

using Contents = io::MemoryFiles::Contents;

constexpr size_t kStep = ELIDER_ASAN || ELIDER_TSAN ? 61 : 1;  // sanitizers look at every so manieth byte

struct Opened {
  Status status;
  State state;
  std::vector<std::string> cuts;
};

struct Files {
  uint32_t streams;
  bool checkpoints;
  bool closed;  // the second run, too
};

class Damage : public testing::TestWithParam<Files> {
 protected:
  // Two runs, one upon the other.
  void SetUp() override {
    shape_ = {.seed = 7,
              .sessions = 2,
              .transactions = 14,
              .log_threads = GetParam().streams,
              .folders = GetParam().streams,
              .flush_interval_us = 200,
              .checkpoints = GetParam().checkpoints};
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

  // All that was written; `closed`: up to the manifest that says so, the last thing of all.
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
  // "d0/log-GGGGGGGG-SS-": what the segments of one stream have in common.
  static std::string stream_of(const std::string& path) { return path.substr(0, path.size() - 8); }
  // The files whose end a crash may have cut: the last of each stream of an
  // opening that was not closed.
  bool may_be_torn(const std::string& path) const { return !GetParam().closed && is_last_of_all(path); }
  // A frame there may have no record, where another stream's records ended
  // before: without it all is there.
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
  // Empty, or why this may not have come of damage to this file.
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
      ASSERT_FALSE(opened.status.ok() && opened.cuts.empty()) << path << " at byte " << at << ": nobody noticed";
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
        // Between two frames: what was never written looks the same.
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

// Under a name that is free: what is there counts as before, or opening is refused.
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

// A copy that is not whole, a folder in another's place: it is refused with the name of what is
// there, and kept as it is.
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
  // Of another database, beside all files of one that has nothing of these names.
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

// The second folder of a database that is open is nobody else's.
TEST_P(Damage, EveryFolderIsLocked) {
  io::MemoryFiles files(whole_);
  const io::SubstituteFiles substitute(files);
  Options options = recovery_options(shape_);
  const auto first = Database::open(options);
  ASSERT_OK(first);
  for (const std::string& folder : folders_of(shape_.folders)) {
    options.data_folders = {folder};
    EXPECT_REFUSED(Code::kInvalidArgument, "'" + folder + "/LOCK'", Database::open(options));
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
