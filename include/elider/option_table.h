// The table of options: each member of Options that a text can set, with its type, range, unit and
// words. A database that opens checks its options by it; the command line, and whoever else takes
// options as texts, reads it; docs/options.md is printed from it. Not in it: what only a program
// can give (schemas, a history sink, a progress function).
//
// Thread safety: the table never changes; the functions are pure but for what they are given.
#pragma once

#include "elider/language.h"

#include <span>
#include <string>
#include <string_view>

#include "elider/option_info.h"
#include "elider/options.h"
#include "elider/status.h"

namespace elider {

std::span<const OptionInfo> option_table();
const OptionInfo* find_option(std::string_view name);  // null: there is none of this name

// Sets a member from a text. kInvalidArgument, and nothing is changed: there is no such option, or
// this is no value of it; the message names both.
Status set_option(Options& options, std::string_view name, std::string_view text);
// The text that set_option() takes for the value a member has; "" where there is no such option.
std::string option_text(const Options& options, std::string_view name);

// Whether each number and choice is in its range, and which go together.
// Database::open() asks this first.
Status check_options(const Options& options);

}  // namespace elider
