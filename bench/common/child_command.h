// run_command() runs another program for a comparison, and returns its output or the reason why it
// failed.
//
// A shell runs the command in a separate process group with an empty standard input. The remaining
// processes of the group are killed when the shell ends, when the time limit is reached, or when
// this process receives SIGINT, SIGTERM or SIGHUP. In the last case, the signal is delivered to
// this process after the group has been killed.
// Thread safety: one call at a time. All other threads must have blocked these signals.
#pragma once

#include <string>

#include "elider/status.h"

namespace elider::bench {

struct CommandOptions {
  double seconds_max = 600;  // time limit for the command
  std::string variable;      // NAME=value, added to the command's environment; empty: none
};

// *output receives what the command wrote to standard output and standard error. If the command
// wrote more than 8 MiB, only the end of the output is kept (at least 4 MiB).
// *exit_code receives the exit code if the command exited by itself; the pointer may be null.
// kDeadline  the command did not end within the time limit
// kIoError   the command could not be started, was interrupted or killed by a signal, or exited
//            with a nonzero code; the message quotes the end of its output
Status run_command(const std::string& command, const CommandOptions& options, std::string* output, int* exit_code = nullptr);

}  // namespace elider::bench
