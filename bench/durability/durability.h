// Durability: what it costs and what it gives, measured in one run: TPC-C with the log against
// none, how long an acknowledgement takes against one write and sync of the same bytes, the log's
// bytes, the speed of recovery.
//
// The parts of a pair take turns, so that a slow minute of the machine falls on both.
// Each part checks what it ran.
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
  CommonOptions common;       // data.folders.front(): the folder in which folders are made, and removed again
  uint32_t repeat = 3;        // --repeat, 1 to 100
  uint32_t sessions = 8;      // --sessions, that wait for the disk at one time
  std::vector<std::string> parts;  // --only; empty: all, and peer where there is a command
  std::string peer_command;        // --peer-command
  std::string peer_pattern;        // --peer-pattern
  double peer_seconds_max = 600;   // --peer-timeout, of one run of it
  double peer_at_least = 0;        // --peer-at-least; 0: no ratio is wanted
  bool small_warehouses = false;   // for tests, of async, checkpoint and peer: warehouses of 1000 items and 600 customers
  bool wants(const std::string& part) const;
};

// A figure by repetition, and what the project wants of it.
struct DurabilityRow {
  std::string part;  // "async", "checkpoint", "group", "bytes", "recovery", "load", "peer"
  std::string work;  // "TPC-C, async against no log, 1 thread"
  std::string unit;  // "x", "MB/s"
  std::vector<double> runs;
  double at_least = 0, aim = 0;  // 0: none
  bool smaller_is_better = false;
  std::vector<std::string> details;  // for people: what it was made of
  Json figures = Json::object();     // the same for programs

  bool met(double wanted) const;
};

using DurabilityRows = std::vector<DurabilityRow>;

// Each adds its rows. An error: it could not be measured, or what it ran was wrong.
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

// A folder in the data folder, empty when it is made and removed with all in it at the end.
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

// The line that says what is being measured; nothing under --quiet or into a file.
void show_step(const DurabilityOptions& options, const std::string& what);

}  // namespace elider::bench
