// The table of a durable heap's options: each member of HeapOptions, with its type, range, unit and
// words. Heap::open() checks its options by it, programs that take options as texts read it, and
// docs/options.md is printed from it.
//
// Thread safety: the table never changes; the functions are pure but for what they are given.
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

// Sets a member from a text. kInvalidArgument, and nothing is changed: there is no such option, or
// this is no value of it; the message names both.
Status set_option(HeapOptions& options, std::string_view name, std::string_view text);
// The text that set_option() takes for the value a member has; "" where there is no such option.
std::string option_text(const HeapOptions& options, std::string_view name);

// Whether each number and choice is in its range, and which go together. Heap::open() asks this
// first.
Status check_options(const HeapOptions& options);

}  // namespace elider
