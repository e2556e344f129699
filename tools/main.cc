// The program `elider`: declares all commands, runs the one that the arguments name, and returns
// its exit code (tools/common/command.h). `elider bench ...` executes the separate program
// elider-bench, because the benchmarks need more libraries than the other commands.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/commands.h"
#include "tools/common/environment.h"
#include "tools/common/own_folder.h"

namespace elider::tools {
namespace {

constexpr const char* kAbout =
    "elider: an in-memory, serializable transactional database.\n"
    "The database itself is a C++ library (include elider/elider.h). This program measures it, checks it,\n"
    "and maintains its files.";

constexpr const char* kExamples =
    "  elider bench tpcc --warehouses 2 --threads 2 --seconds 10    a wholesaler's orders, with a consistency check\n"
    "  elider bench ycsb --records 1000000 --mix 80/20              short transactions on one table\n"
    "  elider bench compare                                         YCSB on elider, RocksDB, LMDB and SQLite\n"
    "  elider bench durability --data scratch                       the cost of the log and checkpoints; recovery\n"
    "  elider bench history --workload list-append --out h.jsonl    histories for serializability checkers\n"
    "  elider check-history history.jsonl                           is a run's --history strictly serializable?\n"
    "  elider hardware                                              does this machine have hardware transactions?\n"
    "  elider-lab htm --json htm.json                             capacity of regions, causes of aborts\n"
    "  elider check data                                            are a database's files intact?\n"
    "  elider backup data copy                                      copy them; see also restore, recover, checkpoint, log\n"
    "  elider rows data accounts --limit 10                         see also tables, schema, set, export, import, dump, load\n"
    "  elider heap check book.heap                                  is the file of a durable heap intact?\n"
    "  elider plot *.json -o speed.png                              plot results that --json has written\n"
    "\n"
    "Exit code: 0 success; 1 failure; 2 an option is invalid, and the command did not run; 3 this machine does\n"
    "not have the hardware transactions that elider-lab htm and elider-lab elision need; 130 Ctrl-C ended a benchmark, which\n"
    "reported its results up to then.\n"
    "Most commands: --json FILE writes the results as JSON to FILE, or with - to standard output.";

// Replaces this process by elider-bench. Returns an exit code only if that fails.
int become_bench(char** arguments) {
  const std::string program = own_folder() / "elider-bench";
  std::fflush(stdout);
  ::execv(program.c_str(), arguments);
  fmt::print(stderr, "elider bench: cannot run '{}': {}\n", program, std::strerror(errno));
  return kExitFailed;
}

int run(int argc, char** argv) {
  Program program("elider", kAbout, version_line());
  const Command app = program.root();
  Command(app).add("bench",
                   "Measure: tpcc, ycsb, compare, durability, heap, history (each with its own --help)");
  add_check_history(app);
  add_hardware(app);
  add_heap(app);
  add_options(app);
  add_chopping(app);
  add_metrics(app);
  add_plot(app);
  add_check(app);
  add_backup(app);
  add_restore(app);
  add_checkpoint(app);
  add_recover(app);
  add_log(app);
  add_tables(app);
  add_schema(app);
  add_rows(app);
  add_export(app);
  add_set(app);
  add_delete(app);
  add_import(app);
  add_dump(app);
  add_load(app);
  program.examples(kExamples);
  if (argc > 1 && std::string(argv[1]) == "bench") return become_bench(argv + 1);
  return program.run({argv + 1, argv + argc});
}

}  // namespace
}  // namespace elider::tools

int main(int argc, char** argv) {
  try {
    return elider::tools::flush_output(elider::tools::run(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "elider: %s\n", error.what());
    return elider::tools::kExitFailed;
  }
}
