// The table of a durable heap's options: the type, range, unit and description of each member of
// HeapOptions. Heap::open() checks its options against the table, and docs/options.md is generated
// from it. Programs that read options from text can also use the table.
//
// Thread safety: the table is constant, and the functions modify only their arguments.
#pragma once

#include "elider/language.h"

#include <span>
#include <string>
#include <string_view>

#include "elider/heap.h"
#include "elider/option_info.h"
#include "elider/status.h"

namespace elider {

std::span<const OptionInfo> heap_option_table();

// Sets an option to the value that `text` describes.
//   kInvalidArgument  the option does not exist, or the value is not allowed; the message names the
//                     option and the value, and `options` is unchanged
Status set_option(HeapOptions& options, std::string_view name, std::string_view text);
// Returns the option's value as a string that set_option() accepts, or "" if the option does not
// exist.
std::string option_text(const HeapOptions& options, std::string_view name);

// Checks that all values are in their ranges, and that the options can be used together.
// Heap::open() calls it first.
Status check_options(const HeapOptions& options);

}  // namespace elider
