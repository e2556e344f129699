// `elider-lab tickets`: its options, help text and exit code.
#include <memory>

#include <fmt/format.h>

#include "lab/commands.h"
#include "lab/tickets/tickets.h"
#include "tools/common/values.h"

namespace elider::bench {

namespace {

using tickets::TicketsOptions;

constexpr const char* kTicketsHelp =
    "Every transaction takes the next number from one counter, and then adds to many random rows. Additions never conflict.\n"
    "Under protocol chopped, these are two pieces. Afterwards, each number must have been taken once, and all additions\n"
    "must be present; otherwise the exit code is 1.\n"
    "\n"
    "  elider-lab tickets --threads 2\n"
    "  elider-lab tickets --threads 2 --protocol chopped --tail 1000\n";

void fail_tickets(const std::string& words) {
  fmt::print(stderr, "elider-lab tickets: {}\n", words);
  set_exit_code(kExitFailed);
}

void run_tickets_command(const TicketsOptions& options) {
  if (options.common.data.resume)
    refuse_option("--resume", "is not supported by tickets, because its checks require that the counter starts at 0");
  check_common_options(options.common);
  auto outcome = tickets::run_tickets(options);
  if (!outcome.ok()) return fail_tickets(outcome.status().message());
  if (Status status = publish(options.common, outcome->report); !status.ok()) return fail_tickets(status.message());
  if (!outcome->ok) fail_tickets(outcome->report.result.failure.empty() ? "the final rows are wrong" : outcome->report.result.failure);
}

}  // namespace

void add_tickets(Command bench) {
  auto options = std::make_shared<TicketsOptions>();
  Command command = bench.add("tickets", "Increments of one contended counter, each followed by many additions");
  command.footer(kTicketsHelp);
  command.option("--tail", options->tail, "Additions per transaction").in(1u, 100'000u).shows_default();
  command.option("--totals", options->totals, "Rows to which additions are made").in(uint64_t{1}, uint64_t{1} << 32).shows_default();
  add_common_options(command, options->common);
  command.runs([options] { run_tickets_command(*options); });
}

}  // namespace elider::bench
