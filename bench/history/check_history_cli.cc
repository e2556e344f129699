// The command `elider check-history FILE`.
#include <iostream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "bench/common/commands.h"
#include "bench/history/check_history.h"
#include "bench/history/check_history_load.h"

namespace elider::bench {

namespace {

struct CheckCommand {
  std::string file;
  bool replay_only = false;

  void run() const {
    auto history = check::load_history(file);
    if (!history.ok()) {
      std::cerr << history.status().message() << "\n";
      return set_exit_code(kExitUsage);
    }
    const check::Verdict verdict = check::check_history(*history, {.graph = !replay_only});
    check::print(std::cout, *history, verdict);
    set_exit_code(verdict.strictly_serializable() ? 0 : kExitFailed);
  }
};

}  // namespace

void add_check_history(CLI::App& app) {
  auto command = std::make_shared<CheckCommand>();
  CLI::App* sub = app.add_subcommand("check-history", "Verify that a history written with --history is strictly serializable");
  sub->add_option("file", command->file, "The history: one JSON object a line (docs/history.md)")->required();
  sub->add_flag("--replay-only", command->replay_only, "Search for cycles only if the replay in commit order fails (quicker)");
  sub->footer(
      "Exit status: 0 it is strictly serializable; 1 it is not, and a shortest cycle is printed; 2 the file is\n"
      "malformed or cut off, and the message names the line. Memory: about 500 bytes a transaction of 5 operations.");
  sub->callback([command] { command->run(); });
}

}  // namespace elider::bench
