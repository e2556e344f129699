#include "bench/common/commands.h"

#include <CLI/CLI.hpp>

namespace elider::bench {

namespace {
int chosen_exit_code = 0;
}

void set_exit_code(int code) { chosen_exit_code = code; }
int exit_code() { return chosen_exit_code; }

void refuse_option(const std::string& option, const std::string& why) { throw CLI::ValidationError(option, why); }

}  // namespace elider::bench
