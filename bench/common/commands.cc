#include "bench/common/commands.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include <CLI/CLI.hpp>

namespace elider::bench {

namespace {
int chosen_exit_code = 0;
}

void set_exit_code(int code) { chosen_exit_code = code; }
int exit_code() { return chosen_exit_code; }

int flush_output(int code) {
  std::cout.flush();
  const int refused = std::fflush(stdout) != 0 || !std::cout ? errno : 0;
  if (refused == 0 && std::ferror(stdout) == 0) return code;
  std::fprintf(stderr, "elider: the output cannot be written: %s\n", refused != 0 ? std::strerror(refused) : "some of it was refused");
  return code != 0 ? code : kExitFailed;
}

void refuse_option(const std::string& option, const std::string& why) { throw CLI::ValidationError(option, why); }

}  // namespace elider::bench
