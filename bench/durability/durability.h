// Durability: measures what the log costs and how fast it is recovered. It compares TPC-C with and
// without the log, and the latency of a durable commit with that of writing and syncing the same
// number of bytes. It also measures the size of the log and the speed of recovery.
//
// The two sides of each ratio take turns, so that a temporary slowdown of the machine affects both.
// Each part checks the results of its runs.
// Thread safety: called by one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/common/options.h"
#include "bench/common/report.h"
#include "bench/common/spread.h"
#include "elider/status.h"

namespace elider::bench {

struct DurabilityOptions {
  CommonOptions common;       // data.folders.front(): the folder in which temporary folders are created
  uint32_t repeat = 3;        // --repeat, 1 to 100
  uint32_t sessions = 8;      // --sessions, the number of sessions that wait for the disk concurrently
  std::vector<std::string> parts;  // --only; empty: all, but peer only if a command is given
  std::string peer_command;        // --peer-command
  std::string peer_pattern;        // --peer-pattern
  double peer_seconds_max = 600;   // --peer-timeout, the time limit for one run of the command
  double peer_at_least = 0;        // --peer-at-least; 0: no ratio is required
  bool small_warehouses = false;   // for tests: async, checkpoint and peer use warehouses with 1000 items and 600 customers
  bool wants(const std::string& part) const;
};

// The values of one measurement, one per repetition, and the project's requirement for it.
struct DurabilityRow {
  std::string part;  // "async", "checkpoint", "group", "bytes", "recovery", "load", "peer"
  std::string work;  // "TPC-C, async against no log, 1 thread"
  std::string unit;  // "x", "MB/s"
  std::vector<double> runs;
  double at_least = 0, aim = 0;  // the required and the desired median; 0: none
  bool smaller_is_better = false;
  std::vector<std::string> details;  // for people: the measurements from which `runs` was computed
  Json figures = Json::object();     // the same measurements for programs

  bool met(double wanted) const;
};

using DurabilityRows = std::vector<DurabilityRow>;

// Each function adds its rows to *rows. It returns an error if the measurement, or a check of its
// results, failed.
Status measure_async(const DurabilityOptions& options, DurabilityRows* rows);       // async.cc
Status measure_checkpoint(const DurabilityOptions& options, DurabilityRows* rows);  // async.cc
Status measure_group(const DurabilityOptions& options, DurabilityRows* rows);       // group.cc
Status measure_bytes(const DurabilityOptions& options, DurabilityRows* rows);       // bytes.cc
Status measure_recovery(const DurabilityOptions& options, DurabilityRows* rows);    // recovery.cc
Status measure_load(const DurabilityOptions& options, DurabilityRows* rows);        // recovery.cc
Status measure_peer(const DurabilityOptions& options, DurabilityRows* rows);        // peer.cc

// Returns the throughput in a peer's output, which is the number that `pattern` matches in the
// first line with a match. If the pattern has groups, the number is what the first group matches.
// Fails with kInvalidArgument if no line matches, or if the match is not a number above 0.
Result<double> throughput_in(const std::string& output, const std::string& pattern);  // peer.cc
extern const char* const kPeerPattern;  // the default pattern

// A new folder inside the data folder. The destructor removes it with its contents.
class RunFolder {
 public:
  RunFolder(const DurabilityOptions& options, const std::string& name);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

// Prints which part is being measured, unless --quiet is given or standard error is not a terminal.
void show_step(const DurabilityOptions& options, const std::string& what);

}  // namespace elider::bench
