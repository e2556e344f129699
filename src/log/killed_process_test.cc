// Story: a process is killed, or its log fails, between the write of a frame and its sync. The page
// cache keeps the frame. The next process opens the database, accepts the frame, and acknowledges a
// commit of its own. Then the power fails. Whichever unsynced sectors are on the disk, the
// acknowledged commits of both processes must be found.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "base/test_points.h"
#include "tests/support/crash_disk.h"
#include "tests/support/log_test_support.h"

namespace elider::log {
namespace {

using Call = MemoryFiles::Call;

struct Killed {
  CrashDisk disk;                       // its certain contents, and those in the page cache
  std::multimap<uint64_t, std::string> acknowledged;
  uint64_t last_number = 0;             // of the frame that was not synced
};

bool is_of_log(const Call& call) { return call.path.find("/log-") != std::string::npos; }

// Commits and waits, then commits once more. That last frame is written, and its sync fails or does
// not begin.
Killed kill_before_sync(uint32_t streams, bool sync_fails) {
  Killed killed;
  MemoryFiles files;
  {
    Running running;
    LogOptions options;
    options.streams = streams;
    options.workers = streams;
    EXPECT_TRUE(running.start(files, options).ok());
    uint64_t number = 0;
    for (uint32_t worker = 0; worker < streams; ++worker) {
      EXPECT_TRUE(running.commit(worker, "acknowledged", &number).ok());
      EXPECT_TRUE(running.log->wait_durable(number).ok());
      killed.acknowledged.emplace(number, "acknowledged");
    }
    files.refuse_with([](const Call& call) {
      return call.kind == Call::Kind::kSync && is_of_log(call) ? file_error("sync", call.path, EIO) : Status();
    });
    for (uint32_t worker = 0; worker < streams; ++worker) EXPECT_TRUE(running.commit(worker, "under way", &killed.last_number).ok());
    EXPECT_EQ(running.log->wait_durable(killed.last_number).code(), Code::kIoError);
  }
  for (const Call& call : files.calls())
    if (sync_fails || call.kind != Call::Kind::kSyncFailed) killed.disk.apply(call);
  return killed;
}

// Opens the remaining files, commits and waits, and then loses all contents that are not certain.
// Returns an empty text, or a description of what is wrong.
std::string power_failure_after(Killed killed, uint64_t seed) {
  MemoryFiles files(killed.disk.everything());
  {
    Running running;
    if (Status status = running.start(files, {}); !status.ok()) return "opened: " + status.message();
    uint64_t number = 0;
    if (Status status = running.commit(0, "after", &number); !status.ok()) return status.message();
    if (Status status = running.log->wait_durable(number); !status.ok()) return status.message();
    if (number <= killed.last_number) return "a number is used twice";
    killed.acknowledged.emplace(number, "after");
    // Later steps such as closing must not be the reason why the frame is durable.
    for (const Call& call : files.calls()) killed.disk.apply(call);
  }
  Random random(seed);
  for (uint32_t chance = 0; chance <= 100; chance += 20) {
    MemoryFiles left(killed.disk.image([&] { return random.below(100) < chance; }));
    const Recovered recovered = recover(left);
    if (!recovered.status.ok()) return "after the power failed: " + recovered.status.message();
    for (const auto& [number, text] : killed.acknowledged) {
      const auto [begin, end] = recovered.state.equal_range(number);
      if (std::none_of(begin, end, [&text = text](const auto& record) { return record.second == text; })) return "'" + text + "' is lost";
    }
  }
  return "";
}

std::string all_kinds() {
  for (const uint32_t streams : {1u, 2u, 3u})
    for (const bool sync_fails : {false, true})
      if (std::string wrong = power_failure_after(kill_before_sync(streams, sync_fails), streams); !wrong.empty())
        return std::to_string(streams) + " streams, the sync " + (sync_fails ? "failed" : "never began") + ": " + wrong;
  return "";
}

TEST(KilledProcess, WhatItsSuccessorAcceptsIsOnTheDiskBeforeAnythingReliesOnIt) { EXPECT_EQ(all_kinds(), ""); }

TEST(KilledProcess, OpeningIsRefusedWhereWhatItAcceptsCannotBeSyncedAndWorksAfterwards) {
  const Killed killed = kill_before_sync(1, true);
  MemoryFiles files(killed.disk.everything());
  files.refuse_with([](const Call& call) {
    return call.kind == Call::Kind::kSync && is_of_log(call) ? file_error("sync", call.path, EIO) : Status();
  });
  {
    Running running;
    const Status status = running.start(files, {});
    EXPECT_EQ(status.code(), Code::kIoError);
    EXPECT_NE(status.message().find("log-00000001-00-00000000"), std::string::npos) << status.message();
  }
  files.refuse_with(nullptr);
  Killed again = killed;
  for (const Call& call : files.calls()) again.disk.apply(call);
  EXPECT_EQ(power_failure_after(std::move(again), 1), "");
}

class KilledProcessMutant : public testing::TestWithParam<Mutant> {
 protected:
  void SetUp() override {
    if (!TestPoints::enabled()) GTEST_SKIP() << "built without mutants";
  }
  void TearDown() override { set_mutant(Mutant::kNone); }
};

TEST_P(KilledProcessMutant, IsCaught) {
  set_mutant(GetParam());
  EXPECT_NE(all_kinds(), "");
}

INSTANTIATE_TEST_SUITE_P(Durability, KilledProcessMutant, testing::Values(Mutant::kRelyOnUnsynced, Mutant::kSyncWithoutRewrite),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace elider::log
