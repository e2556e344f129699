// Durability: the cost and the benefit of the log. In one run it measures TPC-C with and without
// the log, the latency of an acknowledgement against one write and sync of as many bytes, the size
// of the log, and the speed of recovery.
//
// The two sides of each ratio take turns, so that a slow minute of the machine affects both. Each
// part checks the results of what it ran.
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
  uint32_t sessions = 8;      // --sessions, the sessions that wait for the disk concurrently
  std::vector<std::string> parts;  // --only; empty: all, and peer if a command is given
  std::string peer_command;        // --peer-command
  std::string peer_pattern;        // --peer-pattern
  double peer_seconds_max = 600;   // --peer-timeout, the limit for one run of the command
  double peer_at_least = 0;        // --peer-at-least; 0: no ratio is required
  bool small_warehouses = false;   // for tests, of async, checkpoint and peer: warehouses of 1000 items and 600 customers
  bool wants(const std::string& part) const;
};

// The values of one figure by repetition, and the project's requirement for it.
struct DurabilityRow {
  std::string part;  // "async", "checkpoint", "group", "bytes", "recovery", "load", "peer"
  std::string work;  // "TPC-C, async against no log, 1 thread"
  std::string unit;  // "x", "MB/s"
  std::vector<double> runs;
  double at_least = 0, aim = 0;  // 0: none
  bool smaller_is_better = false;
  std::vector<std::string> details;  // for people: the measurements that it was computed from
  Json figures = Json::object();     // the same for programs

  bool met(double wanted) const;
};

using DurabilityRows = std::vector<DurabilityRow>;

// Each function adds its rows. An error means that the measurement failed, or that a check of its
// results did.
Status measure_async(const DurabilityOptions& options, DurabilityRows* rows);       // async.cc
Status measure_checkpoint(const DurabilityOptions& options, DurabilityRows* rows);  // async.cc
Status measure_group(const DurabilityOptions& options, DurabilityRows* rows);       // group.cc
Status measure_bytes(const DurabilityOptions& options, DurabilityRows* rows);       // bytes.cc
Status measure_recovery(const DurabilityOptions& options, DurabilityRows* rows);    // recovery.cc
Status measure_load(const DurabilityOptions& options, DurabilityRows* rows);        // recovery.cc
Status measure_peer(const DurabilityOptions& options, DurabilityRows* rows);        // peer.cc

// The throughput in a peer's output: the number that the pattern's first group, or the whole
// pattern if it does not have a group, matches in the first line with a match. kInvalidArgument: no
// line matches, or the match is not a number above 0.
Result<double> throughput_in(const std::string& output, const std::string& pattern);  // peer.cc
extern const char* const kPeerPattern;  // the default pattern

// A folder inside the data folder. It is empty when created. The destructor removes it with its
// contents.
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

// Prints which part is being measured, except with --quiet or if the output is a file.
void show_step(const DurabilityOptions& options, const std::string& what);

}  // namespace elider::bench
