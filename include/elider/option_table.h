// The table of options: the type, range, unit and description of each member of Options that can be
// set from a text. Database::open checks its options against the table, and docs/options.md is
// generated from it. The command line and other programs that read options from texts can use the
// table. The table leaves out schemas, the history sink and the progress function, which only a
// program can provide. The laboratory's options have a table of their own (elider/laboratory.h).
//
// Thread safety: the table is constant; the functions are pure, except for their arguments.
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
// Finds an option, also one of the laboratory. Returns null if the option does not exist.
const OptionInfo* find_option(std::string_view name);

// Sets an option, or one of the laboratory, from a text.
//   kInvalidArgument  the option does not exist, or the value is not allowed; the message names
//                     both, and `options` is unchanged
Status set_option(Options& options, std::string_view name, std::string_view text);
// Returns the option's value as a text that set_option() accepts, or "" if the option does not
// exist.
std::string option_text(const Options& options, std::string_view name);

// Checks that numbers and choices are in their ranges, and that options fit together.
// Database::open() calls it first.
Status check_options(const Options& options);

}  // namespace elider
