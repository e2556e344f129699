// A program that is killed, or whose system calls fail: it works on a database and tells each step
// on standard output, a line of JSON and a system call each, so that what it has told outlives it.
// tests/crash/ledger.py reads it.
//
//   crash_victim transfer|tpcc --data DIR [--threads N] [--seed N] [--process N]
//                [--transactions N] [--checkpoints N] [--segment-bytes N] [--sync NAME]
//                [--htm NAME]
//
// It begins with what it has recovered. Then each thread tells what it is about to do, does it
// with a `group` commit (or an `async` one and a wait), and tells what came of it. --process: the
// number of its first thread, which no earlier one has had. --transactions: of each thread; 0:
// until it is killed. --checkpoints: one as they begin, one after each N of all threads, one at
// the end, and what the database takes by itself; 0: none. --segment-bytes: of the log's files;
// from 1 MiB on, room is made in them. Exit status 3: the database cannot be opened or read, which
// standard error then says.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/crash/victim_tpcc.h"
#include "tests/crash/victim_transfer.h"

namespace elider::crash {
namespace {

bool parse(int count, char** words, VictimOptions* options) {
  if (count < 2) return false;
  options->workload = words[1];
  for (int i = 2; i + 1 < count; i += 2) {
    const std::string name = words[i];
    const uint64_t value = std::strtoull(words[i + 1], nullptr, 10);
    if (name == "--data") options->data = words[i + 1];
    else if (name == "--threads") options->threads = static_cast<uint32_t>(value);
    else if (name == "--seed") options->seed = value;
    else if (name == "--process") options->process = static_cast<uint32_t>(value);
    else if (name == "--transactions") options->transactions = value;
    else if (name == "--checkpoints") options->checkpoints = value;
    else if (name == "--segment-bytes") options->segment_bytes = value;
    else if (name == "--sync" && elider::parse(words[i + 1], &options->sync)) continue;
    else if (name == "--htm" && elider::parse(words[i + 1], &options->htm)) continue;
    else if (name == "--protocol" && elider::parse(words[i + 1], &options->protocol)) continue;
    else return false;
  }
  return count % 2 == 0 && !options->data.empty();
}

int run(const VictimOptions& options) {
  const Status status = options.workload == "tpcc" ? run_tpcc_victim(options) : run_transfer_victim(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "crash_victim: %s\n", status.message().c_str());
  return 3;
}

}  // namespace
}  // namespace elider::crash

int main(int count, char** words) {
  elider::crash::VictimOptions options;
  if (!elider::crash::parse(count, words, &options)) {
    std::fprintf(stderr, "usage: crash_victim transfer|tpcc --data DIR [--threads N] [--seed N] [--process N] [--transactions N] "
                         "[--checkpoints N] [--segment-bytes N] [--sync NAME] [--htm NAME]\n");
    return 2;
  }
  return elider::crash::run(options);
}
