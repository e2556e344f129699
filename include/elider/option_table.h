// The table of options: the type, range, unit and description of each member of Options that can be
// set from text. Database::open checks its options against the table, and docs/options.md is
// generated from it. Programs that read options from text, such as the command-line tools, can also
// use the table. The table does not contain the schemas, the history sink and the progress
// function, because text cannot describe them. The laboratory's options have their own table
// (elider/laboratory.h).
//
// Thread safety: the table is constant, and the functions modify only their arguments.
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
// Finds an option of Options or of the laboratory by its name. Returns null if no option has this
// name.
const OptionInfo* find_option(std::string_view name);

// Sets an option of Options or of the laboratory to the value that `text` describes.
//   kInvalidArgument  the option does not exist, or the value is not allowed; the message names the
//                     option and the value, and `options` is unchanged
Status set_option(Options& options, std::string_view name, std::string_view text);
// Returns the option's value as a string that set_option() accepts, or "" if the option does not
// exist.
std::string option_text(const Options& options, std::string_view name);

// Checks that all values are in their ranges, and that the options can be used together.
// Database::open() calls it first.
Status check_options(const Options& options);

}  // namespace elider
