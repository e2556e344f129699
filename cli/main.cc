// The command line: declares every command and turns the outcome into an exit code
// (bench/common/commands.h). What a command does stands with it.
#include <cstdio>
#include <exception>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/common/commands.h"
#include "bench/common/environment.h"
#include "bench/common/interrupt.h"
#include "cli/data_commands.h"
#include "cli/suggestion.h"

#ifndef ELIDER_VERSION
#define ELIDER_VERSION "unversioned"
#endif

namespace {

constexpr const char* kAbout =
    "elider: an in-memory, serializable transactional database.\n"
    "The database itself is a C++ library (include elider/elider.h); this program measures and checks it,\n"
    "and looks after its files.";

constexpr const char* kExamples =
    "  elider bench tpcc --warehouses 2 --threads 2 --seconds 10    orders of a wholesaler, checked afterwards\n"
    "  elider bench ycsb --records 1000000 --mix 80/20              short transactions on one table\n"
    "  elider bench compare                                         the same beside RocksDB, LMDB and SQLite\n"
    "  elider bench durability --data scratch                       what log and checkpoints cost; recovery\n"
    "  elider bench history --workload list-append --out h.jsonl    histories for checkers of serializability\n"
    "  elider check-history history.jsonl                           is a run's --history strictly serializable?\n"
    "  elider hardware                                              has this machine hardware transactions?\n"
    "  elider bench htm --json htm.json                             what its regions hold, and why they abort\n"
    "  elider check data                                            are a database's files whole?\n"
    "  elider backup data copy                                      a copy of them; restore, recover, checkpoint, log\n"
    "  elider plot *.json -o speed.png                              a drawing of what --json wrote\n"
    "\n"
    "Exit code: 0 it worked; 1 it ran and failed; 2 an option makes no sense, and nothing was run; 3 this machine\n"
    "has no hardware transactions, which bench htm is about; 130 Ctrl-C ended a benchmark, which reported what it had.\n"
    "--json FILE means the same everywhere: the results as JSON into that file, or with - to standard output.";

std::string version() {
  const elider::bench::Environment build = elider::bench::environment();
  return fmt::format("elider {} (commit {}, {}, {})", ELIDER_VERSION, build.commit, build.compiler, build.build);
}

int run(int argc, char** argv) {
  CLI::App app(kAbout, "elider");
  app.set_version_flag("--version", version());
  app.require_subcommand(1);
  app.get_formatter()->column_width(32);
  CLI::App& bench =
      *app.add_subcommand("bench", "Measure: tpcc, ycsb, compare, durability, elision, htm, neighbours, history (each has its own --help)");
  bench.require_subcommand(1);
  elider::bench::add_tpcc(bench);
  elider::bench::add_ycsb(bench);
  elider::bench::add_compare(bench);
  elider::bench::add_elision(bench);
  elider::bench::add_htm(bench);
  elider::bench::add_durability(bench);
  elider::bench::add_neighbours(bench);
  elider::bench::add_history(bench);
  elider::bench::add_check_history(app);
  elider::bench::add_hardware(app);
  elider::bench::add_plot(app);
  elider::cli::add_check(app);
  elider::cli::add_backup(app);
  elider::cli::add_restore(app);
  elider::cli::add_checkpoint(app);
  elider::cli::add_recover(app);
  elider::cli::add_log(app);
  app.footer(kExamples);  // last, since subcommands take over what is there when they are made
  if (argc == 1) {
    fmt::print(stderr, "{}", app.help());
    return elider::bench::kExitUsage;
  }
  if (const std::string words = elider::cli::unknown_word(app, {argv + 1, argv + argc}); !words.empty()) {
    fmt::print(stderr, "{}\n", words);
    return elider::bench::kExitUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // The parser has a code for each kind of error; a caller only needs to know that it was one.
    return app.exit(error) == 0 ? 0 : elider::bench::kExitUsage;
  }
  const int code = elider::bench::exit_code();
  return code == 0 && elider::bench::interrupted() ? elider::bench::kExitInterrupted : code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return elider::bench::flush_output(run(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "elider: %s\n", error.what());
    return elider::bench::kExitFailed;
  }
}
