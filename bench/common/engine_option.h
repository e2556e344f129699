// Declares command-line options that set a database option. The valid values, the description and
// the error message of each option come from the option table (elider/option_table.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/common/commands.h"
#include "elider/option_table.h"

namespace elider::bench {

// Declares the command-line option `flag`, which sets the database option `name`. When the parser
// finds `flag`, it calls take(options), where `options` has the parsed value of `name` and the
// defaults of all other options. --help shows `before` in front of the description. If `instead` is
// not empty, --help shows it in place of the default value.
Option add_engine_option(Command command, const char* flag, const char* type, std::string_view name,
                         std::function<void(const Options& options)> take, const std::string& before = {}, std::string_view instead = {});
// Declares `flag`, which calls take(). take() must set the boolean database option `name` to the
// opposite of its default.
void add_engine_flag(Command command, const char* flag, std::string_view name, std::function<void()> take);
// Returns the valid values of an option that is a choice (OptionInfo::Type::kChoice).
std::vector<std::string> choices_of(const OptionInfo& option);

}  // namespace elider::bench
