// run_command(): another program's run, for a comparison: what it wrote, or why it came to nothing.
//
// A shell runs the command in a process group of its own, with nothing to read. Whatever is left of
// the group goes when the shell ends, when the time is over, and when this process is interrupted
// (SIGINT, SIGTERM, SIGHUP), which then ends of that.
// Thread safety: one call at a time; the calling thread alone may be given these signals.
#pragma once

#include <string>

#include "elider/status.h"

namespace elider::bench {

struct CommandOptions {
  double seconds_max = 600;  // until it has ended
  std::string variable;      // NAME=value, added to its environment; empty: none
};

// *output: what it wrote to standard output and standard error, as it came; of much, the last
// megabytes. kDeadline: it did not end in time. kIoError: it could not be started, ended with
// another exit code than 0, or of a signal. The message has its last words.
// *exit_code, where it is not null: the one that it ended with, if it did.
Status run_command(const std::string& command, const CommandOptions& options, std::string* output, int* exit_code = nullptr);

}  // namespace elider::bench
