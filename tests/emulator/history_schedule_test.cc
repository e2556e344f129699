// Histories of the elided engine under many seeded schedules: each workload of `elider bench
// history` on each key index, one short run per seed, checked by check-history. The emulated
// processor varies with the seed: spurious aborts and a cache of one line make sections take their
// locks while others run as regions.
//
// ELIDER_SCHEDULES: the number of seeds per workload and index (default 40; 1000 take an hour).
// ELIDER_FIRST_SCHEDULE: the first seed (default 1). A failure names its seed. To repeat it:
//   ELIDER_SCHEDULES=1 ELIDER_FIRST_SCHEDULE=17 build/emulator/emulator_test
//       --gtest_filter='*HistoryScheduleTest*/scan_hash'
//
// Each run is a child process. It begins with the same memory, whichever seeds came before. If the
// emulator ends a run (a deadlock, a region without an end), this is one failure, and the test
// continues.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "tools/check_history/check_history.h"
#include "tools/check_history/load.h"
#include "bench/history/history_run.h"
#include "lab/emulator/schedule.h"
#include "tests/emulator/support.h"
#include "tests/support/temporary_folder.h"

namespace {
// If not 0, the reading of this program's clocks, which increases by a microsecond at each call. A
// run's history contains times. Without this, only they would not be determined by the seed.
// Atomic, because the schedule may switch threads between two accesses, and a clock must not go
// back.
std::atomic<uint64_t> clock_ns{0};
}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (clock_ns == 0) return static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  const uint64_t now = clock_ns.fetch_add(1000) + 1000;
  *time = {static_cast<time_t>(now / 1'000'000'000), static_cast<long>(now % 1'000'000'000)};
  return 0;
}

namespace elider::test {
namespace {

using emulator_test::WithOptions;

struct Processor {
  const char* name;
  double spurious_abort_rate;
  bool one_line;
};
constexpr Processor kProcessors[] = {{"a cache of one line", 0, true},
                                     {"no aborts but those of the program", 0, false},
                                     {"spurious aborts of 10%", 0.1, false},
                                     {"spurious aborts of 50%", 0.5, false}};

uint64_t number_of_environment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// What the process of a run leaves behind.
struct Outcome {
  uint64_t committed = 0, failed = 0;  // transactions
  uint64_t regions = 0, aborts = 0;
  emulator::Schedule schedule;
  void add(const Outcome& other) {
    committed += other.committed;
    failed += other.failed;
    regions += other.regions;
    aborts += other.aborts;
    schedule.accesses += other.schedule.accesses;
  }
};

// Memory that a process shares with its children.
class SharedOutcome {
 public:
  SharedOutcome() : outcome_(new (::mmap(nullptr, sizeof(Outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Outcome) {}
  ~SharedOutcome() { ::munmap(outcome_, sizeof(Outcome)); }
  SharedOutcome(const SharedOutcome&) = delete;
  SharedOutcome& operator=(const SharedOutcome&) = delete;
  Outcome* operator->() { return outcome_; }
  Outcome& operator*() { return *outcome_; }

 private:
  Outcome* outcome_;
};

struct Story {
  const char* workload;
  KeyIndex index;
  Protocol protocol = Protocol::kOcc;
  std::string name() const {
    std::string name = std::string(workload) + "_" + std::string(elider::name_of(index));
    for (char& letter : name)
      if (letter == '-') letter = '_';
    return name;
  }
};
void PrintTo(const Story& story, std::ostream* out) { *out << story.name(); }

class HistoryScheduleTest : public testing::TestWithParam<Story> {
 protected:
  static const Processor& processor(uint64_t seed) { return kProcessors[seed % std::size(kProcessors)]; }

  bench::HistoryOptions options(uint64_t seed) const {
    bench::HistoryOptions options;
    options.workload = GetParam().workload;
    options.index = GetParam().index;
    options.sync = SyncPolicy::kElided;
    options.htm = HtmBackend::kEmulated;
    options.protocol = GetParam().protocol;
    options.threads = 3;
    options.keys = 3;
    options.transactions = 16;
    options.seed = seed;
    options.read_only_percent = 15;
    if (options.workload == "scan") options.scan_percent = 40;
    if (options.workload == "bank") options.scan_percent = 30;
    if (options.protocol == Protocol::kChopped) options.yield_percent = 0, options.transactions = 40;  // regions cannot yield
    if (options.workload == "procedures") options.declarations = 1, options.transactions = 20;
    options.out = folder_.path() / "elle.jsonl";
    options.history_file = folder_.path() / "native.jsonl";
    return options;
  }

  // Returns what is wrong with the run, or an empty text.
  std::string run(uint64_t seed, Outcome& outcome) const {
    const WithOptions with([&](emulator::Options& chosen) {
      chosen.spurious_abort_rate = processor(seed).spurious_abort_rate;
      if (processor(seed).one_line) chosen.sets = chosen.ways = 1;
    });
    const bench::HistoryOptions asked = options(seed);
    bench::HistorySummary summary;
    Status status;
    emulator::reset_counters();
    clock_ns = 1'000'000'000;
    outcome.schedule = emulator::run_schedule(seed, {[&] {
                                                auto run = bench::run_history(asked);
                                                if (run.ok()) summary = *run;
                                                else status = run.status();
                                              }});
    const emulator::Counters counters = emulator::counters();
    outcome.committed = summary.committed;
    outcome.failed = summary.failed;
    outcome.regions = counters.committed;
    outcome.aborts = counters.begun - counters.committed;
    if (!status.ok()) return std::string(status.message());
    if (summary.unknown != 0) return "an unexpected status: " + summary.first_unknown;
    if (summary.complaints != 0) return "a broken invariant: " + summary.first_complaint;
    const auto history = check::load_history(asked.history_file);
    if (!history.ok()) return std::string(history.status().message());
    const check::Verdict verdict = check::check_history(*history);
    if (verdict.strictly_serializable()) return "";
    std::ostringstream words;
    check::print(words, *history, verdict);
    return words.str();
  }

  // Runs it in a separate process. Returns true if nothing is wrong.
  bool run_apart(uint64_t seed, Outcome* sum) {
    SharedOutcome outcome;
    const pid_t child = ::fork();
    if (child == 0) {
      const std::string fault = run(seed, *outcome);
      if (!fault.empty()) std::fprintf(stderr, "%s\n", fault.c_str());
      std::_Exit(fault.empty() ? 0 : 1);
    }
    int ended = -1;
    if (child < 0 || ::waitpid(child, &ended, 0) != child) return false;
    sum->add(*outcome);
    sum->schedule.trace = outcome->schedule.trace;
    return WIFEXITED(ended) && WEXITSTATUS(ended) == 0;
  }

  const TemporaryFolder folder_{"elider_schedule"};
};

TEST_P(HistoryScheduleTest, histories_are_strictly_serializable) {
  const uint64_t first = number_of_environment("ELIDER_FIRST_SCHEDULE", 1), count = emulator_test::schedules(40);
  Outcome sum;
  for (uint64_t seed = first; seed < first + count; ++seed)
    ASSERT_TRUE(run_apart(seed, &sum)) << "on a processor with " << processor(seed).name
                                       << "; again with ELIDER_SCHEDULES=1 ELIDER_FIRST_SCHEDULE=" << seed << "\nseed " << seed;
  std::cout << count << " seeds from " << first << ": " << sum.committed << " transactions committed, " << sum.failed << " failed; "
            << sum.regions << " regions, " << sum.aborts << " aborted; " << sum.schedule.accesses << " decisions of the scheduler\n";
  EXPECT_GT(sum.committed, 8 * count);
  const uint64_t regions_of_a_seed = std::string_view(GetParam().workload) == "procedures" ? 1
                                     : GetParam().protocol == Protocol::kChopped           ? 4
                                                                                           : 100;
  EXPECT_GT(sum.regions, regions_of_a_seed * count);  // a region is a call of a chopped procedure
  EXPECT_GT(sum.aborts, count);
}

TEST_P(HistoryScheduleTest, a_seed_replays) {
  Outcome once, again, other;
  ASSERT_TRUE(run_apart(2, &once));
  ASSERT_TRUE(run_apart(2, &again));
  ASSERT_TRUE(run_apart(6, &other));
  EXPECT_EQ(once.schedule.trace, again.schedule.trace);
  EXPECT_EQ(once.schedule.accesses, again.schedule.accesses);
  EXPECT_NE(once.schedule.trace, other.schedule.trace);
}

std::vector<Story> stories() {
  std::vector<Story> all;
  for (const char* workload : {"list-append", "rw-register", "bank", "scan"})
    for (KeyIndex index : kKeyIndexes) all.push_back({workload, index});
  for (const char* workload : {"posts", "procedures"})
    for (KeyIndex index : {KeyIndex::kHashed, KeyIndex::kOrdered}) all.push_back({workload, index, Protocol::kChopped});
  return all;
}

INSTANTIATE_TEST_SUITE_P(On, HistoryScheduleTest, testing::ValuesIn(stories()), [](const auto& info) { return info.param.name(); });

}  // namespace
}  // namespace elider::test
