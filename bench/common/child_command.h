// run_command() runs another program for a comparison, and returns its output or the reason why it
// failed.
//
// A shell runs the command in a separate process group whose standard input is empty. The remaining
// processes of the group are killed when the shell ends, when the time limit is reached, or when
// this process receives SIGINT, SIGTERM or SIGHUP. In the last case this process then ends by the
// same signal.
// Thread safety: one call at a time. Only the calling thread may receive these signals.
#pragma once

#include <string>

#include "elider/status.h"

namespace elider::bench {

struct CommandOptions {
  double seconds_max = 600;  // time limit of the whole run
  std::string variable;      // NAME=value, added to the command's environment; empty: none
};

// *output receives what the command wrote to standard output and standard error. If the output is
// long, only its last megabytes are kept.
// *exit_code receives the exit code, unless the pointer is null or the command was ended by a
// signal.
// kDeadline  the command did not end within the time limit
// kIoError   the command could not be started, or a signal ended it, or its exit code was not 0;
//            the message quotes the end of its output
Status run_command(const std::string& command, const CommandOptions& options, std::string* output, int* exit_code = nullptr);

}  // namespace elider::bench
