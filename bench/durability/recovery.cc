// Measures how fast a log is recovered and a checkpoint is loaded if their files are already in the
// page cache.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "bench/durability/durability.h"
#include "bench/tpcc/tpcc.h"
#include "elider/files.h"

namespace elider::bench {

namespace {

// Reads every file into the page cache, so that the measured time does not include the disk.
void warm(const std::string& folder) {
  std::vector<char> block(1 << 20);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    while (file.read(block.data(), static_cast<std::streamsize>(block.size()))) {
    }
  }
}

// A folder that contains the log of a TPC-C run, but no checkpoint.
class Recorded {
 public:
  explicit Recorded(const DurabilityOptions& options) : options_(options), folder_(options, "recovery"), common_(options.common) {
    common_.threads = 2;
    common_.quiet = true;
    common_.data.folders = {folder_.path()};
    common_.data.durability = Durability::kAsync;
    common_.data.checkpoint_log_bytes = 0;
    tpcc_.sizes.warehouses = 2;
  }
  Status make() {
    show_step(options_, "running TPC-C to write a log for recovery");
    Status status = tpcc::measure_tpcc(common_, tpcc_).status();
    common_.data.durability = Durability::kNone;  // so that every round recovers the same log
    return status;
  }
  // Recovers the folder in each round, and calls note(recovery).
  template <class Note>
  Status recover(const char* what, const Note& note) {
    for (uint32_t round = 0; round < options_.repeat; ++round) {
      show_step(options_, fmt::format("{}, round {} of {}", what, round + 1, options_.repeat));
      warm(folder_.path());
      auto session = Session::open(common_, tpcc::indexed_schemas(tpcc_.index));
      if (!session.ok()) return session.status();
      note(session->db().recovery());
    }
    return {};
  }
  const std::string& path() const { return folder_.path(); }

 private:
  const DurabilityOptions& options_;
  const RunFolder folder_;
  CommonOptions common_;
  tpcc::TpccOptions tpcc_;
};

double megabytes_per_s(uint64_t bytes, uint64_t us) { return static_cast<double>(bytes) / static_cast<double>(std::max<uint64_t>(us, 1)); }

}  // namespace

Status measure_recovery(const DurabilityOptions& options, DurabilityRows* rows) {
  Recorded recorded(options);
  if (Status status = recorded.make(); !status.ok()) return status;
  DurabilityRow row;
  row.part = "recovery";
  row.work = "recovery of TPC-C's log, warm page cache";
  row.unit = "MB/s";
  row.at_least = 500;
  row.aim = 1000;
  std::vector<double> seconds;
  Recovery last;
  Status status = recorded.recover("recovery", [&](const Recovery& recovery) {
    last = recovery;
    seconds.push_back(static_cast<double>(recovery.duration_us) * 1e-6);
    row.runs.push_back(megabytes_per_s(recovery.log_bytes, recovery.duration_us));
  });
  if (!status.ok()) return status;
  row.details = {fmt::format("{} of log with {} commits and {} rows in {:.2f} s", short_bytes(static_cast<double>(last.log_bytes)),
                             short_number(static_cast<double>(last.records)), short_number(static_cast<double>(last.rows)),
                             spread_of(seconds).median)};
  row.figures = recovery_json(last);
  row.figures["seconds"] = seconds;
  rows->push_back(std::move(row));
  return {};
}

Status measure_load(const DurabilityOptions& options, DurabilityRows* rows) {
  Recorded recorded(options);
  if (Status status = recorded.make(); !status.ok()) return status;
  Recovery last;
  Statistics::Checkpoints taken;
  show_step(options, "taking a checkpoint to load");
  if (Status status = files::checkpoint({recorded.path()}, nullptr, &last, &taken); !status.ok()) return status;
  DurabilityRow row;
  row.part = "load";
  row.work = "loading a checkpoint of TPC-C, warm page cache";
  row.unit = "MB/s";
  row.at_least = 1000;
  std::vector<double> seconds, all_seconds;
  Status status = recorded.recover("loading a checkpoint", [&](const Recovery& recovery) {
    last = recovery;
    seconds.push_back(static_cast<double>(recovery.checkpoint_us) * 1e-6);
    all_seconds.push_back(static_cast<double>(recovery.duration_us) * 1e-6);
    row.runs.push_back(megabytes_per_s(recovery.checkpoint_bytes, recovery.checkpoint_us));
  });
  if (!status.ok()) return status;
  if (last.checkpoint_bytes == 0) return Status(Code::kCorrupt, "the checkpoint that was taken is missing");
  row.details = {
      fmt::format("{}, {} rows in {:.2f} s; with its secondary indexes {:.2f} s", short_bytes(static_cast<double>(last.checkpoint_bytes)),
                  short_number(static_cast<double>(last.checkpoint_rows)), spread_of(seconds).median, spread_of(all_seconds).median)};
  row.figures = recovery_json(last);
  row.figures["seconds"] = seconds;
  row.figures["all_seconds"] = all_seconds;
  rows->push_back(std::move(row));
  return {};
}

}  // namespace elider::bench
