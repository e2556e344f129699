// `elider bench compare`: options, help and exit code.
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
    "RocksDB is its OptimisticTransactionDB. All run the same workloads on the same records and inputs, all\n"
    "serializably; without --data none is durable. The stores take turns within a repetition, and ratios are\n"
    "taken within it. Each store's rows are counted and their values checked afterwards. A store whose library\n"
    "was not there when elider was built is left out, with the name of the package that has it.\n"
    "\n"
    "Workloads are those of `elider bench ycsb`. Each starts from stores as they were loaded; d and e, which\n"
    "insert, do so in every repetition, the others repeat on what they have. e scans, so it needs --index btree or art,\n"
    "and beside RocksDB, whose transactions check no ranges, one operation a transaction. Without --workload:\n"
    "mixes of reads and read-modify-writes, uniform, one after the other on the same stores.\n"
    "\n"
    "With --data all keep their files there, and remove them afterwards. --durability group: each commit returns\n"
    "when it is on the disk (RocksDB: sync; LMDB: its default; SQLite: WAL, synchronous=FULL). async: before\n"
    "(RocksDB: WAL without sync; LMDB: MDB_NOSYNC; SQLite: WAL, synchronous=NORMAL).\n"
    "With --resume elider goes on with the database in that folder, of elider bench ycsb or of compare with --resume\n"
    "and as many --records, and leaves it there; the others, which know no such database, are loaded as ever.\n"
    "\n"
    "  elider bench compare --records 1000000 --threads 2 --seconds 5 --repeat 3 --mix 100/0,80/20,50/50\n"
    "  elider bench compare --records 1000000 --threads 2 --workload a,b,c,d,e,f --index btree --json compare.json\n"
    "  elider bench compare --records 100000 --threads 8 --mix 50/50 --data scratch --durability group\n";

// One of the names, each at most once.
void check_peers(const std::vector<std::string>& peers) {
  for (size_t i = 0; i < peers.size(); ++i) {
    if (peers[i] != "rocksdb" && peers[i] != "lmdb" && peers[i] != "sqlite")
      refuse_option("--peers", fmt::format("'{}' is none of rocksdb, lmdb, sqlite", peers[i]));
    const auto before = peers.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(peers.begin(), before, peers[i]) != before) refuse_option("--peers", fmt::format("'{}' stands twice", peers[i]));
  }
}

void check(CompareOptions& options) {
  check_common_options(options.ycsb.common);
  const DataOptions& data = options.ycsb.common.data;
  if (data.folders.size() > 1) refuse_option("--data", "one folder, for compare: other stores write to one");
  if (!data.folders.empty() && !options.folder.empty()) refuse_option("--dir", "does not go with --data, where files are then");
  check_peers(options.peers);
  for (const YcsbOptions& workload : workloads_of(options))
    if (data.resume && has(workload, OperationKind::kInsert))
      refuse_option("--resume", fmt::format("does not go with {}, which inserts: each repetition begins with stores as they were loaded",
                                            title_of(workload)));
  std::error_code error;
  if (!options.folder.empty() && !std::filesystem::is_directory(options.folder, error))
    refuse_option("--dir", fmt::format("'{}' is no folder", options.folder));
}

// The exit code.
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

// In a process of its own: the stores' files are large, and often in memory.
void run(CompareOptions& options) {
  check(options);
  options.ycsb.common.reports_when_interrupted = false;  // a run that was cut short is no part of the report
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
  Command command = bench.add("compare", "elider beside RocksDB, LMDB and SQLite from their Debian packages");
  command.footer(kCompareHelp);
  command.option("--records", options->ycsb.records, "Records loaded into each store")
      .in(uint64_t{1}, kCompareRecordsMax)
      .shows_default();
  command.option("--value-bytes", options->ycsb.value_bytes, "Size of a value")
      .in(kValueBytesMin, uint32_t{1} << 16)
      .shows_default();
  const Option workload =
      command.option("--workload", options->workloads, "a, b, c, d, e, f, several with commas").between_commas().type("LETTERS");
  command.option("--mix", options->mixes, "Percent reads/read-modify-writes, several with commas")
      .between_commas()
      .shows_default()
      .excludes(workload);
  command.option("--peers", options->peers, "rocksdb, lmdb, sqlite, with commas").between_commas().shows_default();
  command.option("--repeat", options->repeat, "Repetitions (1 to 100)").in(1u, 100u).shows_default();
  command
      .option("--distribution", options->ycsb.distribution_name,
                  "Of keys: uniform, zipfian, latest [the workload's own; of mixes: uniform]")
      .type("NAME");
  command.option("--theta", options->ycsb.theta, "Skew of zipfian, above 0 and below 1").shows_default();
  command.option("--operations", options->ycsb.operations, "Operations a transaction (1 to 16)")
      .in(1u, kOperationsMax)
      .shows_default();
  command.flag("--batch", options->ycsb.batch, "elider gets all keys of a transaction in one multi_get");
  add_index_option(command, options->ycsb.key_index, "elider's: hash; or btree or art, which scans need [hash]");
  command.option("--dir", options->folder, "Where RocksDB and LMDB put their files [/dev/shm, or a temporary folder]")
      .type("FOLDER");
  add_common_options(command, options->ycsb.common);
  command.runs([options] { run(*options); });
}

}  // namespace elider::bench
