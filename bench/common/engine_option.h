// Declares options of the command line that set an option of the database. The valid values, the
// description and the error message of each come from the table of options (elider/option_table.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/common/commands.h"
#include "elider/option_table.h"

namespace elider::bench {

// --flag TYPE sets the database's option `name`. When the flag is parsed, take(options) is called.
// Its argument has the new value of `name` and the defaults of all other options. `before` is put
// before the description in --help. `instead`, unless it is empty, replaces the default value at
// the end of the description.
Option add_engine_option(Command command, const char* flag, const char* type, std::string_view name,
                         std::function<void(const Options& options)> take, const std::string& before = {}, std::string_view instead = {});
// --flag calls take(), which turns the option `name` off. If the option is off by default, take()
// turns it on.
void add_engine_flag(Command command, const char* flag, std::string_view name, std::function<void()> take);
// The valid values of an option that is a choice.
std::vector<std::string> choices_of(const OptionInfo& option);

}  // namespace elider::bench
