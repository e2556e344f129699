// Runs a benchmark in a process of its own. The tests check how the process ends, what its caller
// learns, and that its files are removed in every case.
#include "bench/common/own_process.h"

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "bench/common/commands.h"
#include "tools/common/interrupt.h"
#include "bench/compare/peer.h"

namespace elider::bench {
namespace {

constexpr std::array kInterrupts{SIGINT, SIGTERM, SIGHUP};

// The name ends with DeathTest so that this suite runs first. A process that forks must not have
// threads, and other tests start RocksDB's threads.
class OwnProcessDeathTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    // If the tests run in the background, the signals may be ignored.
    for (size_t i = 0; i < kInterrupts.size(); ++i) before_[i] = std::signal(kInterrupts[i], SIG_DFL);
  }
  void TearDown() override {
    for (size_t i = 0; i < kInterrupts.size(); ++i) std::signal(kInterrupts[i], before_[i]);
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
    std::filesystem::remove_all(folder_);
  }

  // Like `bench compare`: makes a folder, and a process that writes to it before it runs body().
  int run(const std::function<int()>& body, OwnProcess::FirstInterrupt first = OwnProcess::FirstInterrupt::kEndsIt) {
    CompareOptions options;
    options.folder = folder_;
    OwnProcess process;
    const auto scratch = ScratchFolder::of_run(options);
    if (!scratch.ok()) return -1;
    return process.run([&] {
      std::ofstream((*scratch)->path() + "/file") << "something";
      return body();
    }, first);
  }

 private:
  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / ("elider_own_process_" + std::to_string(::getpid()));
  std::array<void (*)(int), kInterrupts.size()> before_{};
};

int wait_for_ever() {
  for (;;) ::pause();
}

TEST_F(OwnProcessDeathTest, its_exit_code_is_given) {
  EXPECT_EQ(run([] { return 0; }), 0);
  EXPECT_EQ(run([] { return 7; }), 7);
}

TEST_F(OwnProcessDeathTest, one_that_is_killed_has_failed) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run([] { return ::raise(SIGKILL); }), kExitFailed);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("signal 9"), std::string::npos);
}

TEST_F(OwnProcessDeathTest, an_interrupt_ends_both) {
  for (const int signal : kInterrupts)
    EXPECT_EXIT(run([signal] {
                  ::kill(::getppid(), signal);
                  return wait_for_ever();
                }),
                testing::KilledBySignal(signal), "");
}

TEST_F(OwnProcessDeathTest, the_first_interrupt_may_be_passed_on_and_the_second_ends_both) {
  const auto body = [](int signals, int code) {
    return [signals, code] {
      const InterruptWatch watch(true, InterruptWatch::Second::kIsNotedToo);
      for (int i = 0; i < signals; ++i) {
        ::kill(::getppid(), SIGINT);
        while (i == 0 && !interrupted()) ::usleep(1000);
      }
      return signals == 1 ? code : wait_for_ever();
    };
  };
  EXPECT_EQ(run(body(1, 7), OwnProcess::FirstInterrupt::kIsPassedOn), 7);
  EXPECT_EXIT(run(body(2, 7), OwnProcess::FirstInterrupt::kIsPassedOn), testing::KilledBySignal(SIGINT), "reporting the results up to now");
  EXPECT_EXIT(run(
                  [] {
                    ::kill(::getppid(), SIGTERM);
                    return wait_for_ever();
                  },
                  OwnProcess::FirstInterrupt::kIsPassedOn),
              testing::KilledBySignal(SIGTERM), "");
}

TEST_F(OwnProcessDeathTest, an_interrupt_of_the_process_alone_ends_both) {
  EXPECT_EXIT(run([] { return ::raise(SIGINT); }), testing::KilledBySignal(SIGINT), "");
}

TEST_F(OwnProcessDeathTest, an_ignored_interrupt_stays_ignored) {
  std::signal(SIGHUP, SIG_IGN);
  EXPECT_EQ(run([] {
              ::kill(::getppid(), SIGHUP);
              return 5;
            }),
            5);
}

}  // namespace
}  // namespace elider::bench
