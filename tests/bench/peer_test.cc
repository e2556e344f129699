// Tests the other system of `bench durability`'s part `peer`, which is a shell command. Its output
// is read. A failure is reported with the command and the end of its output. Nothing of the command
// is left behind.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "bench/common/child_command.h"
#include "bench/durability/durability.h"
#include "tests/support/temporary_folder.h"

namespace elider::bench {
namespace {

Status run(const std::string& command, std::string* output, const CommandOptions& options = {}) {
  return run_command(command, options, output);
}

TEST(ChildCommand, what_it_writes_is_read_as_it_came) {
  std::string output;
  EXPECT_TRUE(run("echo one; echo two >&2; printf three", &output).ok());
  EXPECT_EQ(output, "one\ntwo\nthree");
  EXPECT_TRUE(run("cat", &output).ok()) << "its standard input is empty";
  EXPECT_EQ(output, "");
  EXPECT_TRUE(run("echo $A_NAME", &output, {10, "A_NAME=a value"}).ok());
  EXPECT_EQ(output, "a value\n");
}

TEST(ChildCommand, of_much_output_the_last_is_kept) {
  std::string output;
  ASSERT_TRUE(run("head -c 50000000 /dev/zero | tr '\\0' x; echo; echo the end", &output).ok());
  EXPECT_LT(output.size(), 10u << 20);
  EXPECT_TRUE(output.ends_with("x\nthe end\n"));
}

TEST(ChildCommand, a_failure_is_told_with_the_last_words) {
  std::string output;
  Status status = run("echo all was well; echo no space left; exit 3", &output);
  EXPECT_EQ(status.code(), Code::kIoError);
  for (const char* word : {"exit code 3", "no space left", "exit 3'"})
    EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
  status = run("kill -9 $$", &output);
  EXPECT_NE(status.message().find("signal 9"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("it did not write any output"), std::string::npos) << status.message();
  status = run("/no/such/program", &output);
  EXPECT_NE(status.message().find("exit code 127"), std::string::npos) << status.message();
}

// Returns whether the process whose number is in the file is alive. A zombie, for which no process
// has waited yet, is not alive.
bool lives(const std::string& file) {
  pid_t process = 0;
  std::ifstream(file) >> process;
  EXPECT_GT(process, 1);
  std::string state;
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  stat >> state >> state >> state;
  return stat.good() && state != "Z";
}

// Waits until the killed process is gone. A kill takes effect after some time.
bool goes(const std::string& file) {
  for (int i = 0; i < 60'000 && lives(file); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return !lives(file);
}

TEST(ChildCommand, what_does_not_end_is_ended_with_all_that_it_started) {
  const test::TemporaryFolder folder("elider_peer");
  const std::string started = folder.path() / "started";
  std::string output;
  const auto begin = std::chrono::steady_clock::now();
  const Status status = run("echo begun; sleep 3600 & echo $! >" + started + "; wait", &output, {2, ""});
  EXPECT_EQ(status.code(), Code::kDeadline);
  for (const char* word : {"within 2 s", "begun"}) EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(600));
  EXPECT_TRUE(goes(started));
}

TEST(ChildCommand, what_it_leaves_in_the_background_is_ended_and_not_waited_for) {
  const test::TemporaryFolder folder("elider_peer");
  const std::string started = folder.path() / "started";
  std::string output;
  EXPECT_TRUE(run("sleep 600 & echo $! >" + started + "; echo done", &output).ok());
  EXPECT_EQ(output, "done\n");
  EXPECT_TRUE(goes(started));
}

TEST(ChildCommand, an_interrupt_ends_it_first) {
  const test::TemporaryFolder folder("elider_peer");
  const std::string started = folder.path() / "started";
  EXPECT_EXIT(
      {
        std::string output;
        static_cast<void>(run("sleep 600 & echo $! >" + started + "; kill -TERM $PPID; wait", &output));
      },
      testing::KilledBySignal(SIGTERM), "");
  EXPECT_TRUE(goes(started));
}

TEST(PeerThroughput, is_the_number_that_the_pattern_finds_first) {
  const auto found = [](const std::string& output, const std::string& pattern = kPeerPattern) {
    const auto number = throughput_in(output, pattern);
    return number.ok() ? *number : -1;
  };
  EXPECT_EQ(found("agg_throughput: 123456 ops/sec\n"), 123456);
  EXPECT_EQ(found("runtime: 30 sec\nmemory delta rate: 3.5 MB/sec\nagg: 64838.8 ops/sec\nper core: 3 ops/sec\n"), 64838.8);
  EXPECT_EQ(found("done: 1.5e+06 txn/s"), 1.5e6);
  EXPECT_EQ(found("12 txns/s, 13 txns/s"), 12);
  EXPECT_EQ(found("throughput=77\n", "throughput=([0-9]+)"), 77);
  EXPECT_EQ(found("a 1\nb 2\n", "b [0-9]"), -1) << "without a group, the whole match is the number";
  EXPECT_EQ(found("a\n2\n", "[0-9]"), 2);
  EXPECT_EQ(found("persist: 5 ops/sec\nagg: 6 ops/sec\n", "agg: ([0-9]+)"), 6);
  EXPECT_EQ(found(std::string(1'000'000, '7') + "\n5 txn/s"), 5) << "a long line does not use up the stack";
}

TEST(PeerThroughput, that_is_missing_or_none_is_told) {
  for (const std::string output : {"", "all is well\n", "ops/sec\n"}) {
    const Status status = throughput_in(output, kPeerPattern).status();
    EXPECT_NE(status.message().find("output does not match --peer-pattern"), std::string::npos) << status.message();
  }
  for (const std::string word : {"0", "-5", "fast", "nan", "1e999"}) {
    const Status status = throughput_in("speed " + word, "speed (.*)").status();
    EXPECT_NE(status.message().find("'" + word + "'"), std::string::npos) << status.message();
  }
}

class DurabilityPart : public testing::Test {
 protected:
  void SetUp() override {
    options_.common.data.folders = {folder_.path()};
    options_.common.seconds = 0.2;
    options_.common.quiet = true;
    options_.small_warehouses = true;
    options_.peer_pattern = kPeerPattern;
    options_.repeat = 2;
  }
  const test::TemporaryFolder folder_{"elider_durability"};
  DurabilityOptions options_;
  DurabilityRows rows_;
};

TEST_F(DurabilityPart, peer_takes_turns_and_gives_the_ratio) {
  const std::string seen = folder_.path() / "seen";
  options_.peer_command = "ls -A $ELIDER_PEER_FOLDER >>" + seen + "; echo x >$ELIDER_PEER_FOLDER/log; echo agg_throughput: 1000 ops/sec";
  options_.peer_at_least = 2.5;
  const Status status = measure_peer(options_, &rows_);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(rows_.size(), 1u);
  const DurabilityRow& row = rows_.front();
  EXPECT_EQ(row.at_least, 2.5);
  EXPECT_EQ(row.figures["peer_txns_per_s"], (std::vector<double>{1000, 1000}));
  ASSERT_EQ(row.runs.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_GT(row.runs[i], 0);
    EXPECT_DOUBLE_EQ(row.runs[i], row.figures["elider_txns_per_s"][i].get<double>() / 1000);
    EXPECT_GT(row.figures["log"][i]["bytes"], 0) << "ours has a log";
  }
  EXPECT_EQ(std::filesystem::file_size(seen), 0u) << "its folder was empty each time";
  std::filesystem::remove(seen);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(DurabilityPart, peer_that_fails_is_named) {
  for (const auto& [command, word] : {std::pair{"exit 3", "exit code 3"}, std::pair{"true", "match --peer-pattern"}}) {
    options_.peer_command = command;
    const Status status = measure_peer(options_, &rows_);
    EXPECT_NE(status.message().find("--peer-command"), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
  }
  EXPECT_TRUE(rows_.empty());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(DurabilityPart, async_has_a_ratio_for_one_thread_and_for_two) {
  options_.repeat = 1;
  const Status status = measure_async(options_, &rows_);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(rows_.size(), 2u);
  for (DurabilityRow& row : rows_) {
    EXPECT_EQ(row.part, "async");
    ASSERT_EQ(row.runs.size(), 1u);
    const double without = row.figures["without_txns_per_s"][0], with = row.figures["with_txns_per_s"][0];
    EXPECT_GT(without, 0);
    EXPECT_DOUBLE_EQ(row.runs[0], with / without);
    EXPECT_GT(row.figures["log"][0]["records"], 0) << "the second of the pair has the log";
    EXPECT_EQ(row.figures["log"].size(), 1u);
    EXPECT_EQ(row.at_least, 0.80);
    row.runs = {0.79};
    EXPECT_FALSE(row.met(row.at_least));
    row.runs = {0.81};
    EXPECT_TRUE(row.met(row.at_least));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

}  // namespace
}  // namespace elider::bench
