// How fast a log is recovered, with its files in memory already.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "bench/durability/durability.h"
#include "bench/tpcc/tpcc.h"

namespace elider::bench {

namespace {

// Reads every file, so that none of the time is the disk's.
void warm(const std::string& folder) {
  std::vector<char> block(1 << 20);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    while (file.read(block.data(), static_cast<std::streamsize>(block.size()))) {
    }
  }
}

}  // namespace

Status measure_recovery(const DurabilityOptions& options, DurabilityRows* rows) {
  const RunFolder folder(options, "recovery");
  CommonOptions common = options.common;
  common.threads = 2;
  common.quiet = true;
  common.data.folders = {folder.path()};
  common.data.durability = Durability::kAsync;
  tpcc::TpccOptions chosen;
  chosen.sizes.warehouses = 2;
  show_step(options, "TPC-C, for a log to recover");
  auto made = tpcc::measure_tpcc(common, chosen);
  if (!made.ok()) return made.status();
  DurabilityRow row;
  row.part = "recovery";
  row.work = "recovery of TPC-C's log, page cache warm";
  row.unit = "MB/s";
  row.at_least = 500;
  row.aim = 1000;
  common.data.durability = Durability::kNone;  // so that each time there is the same to recover
  std::vector<double> seconds;
  Recovery recovery;
  for (uint32_t round = 0; round < options.repeat; ++round) {
    show_step(options, fmt::format("recovery, round {} of {}", round + 1, options.repeat));
    warm(folder.path());
    auto session = Session::open(common, tpcc::indexed_schemas(chosen.index));
    if (!session.ok()) return session.status();
    recovery = session->db().recovery();
    seconds.push_back(static_cast<double>(recovery.duration_us) * 1e-6);
    row.runs.push_back(static_cast<double>(recovery.log_bytes) / 1e6 / seconds.back());
  }
  row.details = {fmt::format("{} of log, {} commits, {} rows in {:.2f} s", short_bytes(static_cast<double>(recovery.log_bytes)),
                             short_number(static_cast<double>(recovery.records)), short_number(static_cast<double>(recovery.rows)),
                             spread_of(seconds).median)};
  row.figures = recovery_json(recovery);
  row.figures["seconds"] = seconds;
  rows->push_back(std::move(row));
  return {};
}

}  // namespace elider::bench
