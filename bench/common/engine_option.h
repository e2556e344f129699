// Options of the command line that set one of the database's: what they may be, what they do and
// how a wrong value is refused is for the table of options to say (elider/option_table.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "bench/common/commands.h"
#include "elider/option_table.h"

namespace elider::bench {

// --flag TYPE sets the option `name`: take(options) has it, and defaults else. `before`: words
// before the table's in --help, which ends with the default, `instead` of the table's where there
// are such.
Option add_engine_option(Command command, const char* flag, const char* type, std::string_view name,
                         std::function<void(const Options& options)> take, const std::string& before = {}, std::string_view instead = {});

}  // namespace elider::bench
