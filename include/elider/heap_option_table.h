// The table of a durable heap's options: the type, range, unit and description of each member of
// HeapOptions. Heap::open() checks its options against the table, and docs/options.md is generated
// from it. Programs that read options from texts can use the table.
//
// Thread safety: the table is constant; the functions are pure, except for their arguments.
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

// Sets an option from a text.
//   kInvalidArgument  the option does not exist, or the value is not allowed; the message names
//                     both, and `options` is unchanged
Status set_option(HeapOptions& options, std::string_view name, std::string_view text);
// Returns the option's value as a text that set_option() accepts, or "" if the option does not
// exist.
std::string option_text(const HeapOptions& options, std::string_view name);

// Checks that numbers and choices are in their ranges, and that options fit together. Heap::open()
// calls it first.
Status check_options(const HeapOptions& options);

}  // namespace elider
