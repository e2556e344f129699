// The command `elider check-history FILE`.
#include <iostream>
#include <memory>
#include <string>

#include "tools/check_history/check_history.h"
#include "tools/check_history/load.h"
#include "tools/commands.h"

namespace elider::tools {

namespace {

struct CheckCommand {
  std::string file;
  bool replay_only = false, serializable = false;

  void run() const {
    auto history = check::load_history(file);
    if (!history.ok()) {
      std::cerr << history.status().message() << "\n";
      return set_exit_code(kExitUsage);
    }
    const check::Verdict verdict = check::check_history(*history, {.strictly = !serializable, .graph = !replay_only});
    check::print(std::cout, *history, verdict);
    set_exit_code(verdict.holds() ? 0 : kExitFailed);
  }
};

}  // namespace

void add_check_history(Command app) {
  auto command = std::make_shared<CheckCommand>();
  Command sub = app.add("check-history", "Verify that a history written with --history is strictly serializable");
  sub.option("file", command->file, "The history file: one JSON object per line (docs/history.md)").required();
  sub.flag("--replay-only", command->replay_only, "Search for cycles only if the replay in commit order fails (faster)");
  sub.flag("--serializable", command->serializable,
           "Check serializability only: the order may differ from real time, as with chopped procedures that return early");
  sub.footer(
      "Exit status: 0 the history is strictly serializable (or, with --serializable, serializable); 1 it is not,\n"
      "and a short cycle is printed; 2 the file is malformed or truncated, and the message names the line.\n"
      "Memory: about 500 bytes per transaction of 5 operations.");
  sub.runs([command] { command->run(); });
}

}  // namespace elider::tools
