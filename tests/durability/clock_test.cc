// The time of day jumps by years while commits are written. The log must not depend on it. The
// program's own clock_gettime makes it jump. Sanitizers replace that function, so the test is left
// out there.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/support/database_test.h"

namespace {
std::atomic<int64_t> jump_s{0};
}

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const int result = static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) time->tv_sec += jump_s.load(std::memory_order_relaxed);
  return result;
}

namespace elider::test {
namespace {

TEST(ClockTest, JumpsOfTheTimeOfDayChangeNothing) {
  std::string folder = (std::filesystem::temp_directory_path() / "elider_clock_XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  Options options;
  options.data_folders = {folder + "/db"};
  options.flush_interval_us = 500;
  const auto before = std::chrono::system_clock::now();
  jump_s = 1000;
  ASSERT_GE(std::chrono::system_clock::now() - before, std::chrono::seconds(1000)) << "the clock of this program does not jump";
  constexpr int64_t kYear = 365 * 86400;
  constexpr uint64_t kCommits = 200;
  {
    auto database = Database::open(options);
    ASSERT_OK(database);
    auto table = database->create_table(account_schema(KeyIndex::kHashed));
    ASSERT_OK(table);
    for (uint64_t i = 0; i < kCommits; ++i) {
      jump_s = (i % 2 == 0 ? 10 : -10) * kYear;
      RunPolicy policy;
      policy.durability = i % 4 == 0 ? Durability::kGroup : Durability::kAsync;
      ASSERT_OK(database->run([&](Transaction& txn) { return txn.insert(*table, i, Account{}); }, policy));
    }
    ASSERT_OK(database->wait_durable());
    EXPECT_LT(database->statistics().durable_lag_max_us, 60'000'000u);
  }
  auto database = Database::open(options);
  ASSERT_OK(database);
  EXPECT_EQ(database->recovery().rows, kCommits);
  EXPECT_LT(database->recovery().duration_us, 60'000'000u);
  jump_s = 0;
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace elider::test

#endif
