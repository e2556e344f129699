// Tests of closed numbers: if a frame says that a number is closed, all records of that number must
// be in the log. Each test stops the log where a wrong order of steps would close a number before
// its records are written. It then checks what recovery finds on the disk at that moment.
#include <future>
#include <string>

#include "base/test_points.h"
#include "tests/support/crash_disk.h"
#include "tests/support/log_test_support.h"

namespace elider::log {
namespace {

LogOptions quiet_options(uint32_t streams, uint32_t workers) {
  LogOptions options;
  options.streams = streams;
  options.workers = workers;
  options.flush_interval_us = 10'000'000;  // a group begins only when a thread waits for one
  return options;
}

// Recovers as if the machine had stopped after this many calls and only certain contents were kept.
Recovered recover_after(const MemoryFiles& files, size_t calls) {
  CrashDisk disk;
  const std::vector<MemoryFiles::Call> all = files.calls();
  for (size_t i = 0; i < calls; ++i) disk.apply(all[i]);
  MemoryFiles crashed(disk.nothing_unsure());
  return recover(crashed);
}

// The record is published after the logger has raised the number and while it reads the
// announcements.
TEST(ClosedNumber, ARecordThatComesWhileTheLoggerLooksIsInItsGroup) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  MemoryFiles files;
  Running running;
  ASSERT_TRUE(running.start(files, quiet_options(1, 1)).ok());
  std::byte* place = nullptr;
  ASSERT_TRUE(running.log->reserve(0, 4, &place).ok());
  running.log->begin_commit(0);
  const uint64_t number = running.numbers->current();
  TestStop stop("log.before_look");
  std::promise<size_t> told;
  running.log->when_durable(number, [&](const Status& status) {
    EXPECT_TRUE(status.ok()) << status.message();
    told.set_value(files.call_count());
  });
  stop.wait_until_reached();
  EXPECT_GT(running.numbers->current(), number);
  std::memcpy(place, "held", 4);
  running.log->publish(0, number, 4);
  running.log->end_commit(0);
  stop.go();
  EXPECT_EQ(recover_after(files, told.get_future().get()).state.count(number), 1u);
}

// Six commits of one number are written in a group of two frames. None of them may be durable
// before both frames are written.
TEST(ClosedNumber, TheFirstFrameOfALargeGroupClosesNothing) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  constexpr size_t kRecords = 6, kBytes = 1u << 20;
  static_assert(kRecords * kBytes > Log::kFrameBytesTarget + kBytes && kRecords * kBytes < 2 * Log::kFrameBytesTarget);
  MemoryFiles files;
  LogOptions options = quiet_options(1, 1);
  options.buffer_bytes = 16u << 20;  // so that the log does not write before all records are in the buffer
  Running running;
  ASSERT_TRUE(running.start(files, options).ok());
  uint64_t first = 0, number = 0;
  for (size_t i = 0; i < kRecords; ++i) {
    ASSERT_TRUE(running.commit(0, std::string(kBytes, static_cast<char>('a' + i)), &number).ok());
    if (i == 0) first = number;
  }
  ASSERT_EQ(first, number);
  TestStop stop("log.before_write", 1);
  running.log->when_durable(number, [](const Status& status) { EXPECT_TRUE(status.ok()) << status.message(); });
  stop.wait_until_reached();
  EXPECT_EQ(running.log->facts().frames, 1u);
  EXPECT_LT(running.log->durable(), number);
  const Recovered between = recover_after(files, files.call_count());
  EXPECT_TRUE(between.status.ok()) << between.status.message();
  EXPECT_EQ(between.state.size(), 0u);
  stop.go();
  ASSERT_TRUE(running.log->wait_durable(number).ok());
  EXPECT_EQ(running.log->facts().frames, 2u);
  EXPECT_EQ(recover_after(files, files.call_count()).state.count(number), kRecords);
}

// Both streams are synced for each commit, and the next frame of each stream reports what the other
// has made durable. So a stream that ends long before that has lost acknowledged commits.
TEST(ClosedNumber, AStreamThatEndsBeforeWhatTheOtherKnowsIsRefused) {
  constexpr int kCommits = 16;
  MemoryFiles files;
  uint64_t last = 0;
  Running running;
  ASSERT_TRUE(running.start(files, quiet_options(2, 2)).ok());
  for (int i = 0; i < kCommits; ++i) {
    ASSERT_TRUE(running.commit(static_cast<uint32_t>(i % 2), std::string(200, 'x'), &last).ok());
    ASSERT_TRUE(running.log->wait_durable(last).ok());
  }
  const MemoryFiles::Contents whole = files.contents();  // taken before the log is closed, as after a crash
  MemoryFiles untouched(whole);
  ASSERT_EQ(recover(untouched).state.size(), static_cast<size_t>(kCommits));
  for (const std::string name : {"db/log-00000001-00-00000000", "db/log-00000001-01-00000000"}) {
    MemoryFiles::Contents image = whole;
    ASSERT_TRUE(image.contains(name));
    image[name].resize(image[name].size() / 2);
    MemoryFiles cut(image);
    const Recovered recovered = recover(cut);
    EXPECT_EQ(recovered.status.code(), Code::kCorrupt) << recovered.state.size() << " records are left";
    EXPECT_NE(recovered.status.message().find("'" + name + "' at byte"), std::string::npos) << recovered.status.message();
    EXPECT_NE(recovered.status.message().find("was durable"), std::string::npos) << recovered.status.message();
  }
}

}  // namespace
}  // namespace elider::log
