// The options, help and exit code of `elider bench compare`.
#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "bench/common/commands.h"
#include "tools/common/interrupt.h"
#include "bench/common/own_process.h"
#include "bench/compare/compare.h"
#include "bench/ycsb/value.h"

namespace elider::bench {

namespace {

constexpr uint64_t kCompareRecordsMax = 100'000'000;

constexpr const char* kCompareHelp =
    "RocksDB is used through OptimisticTransactionDB. All stores run the same serializable workloads on the same\n"
    "records and inputs; without --data, they are not durable. The stores take turns within a repetition, and ratios\n"
    "are computed within it. Afterwards each store's rows are counted and their values checked. If a store's library\n"
    "was missing when elider was built, the store is left out, and the name of its package is printed.\n"
    "\n"
    "The workloads are those of `elider bench ycsb`. Each starts from freshly loaded stores. The workloads that insert\n"
    "(d and e) reload them for every repetition. Workload e scans, so it needs --index btree or art, and with RocksDB,\n"
    "whose transactions do not check ranges, one operation per transaction. Without --workload: uniform mixes of reads\n"
    "and read-modify-writes, one after the other on the same stores.\n"
    "\n"
    "With --data, all stores keep their files there and remove them afterwards. --durability group: each commit returns\n"
    "once it is on disk (RocksDB: sync; LMDB: its default; SQLite: WAL, synchronous=FULL). async: it returns earlier\n"
    "(RocksDB: WAL without sync; LMDB: MDB_NOSYNC; SQLite: WAL, synchronous=NORMAL).\n"
    "With --resume, elider continues with the database in that folder, which elider bench ycsb or compare --resume has\n"
    "written with the same --records, and keeps it; the other stores are loaded as usual.\n"
    "\n"
    "  elider bench compare --records 1000000 --threads 2 --seconds 5 --repeat 3 --mix 100/0,80/20,50/50\n"
    "  elider bench compare --records 1000000 --threads 2 --workload a,b,c,d,e,f --index btree --json compare.json\n"
    "  elider bench compare --records 100000 --threads 8 --mix 50/50 --data scratch --durability group\n";

// Refuses peers that are unknown or listed twice.
void check_peers(const std::vector<std::string>& peers) {
  for (size_t i = 0; i < peers.size(); ++i) {
    if (peers[i] != "rocksdb" && peers[i] != "lmdb" && peers[i] != "sqlite")
      refuse_option("--peers", fmt::format("'{}' is not one of rocksdb, lmdb, sqlite", peers[i]));
    const auto before = peers.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(peers.begin(), before, peers[i]) != before) refuse_option("--peers", fmt::format("'{}' is listed twice", peers[i]));
  }
}

void check(CompareOptions& options) {
  check_common_options(options.ycsb.common);
  const DataOptions& data = options.ycsb.common.data;
  if (data.folders.size() > 1) refuse_option("--data", "compare accepts only one folder, because the other stores write to one");
  if (!data.folders.empty() && !options.folder.empty())
    refuse_option("--dir", "cannot be combined with --data, which already names the folder");
  check_peers(options.peers);
  for (const YcsbOptions& workload : workloads_of(options))
    if (data.resume && has(workload, OperationKind::kInsert))
      refuse_option("--resume", fmt::format("cannot be combined with {}, which inserts: each repetition begins with freshly loaded stores",
                                            title_of(workload)));
  std::error_code error;
  if (!options.folder.empty() && !std::filesystem::is_directory(options.folder, error))
    refuse_option("--dir", fmt::format("'{}' is not a folder", options.folder));
}

// Returns the exit code.
int run_here(const CompareOptions& options) {
  const InterruptWatch watch(true, InterruptWatch::Second::kIsNotedToo);
  auto outcome = run_compare(options);
  Status status = outcome.status();
  if (status.ok()) {
    if (!options.ycsb.common.quiet) print_compare(stdout, options, *outcome);
    const std::string& file = options.ycsb.common.json_file;
    if (!file.empty()) status = write_json(file, to_json(options, *outcome));
  }
  if (status.ok()) return interrupted() ? kExitInterrupted : 0;
  fmt::print(stderr, "elider bench compare: {}\n", status.message());
  return kExitFailed;
}

// Runs in a separate process, so that the stores' files, which are large and often in memory, are
// always removed.
void run(CompareOptions& options) {
  check(options);
  options.ycsb.common.reports_when_interrupted = false;  // an incomplete run is not part of the report
  OwnProcess process;
  const auto scratch = ScratchFolder::of_run(options);
  if (!scratch.ok()) {
    fmt::print(stderr, "elider bench compare: {}\n", scratch.status().message());
    return set_exit_code(kExitUsage);
  }
  options.scratch = (*scratch)->path();
  set_exit_code(process.run([&options] { return run_here(options); }, OwnProcess::FirstInterrupt::kIsPassedOn));
}

}  // namespace

void add_compare(Command bench) {
  auto options = std::make_shared<CompareOptions>();
  options->mixes = {"100/0", "80/20", "50/50"};
  options->peers = {"rocksdb", "lmdb", "sqlite"};
  options->ycsb.common.seconds = 3;
  Command command = bench.add("compare", "Compare elider with RocksDB, LMDB and SQLite from their Debian packages");
  command.footer(kCompareHelp);
  command.option("--records", options->ycsb.records, "Records loaded into each store")
      .in(uint64_t{1}, kCompareRecordsMax)
      .shows_default();
  command.option("--value-bytes", options->ycsb.value_bytes, "Size of a value in bytes")
      .in(kValueBytesMin, uint32_t{1} << 16)
      .shows_default();
  const Option workload =
      command.option("--workload", options->workloads, "a, b, c, d, e, f; separate several by commas").between_commas().type("LETTERS");
  command.option("--mix", options->mixes, "Percentages of reads/read-modify-writes; separate several by commas")
      .between_commas()
      .shows_default()
      .excludes(workload);
  command.option("--peers", options->peers, "rocksdb, lmdb, sqlite, separated by commas").between_commas().shows_default();
  command.option("--repeat", options->repeat, "Repetitions (1 to 100)").in(1u, 100u).shows_default();
  command
      .option("--distribution", options->ycsb.distribution_name,
              "Distribution of keys: uniform, zipfian, latest [the workload's own; for mixes: uniform]")
      .type("NAME");
  command.option("--theta", options->ycsb.theta, "Skew of zipfian, between 0 and 1 exclusive").shows_default();
  command.option("--operations", options->ycsb.operations, "Operations per transaction (1 to 16)").in(1u, kOperationsMax).shows_default();
  command.flag("--batch", options->ycsb.batch, "elider reads all keys of a transaction with one multi_get");
  add_index_option(command, options->ycsb.key_index, "elider's index: hash, btree or art; scans require btree or art [hash]");
  command.option("--dir", options->folder, "Folder for the files of RocksDB and LMDB [/dev/shm, or a temporary folder]")
      .type("FOLDER");
  add_common_options(command, options->ycsb.common);
  command.runs([options] { run(*options); });
}

}  // namespace elider::bench
