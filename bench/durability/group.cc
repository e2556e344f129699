// Measures how long a commit with Durability::kGroup takes at half of the maximum load. Compares
// this latency with that of writing and syncing the bytes of an average group.
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <thread>

#include <fmt/format.h>

#include "bench/common/random.h"
#include "bench/common/ticks.h"
#include "bench/durability/durability.h"

namespace elider::bench {

namespace {

constexpr uint64_t kRows = 1000;
constexpr uint32_t kValueBytes = 100;

double quantile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

struct Latency {
  double p50_us = 0, p99_us = 0, per_s = 0, batch_bytes = 0, batch_records = 0;
  double p99_by_time_us = 0;  // only for syncs: the syncs that are longer than this make up 1% of the total time
};

// A request that arrives at a random time is more likely to arrive during a long call than during a
// short one. This quantile is therefore weighted by time: the calls that are longer than the result
// make up 1% of the total time.
double p99_by_time(std::vector<double>& us) {
  std::sort(us.begin(), us.end());
  const double all = std::accumulate(us.begin(), us.end(), 0.0);
  double passed = 0;
  for (const double call : us)
    if ((passed += call) >= 0.99 * all) return call;
  return 0;
}

Latency latency_of(std::vector<double>& us, double seconds) {
  return {quantile(us, 0.5), quantile(us, 0.99), static_cast<double>(us.size()) / seconds, 0, 0, 0};
}

// Repeatedly appends `bytes` bytes to a file and syncs it.
Result<Latency> time_syncs(const std::string& folder, size_t bytes, double seconds) {
  const std::string path = folder + "/sync";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return Status(Code::kIoError, fmt::format("cannot create '{}': {}", path, std::strerror(errno)));
  const std::vector<std::byte> block(bytes, std::byte{0x5a});
  std::vector<double> us;
  int failed = 0;
  const uint64_t begin = steady_ns();
  for (uint64_t now = begin, offset = 0; failed == 0 && static_cast<double>(now - begin) < seconds * 1e9; offset += bytes) {
    if (::pwrite(file, block.data(), bytes, static_cast<off_t>(offset)) != static_cast<ssize_t>(bytes) || ::fdatasync(file) != 0)
      failed = errno;
    const uint64_t after = steady_ns();
    us.push_back(static_cast<double>(after - now) / 1e3);
    now = after;
  }
  ::close(file);
  ::unlink(path.c_str());
  if (failed != 0) return Status(Code::kIoError, fmt::format("cannot write '{}': {}", path, std::strerror(failed)));
  Latency latency = latency_of(us, static_cast<double>(steady_ns() - begin) / 1e9);
  latency.p99_by_time_us = p99_by_time(us);
  return latency;
}

// Sessions that repeatedly write a row and wait until it is on disk.
class Sessions {
 public:
  Sessions(const DurabilityOptions& options, Database& db, TableRef table) : options_(options), db_(db), table_(table) {}

  // `per_s` is the rate at which transactions arrive, at random times, in all sessions together. If
  // it is 0, each session starts a transaction as soon as the previous one is durable. A latency is
  // the duration of a call. A transaction that arrives while its session is busy starts later, and
  // this delay is not part of its latency.
  Result<Latency> run(double per_s, double seconds, uint64_t seed) {
    const Statistics before = db_.statistics();
    std::vector<std::vector<double>> us(options_.sessions);
    std::vector<Status> ended(options_.sessions);
    const uint64_t begin = steady_ns();
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < options_.sessions; ++i)
      threads.emplace_back([&, i] { ended[i] = session(per_s / options_.sessions, begin, seconds, Random(seed, i), &us[i]); });
    for (std::thread& thread : threads) thread.join();
    const double took = static_cast<double>(steady_ns() - begin) / 1e9;
    std::vector<double> all;
    for (uint32_t i = 0; i < options_.sessions; ++i) {
      if (!ended[i].ok()) return ended[i];
      all.insert(all.end(), us[i].begin(), us[i].end());
    }
    Latency latency = latency_of(all, took);
    const LogUse use = LogUse::between(before, db_.statistics());
    if (use.frames != 0) {
      latency.batch_bytes = static_cast<double>(use.bytes) / static_cast<double>(use.frames);
      latency.batch_records = static_cast<double>(use.records) / static_cast<double>(use.frames);
    }
    return latency;
  }

 private:
  Status session(double per_s, uint64_t begin, double seconds, Random random, std::vector<double>* us) {
    ::prctl(PR_SET_TIMERSLACK, 1);  // otherwise a sleep is up to 50 us longer than requested
    RunPolicy policy;
    policy.durability = Durability::kGroup;
    std::vector<std::byte> row(kValueBytes);
    const auto end = begin + static_cast<uint64_t>(seconds * 1e9);
    double arrives = static_cast<double>(begin);
    for (;;) {
      if (per_s > 0) {
        arrives += -std::log(1 - random.uniform()) / per_s * 1e9;
        std::this_thread::sleep_until(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(static_cast<int64_t>(arrives))));
      }
      const uint64_t called = steady_ns();
      if (called >= end) return {};
      std::memset(row.data(), static_cast<int>(random.below(256)), row.size());
      const Key key = random.below(kRows);
      if (Status status = db_.run([&](Transaction& txn) { return txn.put(table_, key, row); }, policy); !status.ok()) return status;
      us->push_back(static_cast<double>(steady_ns() - called) / 1e3);
    }
  }

  const DurabilityOptions& options_;
  Database& db_;
  const TableRef table_;
};

Status measure(const DurabilityOptions& options, const std::string& folder, DurabilityRow* row) {
  CommonOptions common = options.common;
  common.data.folders = {folder + "/data"};
  common.data.durability = Durability::kGroup;
  auto session = Session::open(common);
  if (!session.ok()) return session.status();
  Schema schema;
  schema.name = "rows";
  schema.key_index = KeyIndex::kHashed;
  schema.row_bytes = kValueBytes;
  schema.columns.push_back({"value", ColumnType::kBytes, 0, kValueBytes, 0});
  auto table = session->db().create_table(schema);
  if (!table.ok()) return table.status();
  Sessions sessions(options, session->db(), *table);

  show_step(options, fmt::format("group commits of {} sessions at full load", options.sessions));
  const auto full = sessions.run(0, common.seconds / 2, common.seed);
  if (!full.ok()) return full.status();
  row->details.push_back(fmt::format("full load: {}/s from {} sessions, {:.1f} commits per group; p50 {:.0f} us, p99 {:.0f} us",
                                     short_number(full->per_s), options.sessions, full->batch_records, full->p50_us, full->p99_us));
  std::vector<double> syncs_p50, syncs_p99, syncs_by_time, half_p50, half_p99, batch, to_median, to_by_time;
  for (uint32_t round = 0; round < options.repeat; ++round) {
    show_step(options, fmt::format("group commits at half load, round {} of {}", round + 1, options.repeat));
    const auto half = sessions.run(full->per_s / 2, common.seconds / 2, common.seed + round + 1);
    if (!half.ok()) return half.status();
    const auto syncs = time_syncs(folder, static_cast<size_t>(half->batch_bytes) + 1, common.seconds / 2);
    if (!syncs.ok()) return syncs.status();
    syncs_p50.push_back(syncs->p50_us);
    syncs_p99.push_back(syncs->p99_us);
    syncs_by_time.push_back(syncs->p99_by_time_us);
    half_p50.push_back(half->p50_us);
    half_p99.push_back(half->p99_us);
    batch.push_back(half->batch_bytes);
    row->runs.push_back(half->p99_us / syncs->p99_us);
    to_median.push_back(half->p99_us / syncs->p50_us);
    to_by_time.push_back(half->p99_us / syncs->p99_by_time_us);
  }
  row->details.push_back(fmt::format(
      "half load: p50 {:.0f} us, p99 {:.0f} us, {:.0f} bytes per group; writing and syncing these bytes: p50 {:.0f} us, p99 {:.0f} us",
      spread_of(half_p50).median, spread_of(half_p99).median, spread_of(batch).median, spread_of(syncs_p50).median,
      spread_of(syncs_p99).median));
  row->details.push_back(fmt::format("p99 compared with the median of writing and syncing: {:.3g} x", spread_of(to_median).median));
  row->details.push_back(
      fmt::format("1% of the time is spent in writes and syncs of more than {:.0f} us; p99 compared with that duration: {:.3g} x",
                  spread_of(syncs_by_time).median, spread_of(to_by_time).median));
  row->figures = {{"full_load_per_s", full->per_s}, {"full_load_p50_us", full->p50_us}, {"full_load_p99_us", full->p99_us},
                  {"half_load_p50_us", half_p50},   {"half_load_p99_us", half_p99},     {"batch_bytes", batch},
                  {"sync_p50_us", syncs_p50},       {"sync_p99_us", syncs_p99},         {"sync_p99_by_time_us", syncs_by_time},
                  {"to_sync_p50", to_median},       {"to_sync_p99_by_time", to_by_time}, {"sessions", options.sessions}};
  return session->close();
}

}  // namespace

Status measure_group(const DurabilityOptions& options, DurabilityRows* rows) {
  const RunFolder folder(options, "group");
  DurabilityRow row;
  row.part = "group";
  row.work = "group, p99 commit latency at half load, compared with the p99 of writing and syncing the same number of bytes";
  row.unit = "x";
  row.at_least = 3;
  row.aim = 1.5;
  row.smaller_is_better = true;
  if (Status status = measure(options, folder.path(), &row); !status.ok()) return status;
  rows->push_back(std::move(row));
  return {};
}

}  // namespace elider::bench
