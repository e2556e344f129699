// What both workloads of crash_victim share: their options and their output.
// Thread safety: tell() by all threads. A line of at most PIPE_BUF bytes is not mixed with others.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "elider/elider.h"

namespace elider::crash {

struct VictimOptions {
  std::string workload;
  std::string data;
  uint32_t threads = 3;
  uint64_t seed = 1;
  uint32_t process = 0;
  uint64_t transactions = 0;
  uint64_t checkpoints = 0;  // one after this many transactions; 0: none
  uint64_t segment_bytes = 64u << 10;
  SyncPolicy sync = SyncPolicy::kOptimistic;
  HtmBackend htm = HtmBackend::kAutomatic;
  Protocol protocol = Protocol::kOcc;
};

inline Options database_options(const VictimOptions& victim) {
  Options options;
  options.sync = victim.sync;
  options.htm = victim.htm;
  options.protocol = victim.protocol;
  options.huge_pages = false;
  options.workers_max = 64;
  options.data_folders = {victim.data + "/a", victim.data + "/b"};
  options.log_threads = 2;
  options.log_segment_bytes = victim.segment_bytes;
  options.durability = Durability::kGroup;
  if (victim.checkpoints != 0) {
    options.checkpoint_log_bytes = 64u << 10;
    options.checkpoint_threads = 2;  // and a part each
  }
  return options;
}

// Writes the line in one system call, so that it outlives the process. If this fails, the reader
// has gone, and the process exits.
inline void tell(const std::string& line) {
  const char* at = line.data();
  for (size_t rest = line.size(); rest != 0;) {
    const ssize_t written = ::write(STDOUT_FILENO, at, rest);
    if (written < 0) std::_Exit(4);
    at += written;
    rest -= static_cast<size_t>(written);
  }
}

// The machine's clock, the same in every process.
inline uint64_t now_ns() { return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()); }

}  // namespace elider::crash
