// The papers' studies of hardware transactions (regions) without a database: DBX, figure 1 (section
// 2.2); HyPer-HTM, figures 5 and 6 (section 2.2); DBX-TC, figure 1b (section 2.1). Threads use
// different cache lines, so their regions do not conflict.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "bench/common/processors.h"
#include "bench/common/random.h"
#include "bench/common/ticks.h"
#include "lab/htm/studies.h"
#include "lab/studies/try_region.h"

namespace elider::bench::htm {

namespace {

constexpr size_t kLineBytes = 64, kLineWords = kLineBytes / sizeof(uint64_t);
constexpr size_t kLinesOfKib = 1024 / kLineBytes;
constexpr double kCertain = 0.9;  // an amount is feasible if at most this share of the regions aborts

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};
// Cache lines in pages that do not contain other data. The pages have been written, so accesses do
// not fault.
using Lines = std::unique_ptr<uint64_t[], FreeMemory>;
Lines make_lines(size_t count) {
  constexpr size_t kAlignment = size_t{2} << 20;
  const size_t bytes = (count * kLineBytes + kAlignment - 1) / kAlignment * kAlignment;
  void* const memory = std::aligned_alloc(kAlignment, bytes);
  std::memset(memory, 0, bytes);
  return Lines(static_cast<uint64_t*>(memory));
}

struct Tally {
  uint64_t regions = 0, aborted = 0;
  std::array<uint64_t, kRegionCauseCount> causes{};
  double percent() const { return regions == 0 ? 0 : 100 * static_cast<double>(aborted) / static_cast<double>(regions); }
  Json to_json() const {
    Json by_cause = Json::object();
    for (size_t cause = 0; cause < kRegionCauseCount; ++cause) by_cause[std::string(region_cause_name(cause))] = causes[cause];
    return {{"regions", regions}, {"aborts", by_cause}};
  }
};

// The work of one thread. For each region, prepare() runs before the region, and body() inside it.
class Work {
 public:
  virtual ~Work() = default;
  virtual void prepare(Random&) {}
  virtual void body() = 0;
};

// Runs `rounds` regions on each of `threads` threads, which start together. make() is called on
// each of these threads, and creates the thread's Work. If there are enough processors, each thread
// is bound to a separate processor. If `side_by_side` is true, these processors share cores if
// possible, otherwise they are on different cores.
template <class Make>
Tally run_regions(const StudyOptions& options, uint32_t threads, uint32_t rounds, Make make, bool side_by_side = false) {
  const std::vector<uint32_t> processors = side_by_side ? processors_side_by_side() : processors_core_by_core();
  std::vector<Tally> tallies(threads);
  std::atomic<uint32_t> ready{0};
  std::vector<std::thread> running;
  for (uint32_t t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      if (!processors.empty()) bind_thread(processors[t % processors.size()]);
      Random random(options.seed, t);
      const std::unique_ptr<Work> work = make();
      Tally mine;
      ready.fetch_add(1);
      while (ready.load() < threads) std::this_thread::yield();
      for (uint32_t round = 0; round < rounds; ++round) {
        work->prepare(random);
        const uint32_t status = try_region(options.htm, [&work] { work->body(); });
        ++mine.regions;
        if (status == kRegionCommitted) continue;
        ++mine.aborted;
        ++mine.causes[region_cause_of(status)];
      }
      tallies[t] = mine;
    });
  for (std::thread& thread : running) thread.join();
  Tally sum;
  for (const Tally& tally : tallies) {
    sum.regions += tally.regions;
    sum.aborted += tally.aborted;
    for (size_t cause = 0; cause < kRegionCauseCount; ++cause) sum.causes[cause] += tally.causes[cause];
  }
  return sum;
}

// Reads some cache lines in order, and writes other cache lines in order.
class InOrder : public Work {
 public:
  InOrder(size_t reads, size_t writes, bool reads_first)
      : lines_(make_lines(reads + writes)), reads_(reads), writes_(writes), reads_first_(reads_first) {}
  void body() override {
    if (reads_first_) read();
    volatile uint64_t* const word = lines_.get();
    for (size_t i = 0; i < writes_; ++i) word[i * kLineWords] = i;
    if (!reads_first_) read();
  }

 private:
  void read() {
    const volatile uint64_t* const word = lines_.get() + writes_ * kLineWords;
    for (size_t i = 0; i < reads_; ++i) static_cast<void>(word[i * kLineWords]);
  }
  const Lines lines_;
  const size_t reads_, writes_;
  const bool reads_first_;
};

// Writes random cache lines of a 4 MiB array.
class RandomWrites : public Work {
 public:
  explicit RandomWrites(uint32_t count) : lines_(make_lines(kLines)), picks_(count) {}
  void prepare(Random& random) override {
    for (uint32_t& pick : picks_) pick = static_cast<uint32_t>(random.below(kLines));
  }
  void body() override {
    volatile uint64_t* const word = lines_.get();
    for (const uint32_t pick : picks_) word[pick * kLineWords] = pick;
  }

 private:
  static constexpr size_t kLines = 65536;
  const Lines lines_;
  std::vector<uint32_t> picks_;
};

// Follows a random chain through the elements of a 4 MiB array, and writes each element that it
// reaches. Each element contains the index of the next one.
class Chain : public Work {
 public:
  explicit Chain(uint32_t count) : array_(make_lines(kElements * sizeof(uint32_t) / kLineBytes)), count_(count) {
    std::vector<uint32_t> order(kElements);
    std::iota(order.begin(), order.end(), 0u);
    Random random(count);
    for (size_t i = kElements - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
    for (size_t i = 0; i < kElements; ++i) elements()[order[i]] = order[(i + 1) % kElements];
  }
  void prepare(Random& random) override { at_ = static_cast<uint32_t>(random.below(kElements)); }
  void body() override {
    volatile uint32_t* const element = elements();
    uint32_t at = at_;
    for (uint32_t i = 0; i < count_; ++i) {
      const uint32_t next = element[at];
      element[at] = next;
      at = next;
    }
  }

 private:
  static constexpr size_t kElements = size_t{1} << 20;
  uint32_t* elements() { return reinterpret_cast<uint32_t*>(array_.get()); }
  const Lines array_;
  const uint32_t count_;
  uint32_t at_ = 0;
};

// Runs a loop with the given number of iterations.
class Spinning : public Work {
 public:
  // If `reads` is true, each iteration reads the same cache line, because the emulator measures
  // time in accesses. Otherwise the loop uses only registers.
  Spinning(uint64_t turns, bool reads) : line_(make_lines(1)), turns_(turns), reads_(reads) {}
  void body() override {
    const uint64_t turns = turns_;
    if (reads_) {
      const volatile uint64_t* const word = line_.get();
      for (uint64_t i = 0; i < turns; ++i) static_cast<void>(*word);
    } else {
      for (uint64_t i = 0; i < turns; ++i) asm volatile("" : "+r"(i));
    }
  }

 private:
  const Lines line_;
  const uint64_t turns_;
  const bool reads_;
};

// Configures the emulated processor for the lifetime of this object. Does nothing with other
// backends.
class WithEmulator {
 public:
  WithEmulator(const StudyOptions& options, const char* text) : emulated_(options.emulated()) {
    if (emulated_) static_cast<void>(configure_emulator(text));
  }
  ~WithEmulator() {
    if (emulated_) static_cast<void>(configure_emulator(""));
  }
  WithEmulator(const WithEmulator&) = delete;
  WithEmulator& operator=(const WithEmulator&) = delete;

 private:
  const bool emulated_;
};

uint32_t rounds_of(const StudyOptions& options, uint32_t full) { return options.quick ? std::max(full / 10, 10u) : full; }

// Returns `all`, or in quick mode only every second point of `all` and the last one.
std::vector<uint32_t> thinned(const StudyOptions& options, std::vector<uint32_t> all) {
  if (!options.quick) return all;
  std::vector<uint32_t> kept;
  for (size_t i = 0; i < all.size(); ++i)
    if (i % 2 == 0 || i + 1 == all.size()) kept.push_back(all[i]);
  return kept;
}

void add_working_set(const StudyOptions& options, uint32_t threads, Figure& figure, bool side_by_side = false) {
  Series reads{"reads", {}}, writes{"writes", {}};
  for (const uint32_t kib : thinned(options, {32, 64, 128, 256, 512, 1024, 1536, 2048, 2560, 3072, 3584, 4096, 4352})) {
    const Tally tally = run_regions(options, threads, rounds_of(options, 200),
                                    [kib] { return std::make_unique<InOrder>(kib * kLinesOfKib, 0, true); }, side_by_side);
    reads.points.push_back({static_cast<double>(kib), tally.percent(), tally.to_json()});
  }
  for (const uint32_t kib : thinned(options, {1, 2, 4, 8, 12, 16, 20, 22, 24, 26, 28, 30, 31, 32, 34})) {
    const Tally tally = run_regions(options, threads, rounds_of(options, 1000),
                                    [kib] { return std::make_unique<InOrder>(0, kib * kLinesOfKib, true); }, side_by_side);
    writes.points.push_back({static_cast<double>(kib), tally.percent(), tally.to_json()});
  }
  figure.series = {std::move(reads), std::move(writes)};
}

// Finds the maximum number of lines that a region can read in order if it also writes `writes`
// lines.
size_t feasible_reads(const StudyOptions& options, size_t writes, bool reads_first) {
  size_t feasible = 0, step = 65536;
  for (; step >= 64; step /= 2) {
    const size_t tried = feasible + step;
    const Tally tally = run_regions(options, 1, rounds_of(options, 30),
                                    [&] { return std::make_unique<InOrder>(tried, writes, reads_first); });
    if (tally.percent() <= 100 * kCertain) feasible = tried;
  }
  return feasible;
}

struct Duration {
  std::string axis;
  Series series;
};
// Measures regions that only run a loop for a given duration. On a processor, the duration is a
// number of ticks of the time stamp counter, calibrated outside a region. On the emulator, it is a
// number of accesses, and a timer interrupts after every 100,000 of them.
Duration durations(const StudyOptions& options, const std::vector<uint32_t>& thousandths_of_timer, const std::vector<uint64_t>& cycles) {
  constexpr uint64_t kTimerAccesses = 100'000;
  const WithEmulator timer(options, "accesses_per_interrupt=100000");
  Duration result{options.emulated() ? "accesses" : "cycles", {options.emulated() ? "one line read over and over" : "registers", {}}};
  const auto spinning = [&options](uint64_t turns) {
    return [turns, reads = options.emulated()] { return std::make_unique<Spinning>(turns, reads); };
  };
  if (options.emulated()) {
    for (const uint32_t share : thousandths_of_timer) {
      const uint64_t turns = kTimerAccesses * share / 1000;
      const Tally tally = run_regions(options, 1, rounds_of(options, 400), spinning(turns));
      result.series.points.push_back({static_cast<double>(turns), tally.percent(), tally.to_json()});
    }
    return result;
  }
  constexpr uint64_t kTrialTurns = 10'000'000;
  Spinning trial(kTrialTurns, false);
  const uint64_t begin = ticks();
  trial.body();
  const double cycles_a_turn = static_cast<double>(ticks() - begin) / kTrialTurns;
  for (const uint64_t wanted : cycles) {
    const auto turns = static_cast<uint64_t>(static_cast<double>(wanted) / cycles_a_turn);
    const Tally tally = run_regions(options, 1, rounds_of(options, 400), spinning(turns));
    result.series.points.push_back({static_cast<double>(wanted), tally.percent(), tally.to_json()});
  }
  return result;
}

template <class MakeWork>
Series sweep(const StudyOptions& options, std::string name, const char* emulator, const std::vector<uint32_t>& counts, double unit,
             MakeWork make) {
  const WithEmulator processor(options, emulator);
  Series series{std::move(name), {}};
  for (const uint32_t count : counts) {
    const Tally tally = run_regions(options, 1, rounds_of(options, 1000), [&] { return make(count); });
    series.points.push_back({count * unit, tally.percent(), tally.to_json()});
  }
  return series;
}

}  // namespace

Result<Figure> dbx_1a(const StudyOptions& options) {
  Figure figure{"dbx-1a",
                "abort rate by size of the working set, accessed in order",
                "KiB",
                "aborted regions in %",
                "4 threads on 4 cores: regions read up to 4 MB (47% abort) and write up to 31 KB (90% abort)",
                "",
                {}};
  const uint32_t threads = std::clamp(std::min(options.threads, core_count()), 1u, 4u);
  figure.here = fmt::format("{} threads on {} cores", threads, threads);
  add_working_set(options, threads, figure);
  return figure;
}

Result<Figure> dbx_1b(const StudyOptions& options) {
  Figure figure{
      "dbx-1b",
      "the same with two threads per core",
      "KiB",
      "aborted regions in %",
      "8 threads on 4 cores: regions read up to 2 MB (58% abort) and write up to 22 KB (99% abort)",
      options.emulated() ? "half as many ways, and half as large a read set"
                         : fmt::format("{} threads on {} cores", options.threads, core_count()),
      {}};
  const WithEmulator shared(options, "hyperthreading=1");
  add_working_set(options, options.threads, figure, true);
  return figure;
}

Result<Figure> dbx_1c(const StudyOptions& options) {
  Figure figure{"dbx-1c",
                "amount of data that a region can read, by amount written",
                "KiB written",
                "KiB read",
                "with reads first, a region can read 3 MB and write 28 KB; with writes first, far less",
                "one thread; the largest amount with which at least one region in ten commits",
                {}};
  for (const bool reads_first : {true, false}) {
    Series series{reads_first ? "reads before writes" : "writes before reads", {}};
    for (const uint32_t kib : thinned(options, {2, 4, 8, 12, 16, 20, 24, 28})) {
      const size_t lines = feasible_reads(options, kib * kLinesOfKib, reads_first);
      series.points.push_back({static_cast<double>(kib), static_cast<double>(lines) / kLinesOfKib, Json::object()});
    }
    figure.series.push_back(std::move(series));
  }
  return figure;
}

Result<Figure> dbx_1d(const StudyOptions& options) {
  Duration duration =
      durations(options, {10, 50, 100, 200, 400, 500, 600, 800, 900, 1000, 1100},
                {100'000, 500'000, 1'000'000, 2'000'000, 4'000'000, 6'000'000, 8'000'000, 10'000'000, 12'000'000, 14'000'000});
  return Figure{"dbx-1d",
                "abort rate by duration",
                duration.axis,
                "aborted regions in %",
                "rises with the duration, and reaches 100% at 4 ms, the interval of the timer interrupt",
                options.emulated() ? "one thread; a timer interrupts after every 100000 accesses" : "one thread",
                {std::move(duration.series)}};
}

Result<Figure> hyper_6(const StudyOptions& options) {
  Duration duration = durations(options, {1, 3, 10, 30, 100, 300, 1000},
                                {1'000, 3'000, 10'000, 30'000, 100'000, 300'000, 1'000'000, 3'000'000, 10'000'000});
  return Figure{
      "hyper-6",
      "abort rate by duration, in powers of ten",
      duration.axis,
      "aborted regions in %",
      "most regions that take more than a million cycles (0.3 ms) abort, even if they only use registers",
      options.emulated() ? "a timer interrupts after every 100000 accesses; regions read one line, because only accesses count" : "",
      {std::move(duration.series)}};
}

Result<Figure> hyper_5(const StudyOptions& options) {
  const std::vector<uint32_t> counts = thinned(options, {16, 32, 64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512});
  const auto make = [](uint32_t count) { return std::make_unique<RandomWrites>(count); };
  Figure figure{"hyper-5", "abort rate by number of random lines written", "lines", "aborted regions in %",
                "rises quickly beyond 128 lines, which are a quarter of the first-level cache", "", {}};
  figure.series.push_back(sweep(options, options.emulated() ? "64 sets of 8 ways" : "this processor", "", counts, 1, make));
  if (options.emulated()) {
    figure.series.push_back(sweep(options, "hyperthreading: 4 ways", "hyperthreading=1", counts, 1, make));
    figure.series.push_back(sweep(options, "64 sets of 12 ways", "ways=12", counts, 1, make));
  }
  return figure;
}

Result<Figure> dbx_tc_1b(const StudyOptions& options) {
  constexpr double kElementBytes = 4;
  const std::vector<uint32_t> counts = thinned(options, {16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256});
  const auto make = [](uint32_t count) { return std::make_unique<Chain>(count); };
  Figure figure{"dbx-tc-1b", "abort rate by length of a chain of random elements written", "bytes", "aborted regions in %",
                "more than 90% at 448 bytes, which are 112 random elements of a 4 MB array", "", {}};
  figure.series.push_back(sweep(options, options.emulated() ? "64 sets of 8 ways" : "this processor", "", counts, kElementBytes, make));
  if (options.emulated()) {
    figure.series.push_back(sweep(options, "hyperthreading: 4 ways", "hyperthreading=1", counts, kElementBytes, make));
    figure.here = "the paper does not say whether threads shared cores";
  }
  return figure;
}

}  // namespace elider::bench::htm
