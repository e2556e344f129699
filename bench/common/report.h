// Report: the configuration and the results of a benchmark run, as a table for people and as JSON
// for programs. docs/benchmarks.md describes the JSON's keys. Keys are never removed, because other
// tools rely on them.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/common/driver.h"
#include "bench/common/loader.h"
#include "bench/common/options.h"
#include "tools/common/json.h"

namespace elider::bench {

struct Report {
  std::string benchmark;                    // "tpcc", "ycsb"
  Json configuration = Json::object();      // the benchmark's own options; the common options are added
  RunResult result;
  LoadResult load;
  uint64_t records = 0;                     // number of rows, to report the memory per row; 0: do not report it
  Json extra = Json::object();              // merged into the JSON's top level ("consistency", ...)
  std::vector<std::string> notes;           // lines below the table
};

// Returns the complete JSON document: throughput_txns_per_s, committed, aborts, latency_us,
// memory_bytes, configuration, and what `extra` adds.
Json to_json(const CommonOptions& options, const Report& report);
void print_table(std::FILE* out, const CommonOptions& options, const Report& report);

// Writes the table to standard output (unless quiet), and the JSON to its file, if one was
// requested. If writing fails, the error message names the file.
Status publish(const CommonOptions& options, const Report& report);

Json to_json(const Statistics::Lookups& lookups);

// Describe what recovery found in the data folders (--resume), as text and as JSON.
std::string describe_recovery(const Recovery& recovery);
Json recovery_json(const Recovery& recovery);

// Format a number of transactions or bytes for people: "1.23 M" or "456 K", and "1.2 MB".
std::string short_number(double value);
std::string short_bytes(double bytes);

}  // namespace elider::bench
