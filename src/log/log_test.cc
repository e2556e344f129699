#include "log/log.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <future>
#include <thread>

#include "base/random.h"
#include "base/test_points.h"
#include "tests/support/crash_disk.h"
#include "tests/support/log_test_support.h"

namespace elider::log {
namespace {

LogOptions options_of(uint32_t streams, uint32_t workers) {
  LogOptions options;
  options.streams = streams;
  options.workers = workers;
  options.flush_interval_us = 200;
  return options;
}

TEST(Log, WhatWasCommittedComesBack) {
  MemoryFiles files;
  State expected;
  for (int run = 0; run < 3; ++run) {
    Running running;
    ASSERT_TRUE(running.start(files, options_of(2, 3)).ok());
    for (int i = 0; i < 50; ++i) {
      uint64_t number = 0;
      const std::string text = "run " + std::to_string(run) + " record " + std::to_string(i);
      ASSERT_TRUE(running.commit(static_cast<uint32_t>(i) % 3, text, &number).ok());
      expected.emplace(number, text);
      if (i % 10 == 0) {
        ASSERT_TRUE(running.log->wait_durable(number).ok());
      }
    }
    running.log.reset();  // writes the rest to the disk
  }
  const Recovered recovered = recover(files);
  ASSERT_TRUE(recovered.status.ok()) << recovered.status.message();
  EXPECT_EQ(recovered.facts.records, 150u);
  EXPECT_TRUE(std::is_permutation(recovered.state.begin(), recovered.state.end(), expected.begin(), expected.end()));
}

TEST(Log, AWaitEndsOnceTheRecordIsOnTheDisk) {
  MemoryFiles files;
  Running running;
  ASSERT_TRUE(running.start(files, options_of(1, 1)).ok());
  uint64_t number = 0;
  ASSERT_TRUE(running.commit(0, "one", &number).ok());
  ASSERT_TRUE(running.log->wait_durable(number).ok());
  CrashDisk disk;
  for (const MemoryFiles::Call& call : files.calls()) disk.apply(call);
  MemoryFiles crashed(disk.nothing_unsure());
  EXPECT_EQ(recover(crashed).state.count(number), 1u);
}

TEST(Log, ANumberIsNotClosedWhileACommitWithItIsUnderWay) {
  MemoryFiles files;
  Running running;
  ASSERT_TRUE(running.start(files, options_of(1, 2)).ok());
  std::byte* place = nullptr;
  ASSERT_TRUE(running.log->reserve(0, 4, &place).ok());
  running.log->begin_commit(0);
  const uint64_t held = running.numbers->current();
  uint64_t other = 0;
  const auto until = std::chrono::steady_clock::now() + TestStop::kTimeout;
  for (int i = 0; i < 20 || (other <= held && std::chrono::steady_clock::now() < until); ++i) {
    ASSERT_TRUE(running.commit(1, "other", &other).ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_GT(other, held) << "the loggers raise the number meanwhile";
  EXPECT_LT(running.log->durable(), held);
  std::memcpy(place, "held", 4);
  running.log->publish(0, held, 4);
  running.log->end_commit(0);
  EXPECT_TRUE(running.log->wait_durable(other).ok());
}

TEST(Log, LargeRecordsAndFullBuffersComeThrough) {
  MemoryFiles files;
  LogOptions options = options_of(1, 1);
  options.buffer_bytes = 4096;
  options.segment_bytes = 64 << 10;
  State expected;
  {
    Running running;
    ASSERT_TRUE(running.start(files, options).ok());
    Random random(7);
    for (int i = 0; i < 400; ++i) {
      uint64_t number = 0;
      const std::string text(random.below(10) == 0 ? random.below(20000) : random.below(500), static_cast<char>('a' + i % 26));
      ASSERT_TRUE(running.commit(0, text, &number).ok());
      expected.emplace(number, text);
    }
  }
  const Recovered recovered = recover(files);
  ASSERT_TRUE(recovered.status.ok()) << recovered.status.message();
  EXPECT_EQ(recovered.state, expected);
  EXPECT_GT(files.contents().size(), 3u) << "the segments have a size limit";
}

// The records are larger than the ring, and the logger does not run. After one or two of them the
// buffer is full.
TEST(Buffer, BlocksOutsideTheRingAreBounded) {
  constexpr size_t kCapacity = 4096;
  for (const size_t bytes : {size_t{2200}, size_t{100'000}}) {
    Buffer buffer;
    buffer.open(kCapacity);
    size_t published = 0;
    while (buffer.reserve(bytes) != nullptr && published < 100) buffer.publish(++published, bytes);
    EXPECT_EQ(published, 1u) << bytes;
    EXPECT_TRUE(buffer.half_full()) << "the logger is asked to take something";
    EXPECT_NE(buffer.reserve(64), nullptr) << "the ring has room yet";
    buffer.take(buffer.head(), [](uint64_t, Bytes) { return true; });
    EXPECT_NE(buffer.reserve(bytes), nullptr);
    EXPECT_FALSE(buffer.half_full());
  }
  Buffer buffer;
  buffer.open(2 * kCapacity);
  size_t published = 0;
  while (buffer.reserve(4090) != nullptr && published < 100) buffer.publish(++published, 100);
  EXPECT_EQ(published, 2u) << "what was reserved counts";
}

TEST(Log, ManyWorkersAtOnceLoseNothing) {
  MemoryFiles files;
  constexpr uint32_t kWorkers = 4;
  constexpr int kRecords = 2000;
  {
    Running running;
    LogOptions options = options_of(2, kWorkers);
    options.buffer_bytes = 4096;
    ASSERT_TRUE(running.start(files, options).ok());
    std::vector<std::thread> threads;
    for (uint32_t w = 0; w < kWorkers; ++w)
      threads.emplace_back([&, w] {
        for (int i = 0; i < kRecords; ++i) {
          uint64_t number = 0;
          ASSERT_TRUE(running.commit(w, std::to_string(w) + ":" + std::to_string(i), &number).ok());
          if (i % 500 == 0) {
            ASSERT_TRUE(running.log->wait_durable(number).ok());
          }
        }
      });
    for (std::thread& thread : threads) thread.join();
  }
  const Recovered recovered = recover(files);
  ASSERT_TRUE(recovered.status.ok()) << recovered.status.message();
  std::set<std::string> texts;
  for (const auto& [number, text] : recovered.state) texts.insert(text);
  EXPECT_EQ(texts.size(), kWorkers * kRecords);
}

TEST(Log, AFailedSyncEndsAcknowledgement) {
  MemoryFiles files;
  Running running;
  ASSERT_TRUE(running.start(files, options_of(1, 1)).ok());
  uint64_t first = 0, second = 0;
  ASSERT_TRUE(running.commit(0, "first", &first).ok());
  ASSERT_TRUE(running.log->wait_durable(first).ok());
  std::atomic<int> refused{0};
  files.refuse_with([&](const MemoryFiles::Call& call) {
    if (call.kind != MemoryFiles::Call::Kind::kSync || refused.fetch_add(1) != 0) return Status();
    return file_error("sync", call.path, EIO);
  });
  const uint64_t durable = running.log->durable();
  ASSERT_TRUE(running.commit(0, "second", &second).ok());
  const Status status = running.log->wait_durable(second);
  EXPECT_EQ(status.code(), Code::kIoError);
  EXPECT_NE(status.message().find("log-00000001-00-00000000"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("Input/output error"), std::string::npos) << status.message();
  EXPECT_LT(running.log->durable(), second);
  EXPECT_GE(running.log->durable(), durable);
  std::byte* place = nullptr;
  EXPECT_EQ(running.log->reserve(0, 1, &place).code(), Code::kIoError);
  EXPECT_EQ(running.log->facts().failure.code(), Code::kIoError);
  const size_t calls = files.call_count();
  running.log.reset();
  EXPECT_EQ(files.call_count(), calls) << "nothing is written after a failed sync";
}

TEST(Log, EveryRefusedCallIsReportedAndLosesNothingAcknowledged) {
  for (int refused_call = 0;; ++refused_call) {
    MemoryFiles files;
    int calls = 0;
    bool refused = false;
    files.refuse_with([&](const MemoryFiles::Call& call) {
      if (calls++ != refused_call) return Status();
      refused = true;
      return file_error("use", call.path, ENOSPC);
    });
    State acknowledged;
    LogOptions options = options_of(2, 2);
    options.segment_bytes = 256;  // one segment per frame
    Status status;
    {
      Running running;
      status = running.start(files, options);
      for (int i = 0; i < 4 && status.ok(); ++i) {
        uint64_t number = 0;
        const std::string text(200, static_cast<char>('a' + i));
        status = running.commit(static_cast<uint32_t>(i) % 2, text, &number);
        if (status.ok()) status = running.log->wait_durable(number);
        if (status.ok()) acknowledged.emplace(number, text);
      }
      running.log.reset();
    }
    files.refuse_with(nullptr);
    const Recovered recovered = recover(files);
    ASSERT_TRUE(recovered.status.ok()) << "call " << refused_call << ": " << recovered.status.message();
    for (const auto& record : acknowledged)
      EXPECT_NE(std::find(recovered.state.begin(), recovered.state.end(), record), recovered.state.end()) << "call " << refused_call;
    if (!refused) break;
    if (acknowledged.size() < 4) {
      EXPECT_EQ(status.code(), Code::kIoError) << "call " << refused_call;
    }
  }
}

// While the first group is being written, seven sessions commit and wait. One group suffices for
// all of them. If workers fill their buffers as fast as the disk empties them, numbers are still
// closed, and no worker waits for room forever.
TEST(Log, UnderMoreThanTheDiskCanTakeNumbersCloseAndAllWorkersGoOn) {
  constexpr uint32_t kWorkers = 3;
  MemoryFiles files;
  files.refuse_with([](const MemoryFiles::Call& call) {
    if (call.kind == MemoryFiles::Call::Kind::kSync) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return Status();
  });
  Running running;
  LogOptions options = options_of(1, kWorkers);
  options.buffer_bytes = 4u << 20;
  ASSERT_TRUE(running.start(files, options).ok());
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> commits[kWorkers] = {};
  std::vector<std::thread> workers;
  for (uint32_t worker = 0; worker < kWorkers; ++worker)
    workers.emplace_back([&, worker] {
      const std::string text(4000, 'x');
      for (uint64_t number; !stop && running.commit(worker, text, &number).ok();) ++commits[worker];
    });
  const auto until = [](const auto& done) {
    const auto end = std::chrono::steady_clock::now() + TestStop::kTimeout;
    while (!done() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return done();
  };
  EXPECT_TRUE(until(
      [&] { return std::all_of(commits, commits + kWorkers, [](const auto& count) { return count > 1000; }); }));  // all buffers are full
  const uint64_t number = running.numbers->current();
  auto durable = std::async(std::launch::async, [&] { return running.log->wait_durable(number); });
  EXPECT_EQ(durable.wait_for(TestStop::kTimeout), std::future_status::ready);
  uint64_t before[kWorkers];
  std::copy(commits, commits + kWorkers, before);
  for (uint32_t worker = 0; worker < kWorkers; ++worker)
    EXPECT_TRUE(until([&] { return commits[worker] > before[worker] + 1500; })) << "worker " << worker << " waits for room";
  stop = true;
  for (std::thread& worker : workers) worker.join();
}

// A stream without records has closed a number before another stream gets a record with that
// number.
TEST(Log, AStreamWithoutRecordsHoldsNoWaitUp) {
  MemoryFiles files;
  Running running;
  LogOptions options = options_of(2, 2);
  options.flush_interval_us = 10'000'000;
  ASSERT_TRUE(running.start(files, options).ok());
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 60; ++i) {
    uint64_t number = 0;
    ASSERT_TRUE(running.commit(0, "one", &number).ok());
    ASSERT_TRUE(running.log->wait_durable(number).ok());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, TestStop::kTimeout / 2);  // with waits it would take the whole timeout
}

TEST(Log, CommitsThatComeMeanwhileShareTheNextGroup) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  constexpr uint32_t kSessions = 8;
  MemoryFiles files;
  Running running;
  LogOptions options = options_of(1, kSessions);
  options.flush_interval_us = 10'000'000;
  ASSERT_TRUE(running.start(files, options).ok());
  std::promise<void> go, reached;
  std::atomic<int> writes{0};
  TestPoints::on("log.before_write", [&] {
    if (writes.fetch_add(1) != 0) return;
    reached.set_value();
    go.get_future().wait();
  });
  std::atomic<uint32_t> committed{0};
  std::vector<std::thread> sessions;
  for (uint32_t worker = 0; worker < kSessions; ++worker) {
    sessions.emplace_back([&, worker] {
      uint64_t number = 0;
      ASSERT_TRUE(running.commit(worker, "x", &number).ok());
      committed.fetch_add(1);
      EXPECT_TRUE(running.log->wait_durable(number).ok());
    });
    if (worker == 0) reached.get_future().wait();
  }
  while (committed.load() != kSessions) std::this_thread::yield();
  go.set_value();
  for (std::thread& session : sessions) session.join();
  TestPoints::clear();
  const LogFacts facts = running.log->facts();
  EXPECT_EQ(facts.records, kSessions);
  EXPECT_EQ(facts.frames, 2u);
}

// The promise of async durability: a crash loses at most the commits of two groups and of the
// interval between them.
TEST(Log, WithoutAWaitACommitIsOnTheDiskWithTheGroupUnderWayOrTheNext) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  MemoryFiles files;
  Running running;
  ASSERT_TRUE(running.start(files, options_of(1, 1)).ok());
  std::promise<void> go, reached;
  std::atomic<int> writes{0};
  TestPoints::on("log.before_write", [&] {
    if (writes.fetch_add(1) != 0) return;
    reached.set_value();
    go.get_future().wait();
  });
  uint64_t first = 0, number = 0;
  ASSERT_TRUE(running.commit(0, "in the group under way", &first).ok());
  reached.get_future().wait();
  ASSERT_TRUE(running.commit(0, "too late for it", &number).ok());
  EXPECT_LT(running.log->durable(), first);
  go.set_value();
  while (running.log->durable() < number) std::this_thread::yield();
  TestPoints::clear();
  EXPECT_EQ(running.log->facts().frames, 2u);
}

TEST(Log, WhoAsksIsToldOnceWhenItIsDurable) {
  MemoryFiles files;
  Running running;
  LogOptions options = options_of(1, 1);
  options.flush_interval_us = 10'000'000;  // a call makes the log write a group at once
  ASSERT_TRUE(running.start(files, options).ok());
  uint64_t number = 0;
  ASSERT_TRUE(running.commit(0, "x", &number).ok());
  std::promise<uint64_t> told;
  running.log->when_durable(number, [&](const Status& status) {
    EXPECT_TRUE(status.ok()) << status.message();
    told.set_value(running.log->durable());
  });
  EXPECT_GE(told.get_future().get(), number);
  bool at_once = false;
  running.log->when_durable(number, [&](const Status& status) { at_once = status.ok(); });
  EXPECT_TRUE(at_once);
  bool at_the_end = false;
  ASSERT_TRUE(running.commit(0, "y", &number).ok());
  running.log->when_durable(number, [&](const Status& status) { at_the_end = status.ok(); });
  running.log.reset();
  EXPECT_TRUE(at_the_end);
}

TEST(Log, WhoAsksIsToldOfAFailure) {
  MemoryFiles files;
  Running running;
  ASSERT_TRUE(running.start(files, options_of(1, 1)).ok());
  files.refuse_with([](const MemoryFiles::Call& call) { return file_error("use", call.path, EIO); });
  uint64_t number = 0;
  ASSERT_TRUE(running.commit(0, "x", &number).ok());
  std::promise<Status> told;
  running.log->when_durable(number, [&](const Status& status) { told.set_value(status); });
  EXPECT_EQ(told.get_future().get().code(), Code::kIoError);
  Status at_once;
  running.log->when_durable(number, [&](const Status& status) { at_once = status; });
  EXPECT_EQ(at_once.code(), Code::kIoError);
}

// The torn tail has several megabytes and is full of frame headers with matching lengths. It is cut
// off, or reported as damage. Its bytes are checksummed a few times, and not once for each place
// that looks like a frame.
TEST(Reader, ATailFullOfFramesBeginsIsReadInLinearTime) {
  constexpr size_t kTailBytes = 4 << 20;
  MemoryFiles::Contents contents;
  DatabaseId database{};
  {
    MemoryFiles files;
    Running running;
    ASSERT_TRUE(running.start(files, options_of(1, 1)).ok());
    uint64_t number = 0;
    ASSERT_TRUE(running.commit(0, "a record", &number).ok());
    database = running.directory->manifest().database;
    running.log.reset();
    contents = files.contents();
  }
  const std::string path = "db/log-00000001-00-00000000";
  for (const bool plausible : {false, true}) {
    MemoryFiles::Contents image = contents;
    std::vector<std::byte>& bytes = image.at(path);
    const size_t end = bytes.size();
    const size_t step = plausible ? kFrameHeaderBytes : 8;  // headers only, or headers nested in each other
    bytes.resize(end + kTailBytes);
    for (size_t at = end; at + kFrameHeaderBytes <= bytes.size(); at += step) {
      const auto payload_bytes = static_cast<uint32_t>(bytes.size() - at - kFrameHeaderBytes);
      if (plausible) seal({1 + at / kFrameHeaderBytes % 16, 1, 1, 1, 1, 0, 0}, 12345, {bytes.data() + at, kFrameHeaderBytes});
      std::memcpy(bytes.data() + at, "EFRM", 4);
      std::memcpy(bytes.data() + at + 4, &payload_bytes, 4);
      if (plausible && payload_bytes > kRecordHeaderBytes) bytes[at + 48] = std::byte{1};
    }
    MemoryFiles files(image);
    ReadBuffer buffer;
    SegmentFacts facts;
    const auto folder = open_folder(files);
    const Status status = read_segment(*folder, database, {1, 0, 0}, &buffer, [](const FrameView&) { return Status(); }, &facts);
    EXPECT_EQ(status.code(), plausible ? Code::kCorrupt : Code::kOk) << status.message();
    EXPECT_LT(facts.searched_bytes, 20 * kTailBytes);
    EXPECT_EQ(facts.searched_bytes > kTailBytes, plausible);
    EXPECT_EQ(facts.frames, 1u);
    EXPECT_EQ(facts.whole_bytes, end);
  }
}

TEST(Log, FactsCountWhatWasWritten) {
  MemoryFiles files;
  Running running;
  LogOptions options = options_of(1, 1);
  options.flush_interval_us = 10'000'000;  // only waiting makes the log write a frame
  ASSERT_TRUE(running.start(files, options).ok());
  uint64_t number = 0;
  ASSERT_TRUE(running.commit(0, std::string(100, 'x'), &number).ok());
  ASSERT_TRUE(running.log->wait_durable(number).ok());
  const LogFacts facts = running.log->facts();
  EXPECT_EQ(facts.records, 1u);
  EXPECT_EQ(facts.frames, 1u);
  EXPECT_EQ(facts.bytes, kFrameHeaderBytes + kRecordHeaderBytes + 100);
  EXPECT_EQ(facts.syncs, 2u) << "the segment's header, and the frame";
  EXPECT_GT(facts.lag_ns, 0u);
  EXPECT_EQ(facts.lag_max_ns, facts.lag_ns);
}

}  // namespace
}  // namespace elider::log
