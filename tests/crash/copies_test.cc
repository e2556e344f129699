// The machine stops while a backup or a restore is written, or while a database goes back to an
// earlier state. It stops at any call, and any subset of the unsynced sectors and names is on the
// disk. The source does not change. The copy is complete. As long as it does not have a manifest,
// it may instead be refused or empty, but it never has only some of the rows. A database that goes
// back has the later state or the earlier one. Once the work has ended, no crash undoes it. Source
// and copy can be used afterwards (cycle.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>

#include "base/sanitizer.h"
#include "base/test_points.h"
#include "tests/crash/image_check.h"
#include "tests/support/status_matchers.h"

namespace elider::crash {
namespace {

using Contents = io::MemoryFiles::Contents;
using Call = io::MemoryFiles::Call;

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
    source_.emplace(subject_of(shape_, folders()));
    copy_.emplace(subject_of(shape_, {"copy"}));
    ASSERT_EQ(recover(before_, &newest_), "");
  }
  void TearDown() override {
    std::printf("%llu images, of which %llu show what was done whole\n", static_cast<unsigned long long>(images_),
                static_cast<unsigned long long>(whole_));
  }

  std::vector<std::string> folders() const { return folders_of(shape_.folders); }

  // Returns an empty text, or why it cannot be opened.
  std::string recover(Contents contents, State* state) const {
    io::MemoryFiles files(std::move(contents));
    const io::SubstituteFiles substitute(files);
    auto db = Database::open(recovery_options(shape_));
    if (!db.ok()) return db.status().message();
    Status status = read_state(*db, state);
    return status.ok() ? "" : status.message();
  }
  // Runs the whole cycle on separate files.
  std::string go_through(Cycle<State>& cycle, const Contents& image, const Cycle<State>::Judge& judge) {
    io::MemoryFiles files(image);
    Cycle<State>::Outcome outcome;
    return cycle.run(files, {.threads = images_ % 16 == 0, .checkpoint = images_ % 4 == 0}, judge, &outcome);
  }

  // Judges an image: returns an empty text, or what is wrong. Sets *done if the image shows that
  // the work was done.
  using Judge = std::function<std::string(const Contents& image, bool* done)>;

  // Checks the images of crashes during `work`. Returns an empty text, or the first fault.
  std::string search(const std::function<Status()>& work, const Judge& judge, Subsets subsets = {}) {
    std::vector<Call> calls;
    {
      io::MemoryFiles files(before_);
      const io::SubstituteFiles substitute(files);
      if (Status status = work(); !status.ok()) return status.message();
      calls = files.calls();
    }
    Random random(GetParam());
    io::CrashDisk disk(before_);
    SeenImages seen;
    for (size_t count = 0;; ++count) {
      const bool ended = count == calls.size();
      std::string wrong = for_each_image(disk, random, [&](const Contents& image) -> std::string {
        if (!seen.add(image, ended)) return "";
        ++images_;
        bool done = false;
        std::string fault = judge(image, &done);
        whole_ += done;
        return fault.empty() && ended && !done ? "it was done, and is not" : fault;
      }, subsets);
      if (!wrong.empty()) return "after " + std::to_string(count) + " of " + std::to_string(calls.size()) + " calls, " + wrong;
      if (ended) return "";
      disk.apply(calls[count]);
    }
  }

  // The source must be unchanged, and the copy must be complete or empty.
  std::string judge_copy(const Contents& image, bool* done) {
    const auto is_newest = [&](const State& state) { return difference(newest_, state); };
    if (std::string wrong = go_through(*source_, image, is_newest); !wrong.empty()) return "the source: " + wrong;
    *done = image.contains("copy/MANIFEST");
    if (*done) {
      std::string wrong = go_through(*copy_, image, is_newest);
      return wrong.empty() ? "" : "the copy: " + wrong;
    }
    // A folder that contains rows does not open as an empty database.
    const auto has_rows = [](const auto& file) { return file.first.starts_with("copy/") && file.first != "copy/LOCK"; };
    if (std::ranges::none_of(image, has_rows)) return go_through(*copy_, image, [](const State& state) { return difference({}, state); });
    io::MemoryFiles files(image);
    const io::SubstituteFiles substitute(files);
    const auto db = Database::open(subject_of(shape_, {"copy"}).options(false));
    if (db.ok()) return "the copy is empty, but files are there";
    return db.status().message().find("'copy") != std::string::npos ? "" : "the copy is refused with other words: " + db.status().message();
  }
  std::string back_up(Subsets subsets = {}) {
    return search([&] {
      auto db = Database::open(recovery_options(shape_));
      return db.ok() ? db->backup("copy") : db.status();
    }, [&](const Contents& image, bool* done) { return judge_copy(image, done); }, subsets);
  }

  RunShape shape_;
  Contents before_;
  State newest_;
  std::optional<Cycle<State>> source_, copy_;
  uint64_t images_ = 0, whole_ = 0;
};

TEST_P(CopiesTest, ABackupIsWholeOrNone) { EXPECT_EQ(back_up(), ""); }

TEST_P(CopiesTest, ABackupThatIsNotSyncedIsFound) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without mutants";
  set_mutant(Mutant::kPublishUnsynced);
  const std::string fault = back_up({.unsure_max = 6, .samples = 24});  // the fault shows at the last call, so few images are enough
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
    io::MemoryFiles files(before_);
    const io::SubstituteFiles substitute(files);
    files::Log log;
    ASSERT_OK(files::verify_log(folders(), &log));
    to = (log.checkpoint + log.snapshot) / 2;
    Recovery report;
    ASSERT_OK(files::recover(folders(), to, false, {}, &report));
    ASSERT_EQ(recover(files.contents(), &earlier), "");
  }
  ASSERT_NE(difference(newest_, earlier), "") << "the earlier state must differ";
  EXPECT_EQ(search([&] {
    Recovery report;
    return files::recover(folders(), to, false, {}, &report);
  }, [&](const Contents& image, bool* done) -> std::string {
    return go_through(*source_, image, [&](const State& state) {
      *done = difference(earlier, state).empty();
      return *done ? "" : difference(newest_, state);
    });
  }), "");
}

INSTANTIATE_TEST_SUITE_P(Seeds, CopiesTest, testing::Range(uint64_t{1}, uint64_t{ELIDER_ASAN || ELIDER_TSAN ? 3 : 7}));

}  // namespace
}  // namespace elider::crash
