// Story: workers commit records through the log and wait for some of them. The machine stops at any
// system call, and any subset of the unsynced sectors is on the disk. Recovery must find exactly
// the records up to some number. No record may occur twice, or be incomplete, or come after that
// number. Every acknowledged record must be found. A second recovery gives the same result. If the
// log is then written and recovered again, the result is the old and the new records.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/test_points.h"
#include "base/random.h"
#include "tests/support/crash_disk.h"
#include "tests/support/log_test_support.h"

namespace elider::log {
namespace {

struct Workload {
  std::vector<MemoryFiles::Call> calls;
  MemoryFiles::Contents before;
  State written;                                     // by this run and earlier ones
  std::vector<std::pair<size_t, uint64_t>> acknowledged;  // after this many calls, all commits up to the number are durable
};

// Two workers write to `streams` streams. Each waits for some of its records.
void run_workload(Workload& run, uint64_t seed, uint32_t streams) {
  MemoryFiles files(run.before);
  std::mutex mutex;
  {
    Running running;
    LogOptions options;
    options.streams = streams;
    options.workers = 2;
    options.flush_interval_us = 100;
    options.segment_bytes = 2048;
    ASSERT_TRUE(running.start(files, options).ok());
    std::vector<std::thread> threads;
    for (uint32_t w = 0; w < 2; ++w)
      threads.emplace_back([&, w] {
        Random random(seed * 2 + w);
        for (int i = 0; i < 12; ++i) {
          uint64_t number = 0;
          const std::string text =
              std::to_string(seed) + ":" + std::to_string(w) + ":" + std::to_string(i) + std::string(random.below(900), '.');
          ASSERT_TRUE(running.commit(w, text, &number).ok());
          {
            std::lock_guard lock(mutex);
            run.written.emplace(number, text);
          }
          if (random.one_in(2)) continue;
          ASSERT_TRUE(running.log->wait_durable(number).ok());
          std::lock_guard lock(mutex);
          run.acknowledged.emplace_back(files.call_count(), number);
        }
      });
    for (std::thread& thread : threads) thread.join();
    running.log.reset();
  }
  run.calls = files.calls();
}

// Returns an empty text, or a description of what is wrong with the recovered state.
std::string judge(const Recovered& recovered, const State& written, uint64_t acknowledged) {
  if (!recovered.status.ok()) return recovered.status.message();
  uint64_t last = acknowledged;
  for (const auto& [number, text] : recovered.state) last = std::max(last, number);
  State expected(written.begin(), written.upper_bound(last));
  if (recovered.state.size() == expected.size() &&
      std::is_permutation(recovered.state.begin(), recovered.state.end(), expected.begin(), expected.end()))
    return "";
  return "recovered " + std::to_string(recovered.state.size()) + " records up to " + std::to_string(last) + " instead of " +
         std::to_string(expected.size()) + "; acknowledged was " + std::to_string(acknowledged);
}

// Recovers an image twice, writes to it, and recovers it again.
std::string check_image(const MemoryFiles::Contents& image, const State& written, uint64_t acknowledged) {
  MemoryFiles files(image);
  const Recovered first = recover(files);
  if (std::string wrong = judge(first, written, acknowledged); !wrong.empty()) return wrong;
  State after = first.state;
  {
    Running running;
    LogOptions options;
    if (Status status = running.start(files, options); !status.ok()) return "opened again: " + status.message();
    uint64_t number = 0;
    if (Status status = running.commit(0, "after", &number); !status.ok()) return status.message();
    if (!written.empty() && !first.state.empty() && number <= first.state.rbegin()->first) return "a number is used twice";
    after.emplace(number, "after");
  }
  const Recovered second = recover(files);
  if (!second.status.ok()) return "recovered after writing: " + second.status.message();
  if (second.state.size() != after.size() || !std::is_permutation(second.state.begin(), second.state.end(), after.begin(), after.end()))
    return "recovered after writing: another state";
  return "";
}

// Returns the disk's contents after the run has ended normally.
MemoryFiles::Contents whole_image(const Workload& run) {
  CrashDisk disk(run.before);
  for (const MemoryFiles::Call& call : run.calls) disk.apply(call);
  return disk.everything();
}

// Checks every boundary between two calls, with several choices of what was not synced. Returns an
// empty text, or the first fault.
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
      const auto image = disk.image([&] { return random.below(100) < chance; });
      if (std::string wrong = check_image(image, run.written, acknowledged); !wrong.empty())
        return "seed " + std::to_string(seed) + ", after call " + std::to_string(count) + ": " + wrong;
    }
  }
  return "";
}

double scale() {
  const char* const text = std::getenv("ELIDER_TEST_SCALE");
  return text == nullptr ? 1.0 : std::atof(text);
}

std::string search(uint64_t seeds, int samples) {
  uint64_t images = 0;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    Workload run;
    run_workload(run, seed, 1 + seed % 2);
    std::string wrong = check_crashes(run, seed, samples, &images);
    // Also runs a second workload on the disk that the first one left intact.
    if (wrong.empty()) {
      Workload second;
      second.before = whole_image(run);
      second.written = run.written;
      run_workload(second, seed + 1000, 1 + seed % 3);
      if (!run.written.empty()) second.acknowledged.emplace_back(0, run.written.rbegin()->first);
      wrong = check_crashes(second, seed + 1000, samples, &images);
    }
    if (!wrong.empty()) return wrong;
  }
  std::printf("%llu images\n", static_cast<unsigned long long>(images));
  return "";
}

TEST(LogCrash, EveryImageRecoversToAPrefixWithAllThatWasAcknowledged) {
  EXPECT_EQ(search(static_cast<uint64_t>(std::max(1.0, 6 * scale())), 8), "");
}

class LogMutant : public testing::TestWithParam<Mutant> {
 protected:
  void SetUp() override {
    if (!TestPoints::enabled()) GTEST_SKIP() << "built without mutants";
  }
  void TearDown() override {
    set_mutant(Mutant::kNone);
    TestPoints::clear();
  }
};

TEST_P(LogMutant, IsCaught) {
  set_mutant(GetParam());
  // If a worker is notified too early, it must have time to record that before the log writes, even
  // on a busy machine.
  TestPoints::on("log.before_write", [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
  EXPECT_NE(search(40, 4), "");
}

INSTANTIATE_TEST_SUITE_P(Durability, LogMutant,
                         testing::Values(Mutant::kAcknowledgeEarly, Mutant::kLargestDurable, Mutant::kSkipFrameChecksum),
                         [](const auto& info) {
                           std::string name(name_of(info.param));
                           return name;
                         });

TEST(LogCrash, ATailOfZerosGarbageOrAnOlderSegmentIsCut) {
  Workload run;
  run_workload(run, 5, 1);
  Random random(5);
  const auto whole = whole_image(run);
  std::string last, first;
  for (const auto& [path, bytes] : whole) {
    if (path.find("/log-") == std::string::npos) continue;
    if (first.empty()) first = path;
    last = path;
  }
  ASSERT_NE(first, last) << "the run has several segments";
  for (int kind = 0; kind < 3; ++kind) {
    auto image = whole;
    std::vector<std::byte>& tail = image[last];
    if (kind == 0) tail.resize(tail.size() + 4096);
    if (kind == 1)
      for (int i = 0; i < 3000; ++i) tail.push_back(static_cast<std::byte>(random.below(256)));
    if (kind == 2) tail.insert(tail.end(), whole.at(first).begin(), whole.at(first).end());
    MemoryFiles files(image);
    const Recovered recovered = recover(files);
    EXPECT_EQ(judge(recovered, run.written, run.written.rbegin()->first), "") << "kind " << kind;
    if (kind == 0) {
      EXPECT_TRUE(recovered.facts.cuts.empty()) << "zeros are room that was not used";
      continue;
    }
    ASSERT_EQ(recovered.facts.cuts.size(), 1u) << "kind " << kind;
    EXPECT_EQ(recovered.facts.cuts[0].file, last);
    EXPECT_EQ(recovered.facts.cuts[0].offset, whole.at(last).size());
    EXPECT_EQ(recovered.facts.cuts[0].why, "the data there does not begin with a frame's magic number");
  }
}

// The run has ended normally. A changed byte is detected, or loses at most the last frame, which a
// crash could also have lost.
TEST(LogDamage, EveryFlippedByteIsFoundOrCutByTheRules) {
  Workload run;
  run_workload(run, 3, 2);
  Random random(3);
  const auto whole = whole_image(run);
  uint64_t refused = 0, cut = 0;
  for (const auto& [path, bytes] : whole) {
    for (size_t at = 0; at < bytes.size(); ++at) {
      auto image = whole;
      image[path][at] ^= static_cast<std::byte>(1 + random.below(255));
      MemoryFiles files(image);
      const Recovered recovered = recover(files);
      if (recovered.status.code() == Code::kCorrupt || recovered.status.code() == Code::kUnsupported) {
        ++refused;
        EXPECT_NE(recovered.status.message().find("db/"), std::string::npos) << recovered.status.message();
        continue;
      }
      ASSERT_EQ(judge(recovered, run.written, 0), "") << path << " at " << at;
      ASSERT_EQ(recovered.facts.cuts.size(), 1u) << path << " at " << at << ": damage went by without a word";
      ++cut;
    }
  }
  std::printf("%llu refused, %llu cut\n", static_cast<unsigned long long>(refused), static_cast<unsigned long long>(cut));
  EXPECT_GT(refused, cut);
}

TEST(LogDamage, EveryTruncationIsFoundOrCutByTheRules) {
  Workload run;
  run_workload(run, 4, 2);
  const auto whole = whole_image(run);
  for (const auto& [path, bytes] : whole) {
    for (size_t size = 0; size < bytes.size(); ++size) {
      auto image = whole;
      image[path].resize(size);
      MemoryFiles files(image);
      const Recovered recovered = recover(files);
      if (recovered.status.code() == Code::kCorrupt) continue;
      ASSERT_EQ(judge(recovered, run.written, 0), "") << path << " cut to " << size;
    }
  }
}

TEST(LogDamage, AMissingFileIsNamed) {
  Workload run;
  run_workload(run, 6, 2);
  const auto whole = whole_image(run);
  std::string before_last;
  for (const auto& [path, bytes] : whole) {
    auto image = whole;
    image.erase(path);
    MemoryFiles files(image);
    const Recovered recovered = recover(files);
    if (recovered.status.ok()) {
      // This is the last segment of a stream. Its absence is detected only if its contents were
      // known to be durable.
      EXPECT_EQ(judge(recovered, run.written, 0), "") << path;
      continue;
    }
    EXPECT_EQ(recovered.status.code(), Code::kCorrupt) << recovered.status.message();
  }
}

}  // namespace
}  // namespace elider::log
