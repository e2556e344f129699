// Story: several sessions write to a database, and the machine stops at any system call. Any subset
// of the unsynced sectors is on the disk. A frame may be cut at any byte, other bytes may follow
// its end, or the machine may stop again during recovery. Alternatively, the process is killed or a
// sync of its log fails, and its successor continues with the page cache. What the successor
// acknowledges must survive when the machine stops later. The recovered state is a prefix of the
// commit order. It contains all acknowledged transactions, and no incomplete one
// (tests/crash/story.h). The database can then be written to and recovered again. A file may also
// be removed or duplicated; then opening may refuse the database.
//
// ELIDER_CRASH_IMAGES: the number of images to check (default 10,000, fewer with sanitizers). Few
// crash points of each run are used, so that the images come from many runs.
// ELIDER_CRASH_SEED: the first seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/sanitizer.h"
#include "base/test_points.h"
#include "tests/crash/image_check.h"

namespace elider::crash {
namespace {

using Contents = io::MemoryFiles::Contents;
using Call = io::MemoryFiles::Call;

uint64_t number_of_environment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// The number of images that a search made in each way.
struct Counts {
  uint64_t runs = 0, kills = 0, images = 0, boundaries = 0, cut_bytes = 0, tails = 0, nested = 0, same = 0;
  uint64_t files_checked = 0, misplaced = 0, refused = 0;
  void print(double seconds) const {
    std::printf(
        "%llu images (%.0f a second) of %llu runs (%llu killed), %llu at system calls, %llu cut at a byte, %llu with other tails, "
        "%llu of crashes in recovery, %llu with a file missing or doubled (%llu refused); "
        "%llu more were the same as others; %llu times files::check\n",
        static_cast<unsigned long long>(images), static_cast<double>(images) / seconds, static_cast<unsigned long long>(runs),
        static_cast<unsigned long long>(kills), static_cast<unsigned long long>(boundaries), static_cast<unsigned long long>(cut_bytes),
        static_cast<unsigned long long>(tails), static_cast<unsigned long long>(nested), static_cast<unsigned long long>(misplaced),
        static_cast<unsigned long long>(refused), static_cast<unsigned long long>(same), static_cast<unsigned long long>(files_checked));
    std::fflush(stdout);
  }
};

// Checks all crashes of one run.
class Search {
 public:
  // Checks one crash point in `sparse`.
  Search(const Recorder& run, Counts* counts, uint64_t images_max, uint64_t sparse)
      : before_(run.before()),
        story_(run.story()),
        check_(run.shape(), run.story()),
        counts_(*counts),
        images_max_(images_max),
        sparse_(sparse),
        random_(run.shape().seed) {}

  // Returns an empty text, or the first fault and how to repeat it.
  std::string all(const std::vector<Call>& calls) {
    io::CrashDisk disk = before_;
    std::string wrong = at_boundary(disk, 0);
    size_t count = 0;
    while (wrong.empty() && count < calls.size() && !enough()) {
      const Call& call = calls[count];
      if (is_late_frame(calls, count)) wrong = cut_bytes(disk, call, count);
      disk.apply(call);
      ++count;
      if (wrong.empty() && random_.one_in(sparse_)) wrong = at_boundary(disk, count);
      if (wrong.empty() && call.kind == Call::Kind::kSync && count % 16 == 0) wrong = other_tails(disk, call.path, count);
      if (wrong.empty() && count % 16 == 0) wrong = misplaced(disk, count);
    }
    counts_.images += check_.images();
    counts_.files_checked += check_.files_checked();
    return wrong.empty() ? wrong : "after call " + std::to_string(count) + ": " + wrong;
  }

 private:
  bool enough() const { return counts_.images + check_.images() >= images_max_; }

  std::string look(Contents image, size_t calls, uint64_t* kind) {
    // The requirements on an image depend on how much was acknowledged before it.
    if (!seen_.add(image, story_.demands_at(calls))) {
      ++counts_.same;
      return "";
    }
    const bool nested = random_.one_in(1000);  // a nested check makes hundreds of images
    const uint64_t before = check_.images();
    std::string wrong = check_.check(std::move(image), calls, nested);
    ++*kind;
    counts_.nested += check_.images() - before - 1;
    return wrong;
  }

  std::string at_boundary(const io::CrashDisk& disk, size_t count) {
    return for_each_image(disk, random_, [&](Contents image) -> std::string {
      return enough() ? "" : look(std::move(image), count, &counts_.boundaries);
    });
  }

  // Returns whether this call writes one of the last two frames of its stream, or the beginning of
  // a segment among them.
  static bool is_late_frame(const std::vector<Call>& calls, size_t at) {
    const auto is_of_stream = [&](const Call& call) {
      return call.kind == Call::Kind::kWrite && call.path.find("/log-") != std::string::npos &&
             stream_of(call.path) == stream_of(calls[at].path);
    };
    if (!is_of_stream(calls[at])) return false;
    const auto is_frame = [&](const Call& call) { return is_of_stream(call) && call.offset != 0; };
    return std::count_if(calls.begin() + static_cast<std::ptrdiff_t>(at) + 1, calls.end(), is_frame) < 2;
  }
  // Returns "d0/log-GGGGGGGG-SS-", which the names of all segments of one stream share.
  static std::string stream_of(const std::string& path) { return path.substr(0, path.size() - 8); }

  // The next write was cut short, at any byte.
  std::string cut_bytes(const io::CrashDisk& disk, const Call& write, size_t count) {
    const Contents before = disk.everything();
    std::string wrong;
    for (size_t bytes = 0; bytes < write.bytes.size() && wrong.empty() && !enough(); ++bytes) {
      if (!random_.one_in(sparse_)) continue;
      Contents image = before;
      std::vector<std::byte>& file = image[write.path];
      file.resize(std::max<size_t>(file.size(), write.offset + bytes));
      std::copy_n(write.bytes.begin(), bytes, file.begin() + static_cast<std::ptrdiff_t>(write.offset));
      wrong = look(std::move(image), count, &counts_.cut_bytes);
      if (!wrong.empty()) wrong = "cut at byte " + std::to_string(bytes) + " of a write: " + wrong;
    }
    return wrong;
  }

  // The last frame of a file is followed by previous contents of the disk.
  std::string other_tails(const io::CrashDisk& disk, const std::string& path, size_t count) {
    const Contents whole = disk.everything();
    if (path.find("/log-") == std::string::npos || !whole.contains(path)) return "";
    const auto next_segment = [&] {  // only the end of a stream's last file is uncertain
      const auto after = std::next(whole.find(path));
      return after != whole.end() && after->first.starts_with(stream_of(path));
    };
    if (next_segment()) return "";
    std::vector<std::vector<std::byte>> tails = {std::vector<std::byte>(1 + random_.below(3000)),
                                                 std::vector<std::byte>(1 + random_.below(3000))};
    for (std::byte& byte : tails[1]) byte = static_cast<std::byte>(random_.next());
    for (const auto& [other, bytes] : whole)
      if (other != path && other.find("/log-") != std::string::npos) tails.push_back(bytes);
    std::string wrong;
    for (const auto& tail : tails) {
      Contents image = whole;
      image[path].insert(image[path].end(), tail.begin(), tail.end());
      if (wrong.empty()) wrong = look(std::move(image), count, &counts_.tails);
    }
    return wrong;
  }

  // Each file is missing once, and is duplicated once under an unused name.
  std::string misplaced(const io::CrashDisk& disk, size_t count) {
    const Contents whole = disk.everything();
    std::string wrong;
    const auto look_at = [&](Contents image, size_t calls, const std::string& what) {
      bool refused = false;
      wrong = check_.check_misplaced(std::move(image), calls, &refused);
      if (!wrong.empty()) wrong = what + ": " + wrong;
      ++counts_.misplaced;
      counts_.refused += refused;
    };
    for (const auto& [path, bytes] : whole) {
      if (!wrong.empty() || enough()) break;
      Contents image = whole;
      image.erase(path);
      // A missing end of a stream may never have been written: no file records how far the stream
      // went.
      look_at(std::move(image), ends_a_stream(whole, path) ? 0 : count, "'" + path + "' is missing");
      const std::string free_name = free_name_for(path);
      if (!wrong.empty() || whole.contains(free_name)) continue;
      image = whole;
      image[free_name] = bytes;
      look_at(std::move(image), count, "'" + path + "' is duplicated as '" + free_name + "'");
    }
    return wrong;
  }
  // Returns whether no segment follows this one in its stream.
  static bool ends_a_stream(const Contents& whole, const std::string& path) {
    const auto next = std::next(whole.find(path));
    return path.find("/log-") != std::string::npos && (next == whole.end() || !next->first.starts_with(stream_of(path)));
  }
  // Returns the name in another folder, or the next number's name.
  std::string free_name_for(const std::string& path) {
    if (random_.one_in(3)) return (path[1] == '0' ? "d1" : "d0") + path.substr(2);
    std::string name = path;
    ++name.back();
    return name;
  }

  const io::CrashDisk& before_;
  const Story& story_;
  ImageCheck check_;
  Counts& counts_;
  const uint64_t images_max_, sparse_;
  Random random_;
  SeenImages seen_;
};

// All runs of a chain have these values in common.
RunShape shape_of_chain(uint64_t seed) {
  Random random(seed);
  RunShape shape;
  shape.folders = static_cast<uint32_t>(random.between(1, 3));
  shape.sessions = static_cast<uint32_t>(random.between(2, 4));
  return shape;
}

// Draws the other values for each run of a chain. One run in `failing_syncs` has a sync that fails.
void draw(Random& random, uint32_t failing_syncs, RunShape* shape) {
  constexpr uint32_t kIntervalsUs[] = {50, 200, 1000};
  shape->seed = random.next();
  shape->transactions = static_cast<uint32_t>(random.between(10, 20));
  shape->log_threads = static_cast<uint32_t>(random.between(1, 4));
  shape->flush_interval_us = kIntervalsUs[random.below(3)];
  shape->checkpoints = random.below(5) < 3;
  shape->checkpoints_kept = static_cast<uint32_t>(random.between(1, 3));
  shape->segment_bytes = 4096u << random.below(3);
  shape->buffer_bytes = 4096u << random.below(3);
  shape->failing_sync = random.one_in(failing_syncs) ? static_cast<uint32_t>(random.between(3, 30)) : 0;
}

std::string describe(const RunShape& shape) {
  return std::to_string(shape.folders) + " folders, " + std::to_string(shape.sessions) + " sessions, " + std::to_string(shape.log_threads) +
         " log threads, a group every " + std::to_string(shape.flush_interval_us) + " us, segments of " +
         std::to_string(shape.segment_bytes) + ", buffers of " + std::to_string(shape.buffer_bytes) + ", " +
         (shape.checkpoints ? std::to_string(shape.checkpoints_kept) + " checkpoints kept" : "no checkpoints") + ", sync " +
         std::to_string(shape.failing_sync) + " fails";
}

// What a run leaves to the next one.
struct Left {
  io::CrashDisk disk;
  Story story;
};

// Ends a run: the machine stops, or the process is killed in the middle of a call, at random.
// Returns an empty text, or what is wrong.
std::string end_run(Recorder& run, Random& random, Counts* counts, std::unique_ptr<Left>* left) {
  const std::vector<Call> calls = run.files().calls();
  // Few calls follow after a log has failed.
  size_t crash = calls.size() - random.below(std::min<size_t>(calls.size(), run.shape().failing_sync != 0 ? 4 : 40));
  const bool killed = run.shape().failing_sync != 0 || random.one_in(2);
  const auto is_log_sync = [](const Call& call) { return call.kind == Call::Kind::kSync && call.path.find("/log-") != std::string::npos; };
  if (killed && random.one_in(2))  // between a write and its sync
    while (crash > 1 && (crash == calls.size() || !is_log_sync(calls[crash]))) --crash;
  io::CrashDisk disk = run.before();
  for (size_t i = 0; i < crash; ++i) disk.apply(calls[i]);
  if (!killed) disk = io::CrashDisk(disk.image([&] { return random.one_in(2); }));
  else if (crash != calls.size() && calls[crash].kind == Call::Kind::kWrite && random.one_in(2)) {
    Call part = calls[crash];
    part.bytes.resize(random.below(part.bytes.size() + 1));
    disk.apply(part);
  }
  counts->kills += killed;
  State state;
  std::string wrong = ImageCheck(run.shape(), run.story()).check(disk.everything(), crash, false, &state);
  if (!wrong.empty()) return (killed ? "killed" : "stopped") + std::string(" after call ") + std::to_string(crash) + ": " + wrong;
  *left = std::make_unique<Left>(Left{std::move(disk), run.story()});
  if (killed) (*left)->story.continue_from_killed(state, crash);
  else (*left)->story.continue_from(state);
  return "";
}

constexpr uint64_t kSparse = 8;

// Makes a sequence of runs. One in three starts with an empty database, and the others continue
// with what the previous run has left.
std::string search(uint64_t images, uint64_t first_seed, uint64_t sparse, uint32_t failing_syncs = 4) {
  Counts counts;
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  std::unique_ptr<Left> left;
  std::string wrong;
  RunShape shape;
  double told = 0;
  for (uint64_t seed = first_seed; wrong.empty() && counts.images < images; ++seed) {
    Random random(seed);
    const bool anew = left == nullptr || seed % 3 == 1;
    if (anew) shape = shape_of_chain(seed);
    draw(random, failing_syncs, &shape);
    auto run = anew ? std::make_unique<Recorder>(shape) : std::make_unique<Recorder>(shape, left->disk, left->story);
    if (Status status = run->run(); !status.ok()) wrong = "the run itself: " + status.message();
    ++counts.runs;
    if (wrong.empty()) wrong = Search(*run, &counts, images, sparse).all(run->files().calls());
    if (wrong.empty()) wrong = end_run(*run, random, &counts, &left);
    if (!wrong.empty()) wrong = "seed " + std::to_string(seed) + " (" + describe(shape) + "): " + wrong;
    if (seconds() - told > 60) {
      counts.print(seconds());
      told = seconds();
    }
  }
  counts.print(seconds());
  return wrong;
}

TEST(CrashImages, EveryImageRecoversToAPrefixWithAllThatWasAcknowledged) {
  const uint64_t images = number_of_environment("ELIDER_CRASH_IMAGES", ELIDER_ASAN || ELIDER_TSAN ? 1000 : 10000);
  EXPECT_EQ(search(images, number_of_environment("ELIDER_CRASH_SEED", 1), images < 100'000 ? kSparse : 1), "");
}

// This needs a build that emulates such calls. In other builds, all of them fall back.
TEST(CrashImages, ACallThatIsAHardwareTransactionIsDurableWhole) {
  RunShape shape;
  shape.seed = 4;
  shape.transactions = 30;
  shape.checkpoints = true;
  Recorder run(shape);
  const Status status = run.run();
  ASSERT_TRUE(status.ok()) << status.message();
#if defined(ELIDER_EMULATOR)
  EXPECT_GT(run.calls_in_regions(), 0u);
#endif
  Counts counts;
  EXPECT_EQ(Search(run, &counts, 300, kSparse).all(run.files().calls()), "");
  EXPECT_GT(counts.images, 0u);
}

class CrashMutant : public testing::TestWithParam<Mutant> {
 protected:
  void SetUp() override {
    if (!TestPoints::enabled()) GTEST_SKIP() << "built without mutants";
  }
  void TearDown() override { set_mutant(Mutant::kNone); }
};

TEST_P(CrashMutant, IsCaught) {
  set_mutant(GetParam());
  // The defect of this mutant shows only after a sync has failed.
  const std::string fault = search(20000, 1, kSparse, GetParam() == Mutant::kSyncWithoutRewrite ? 1 : 4);
  std::printf("%s\n", fault.c_str());
  EXPECT_NE(fault, "");
}

INSTANTIATE_TEST_SUITE_P(Durability, CrashMutant,
                         testing::Values(Mutant::kAcknowledgeEarly, Mutant::kLargestDurable, Mutant::kSkipFrameChecksum,
                                         Mutant::kPublishUnsynced, Mutant::kRemoveLogEarly, Mutant::kRelyOnUnsynced,
                                         Mutant::kSyncWithoutRewrite),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace elider::crash
