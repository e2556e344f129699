// Options of the command line that set one of the database's: what they may be, what they do and
// how a wrong value is refused is for the table of options to say (elider/option_table.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/common/commands.h"
#include "elider/option_table.h"

namespace elider::bench {

// --flag TYPE sets the option `name`: take(options) has it, and defaults else. `before`: words
// before the table's in --help, which ends with the default, `instead` of the table's where there
// are such.
Option add_engine_option(Command command, const char* flag, const char* type, std::string_view name,
                         std::function<void(const Options& options)> take, const std::string& before = {}, std::string_view instead = {});
// --flag turns the option `name` of the table off, or on where it is off by default: take() does
// it.
void add_engine_flag(Command command, const char* flag, std::string_view name, std::function<void()> take);
// The values of an option that is a choice.
std::vector<std::string> choices_of(const OptionInfo& option);

}  // namespace elider::bench
