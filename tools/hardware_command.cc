// The command `elider hardware`: prints what this machine reports about hardware transactions, and
// which backend 'automatic' selects.
#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "elider/hardware.h"
#include "tools/commands.h"
#include "tools/common/json.h"

namespace elider::tools {

void add_hardware(Command app) {
  auto json_file = std::make_shared<std::string>();
  Command sub = app.add("hardware", "Report whether this machine has hardware transactions, and what 'automatic' chooses");
  sub.option("--json", *json_file, "Write the report as JSON to this file instead (- for standard output)").type("FILE");
  sub.footer("Runs a thousand tiny hardware transactions if the processor supports them.");
  sub.runs([json_file] {
    const Hardware& machine = hardware();
    if (json_file->empty()) {
      fmt::print("{}", machine.to_text());
      if (machine.usable)
        fmt::print("try next          elider-lab htm --quick (the capacity of regions), elider-lab elision (their speed)\n");
      return;
    }
    if (Status status = write_json(*json_file, Json::parse(machine.to_json())); !status.ok()) {
      fmt::print(stderr, "{}\n", status.message());
      set_exit_code(kExitFailed);
    }
  });
}

}  // namespace elider::tools
