// Report: the configuration and the results of a benchmark run, as a table for people and as JSON
// for programs. docs/benchmarks.md describes the JSON's keys. Other tools rely on these keys, so no
// key is ever removed.
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
  uint64_t records = 0;                     // rows, to compute the memory per row; 0: it is not reported
  Json extra = Json::object();              // merged into the JSON's top level ("consistency", ...)
  std::vector<std::string> notes;           // lines below the table
};

// The whole document: throughput_txns_per_s, committed, aborts, latency_us, memory_bytes,
// configuration, and what `extra` adds.
Json to_json(const CommonOptions& options, const Report& report);
void print_table(std::FILE* out, const CommonOptions& options, const Report& report);

// Writes the table to standard output (unless quiet), and the JSON to its file. If writing fails,
// the message names the file.
Status publish(const CommonOptions& options, const Report& report);

Json to_json(const Statistics::Lookups& lookups);

// Describes what opening a data folder found, for --resume: in words, and as JSON.
std::string describe_recovery(const Recovery& recovery);
Json recovery_json(const Recovery& recovery);

// "1.23 M", "456 K", "12.3": three digits, for people.
std::string short_number(double value);
std::string short_bytes(double bytes);

}  // namespace elider::bench
