// The machine stops while a backup or a restore is written, or while a database goes back to an earlier state: at any call,
// with any of the sectors and names on the disk that were not synced. What is copied stays as it was. The copy is whole, or,
// while it has no manifest, refused or empty: it never has a part of the rows. Who went back has the later state or the
// earlier one. Once the work has ended no crash takes it back.
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>

#include "base/sanitizer.h"
#include "base/test_points.h"
#include "elider/files.h"
#include "tests/crash/image_check.h"
#include "tests/support/status_matchers.h"

namespace elider::crash {
namespace {

using Contents = log::MemoryFiles::Contents;
using Call = log::MemoryFiles::Call;

constexpr size_t kUnsureMax = 6;  // up to it, every subset
constexpr int kSamples = 24;

class CopiesTest : public testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override {
    shape_.seed = GetParam();
    shape_.log_threads = 1 + static_cast<uint32_t>(GetParam() % 2);
    shape_.folders = 1 + static_cast<uint32_t>(GetParam() / 2 % 2);
    shape_.checkpoints = GetParam() % 3 != 0;
    Recorder run(shape_);
    ASSERT_EQ(run.run().message(), Status().message());
    before_ = run.files().contents();
    ASSERT_EQ(open(before_, folders(), &newest_), "");
  }
  void TearDown() override {
    std::printf("%llu images, of which %llu show what was done whole\n", static_cast<unsigned long long>(images_),
                static_cast<unsigned long long>(whole_));
  }

  std::vector<std::string> folders() const { return folders_of(shape_.folders); }

  // Empty, or why it cannot be opened.
  std::string open(Contents contents, const std::vector<std::string>& folders, State* state) const {
    log::MemoryFiles files(std::move(contents));
    const log::SubstituteFiles substitute(files);
    Options options = recovery_options(shape_);
    options.data_folders = folders;
    options.checkpoint_threads = 1;
    auto db = Database::open(options);
    if (!db.ok()) return db.status().message();
    if (Status status = db->verify(); !status.ok()) return status.message();
    Status status = read_state(*db, state);
    return status.ok() ? "" : status.message();
  }

  // Of an image: empty, or what is wrong; *done: it shows that the work was done.
  using Judge = std::function<std::string(const Contents& image, bool* done)>;

  // Looks at the images of a crash in what `work` does. Empty, or the first fault.
  std::string search(const std::function<Status()>& work, const Judge& judge) {
    std::vector<Call> calls;
    {
      log::MemoryFiles files(before_);
      const log::SubstituteFiles substitute(files);
      if (Status status = work(); !status.ok()) return status.message();
      calls = files.calls();
    }
    Random random(GetParam());
    log::CrashDisk disk(before_);
    for (size_t count = 0;; ++count) {
      const size_t unsure = disk.unsure();
      const bool every = unsure <= kUnsureMax;
      const uint64_t choices = every ? uint64_t{1} << unsure : kSamples;
      for (uint64_t choice = 0; choice < choices; ++choice) {
        uint64_t bits = choice;
        const uint64_t chance = choice < 2 ? choice * 100 : random.below(101);
        const Contents image = disk.image([&] {
          if (!every) return random.below(100) < chance;
          const bool yes = (bits & 1) != 0;
          bits >>= 1;
          return yes;
        });
        ++images_;
        bool done = false;
        std::string wrong = judge(image, &done);
        whole_ += done;
        if (wrong.empty() && count == calls.size() && !done) wrong = "it was done, and is not";
        if (!wrong.empty())
          return "after " + std::to_string(count) + " of " + std::to_string(calls.size()) + " calls, choice " + std::to_string(choice) +
                 ": " + wrong;
      }
      if (count == calls.size()) return "";
      disk.apply(calls[count]);
    }
  }

  // The source as it was, and of the copy all or nothing.
  std::string judge_copy(const Contents& image, bool* done) const {
    State source, copy;
    if (std::string wrong = open(image, folders(), &source); !wrong.empty()) return "the source: " + wrong;
    if (std::string wrong = difference(newest_, source); !wrong.empty()) return "the source: " + wrong;
    const std::string refused = open(image, {"copy"}, &copy);
    *done = image.contains("copy/MANIFEST");
    if (*done) return refused.empty() ? difference(newest_, copy) : refused;
    if (!refused.empty()) return refused.find("'copy") != std::string::npos ? "" : "the copy is refused with other words: " + refused;
    // A folder in which rows stand does not open as an empty database.
    for (const auto& [path, bytes] : image)
      if (path.rfind("copy/", 0) == 0 && path != "copy/LOCK") return "the copy is empty, but '" + path + "' is there";
    return difference({}, copy);
  }
  std::string back_up() {
    return search([&] {
      auto db = Database::open(recovery_options(shape_));
      return db.ok() ? db->backup("copy") : db.status();
    }, [&](const Contents& image, bool* done) { return judge_copy(image, done); });
  }

  RunShape shape_;
  Contents before_;
  State newest_;
  uint64_t images_ = 0, whole_ = 0;
};

TEST_P(CopiesTest, ABackupIsWholeOrNone) { EXPECT_EQ(back_up(), ""); }

TEST_P(CopiesTest, ABackupThatIsNotSyncedIsFound) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "this build has no mutants";
  set_mutant(Mutant::kPublishUnsynced);
  const std::string fault = back_up();
  set_mutant(Mutant::kNone);
  EXPECT_NE(fault, "");
}

TEST_P(CopiesTest, ARestoreIsWholeOrNone) {
  EXPECT_EQ(search([&] {
    files::Copied copied;
    return files::restore(folders(), "copy", &copied);
  }, [&](const Contents& image, bool* done) { return judge_copy(image, done); }), "");
}

TEST_P(CopiesTest, GoingBackIsDoneOrNot) {
  uint64_t to = 0;
  State earlier;
  {
    log::MemoryFiles files(before_);
    const log::SubstituteFiles substitute(files);
    files::Log log;
    ASSERT_OK(files::verify_log(folders(), &log));
    to = (log.checkpoint + log.snapshot) / 2;
    Recovery report;
    ASSERT_OK(files::recover(folders(), to, false, {}, &report));
    ASSERT_EQ(open(files.contents(), folders(), &earlier), "");
  }
  ASSERT_NE(difference(newest_, earlier), "") << "there is nothing to go back to";
  EXPECT_EQ(search([&] {
    Recovery report;
    return files::recover(folders(), to, false, {}, &report);
  }, [&](const Contents& image, bool* done) -> std::string {
    State state;
    if (std::string wrong = open(image, folders(), &state); !wrong.empty()) return wrong;
    *done = difference(earlier, state).empty();
    return *done ? "" : difference(newest_, state);
  }), "");
}

INSTANTIATE_TEST_SUITE_P(Seeds, CopiesTest, testing::Range(uint64_t{1}, uint64_t{ELIDER_ASAN || ELIDER_TSAN ? 3 : 7}));

}  // namespace
}  // namespace elider::crash
