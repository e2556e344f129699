// The table of options: each member of Options that a text can set, with its type, range, unit and
// words. A database that opens checks its options by it; the command line, and whoever else takes
// options as texts, reads it; docs/options.md is printed from it. Not in it: what only a program
// can give (schemas, a history sink, a progress function).
//
// Thread safety: the table never changes; the functions are pure but for what they are given.
#pragma once

#include "elider/language.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "elider/options.h"
#include "elider/status.h"

namespace elider {

struct OptionInfo {
  enum class Type : uint8_t {
    kNumber,
    kBytes,    // a number; its text may also be 64K, 512M or 2G, in powers of 1024
    kFlag,     // true or false
    kChoice,   // one of `choices`
    kFolders,  // paths, with commas between
  };
  std::string_view name;         // the member's: "memory_limit_bytes", "elision.window_runs"
  Type type = Type::kNumber;
  std::string_view unit = {};    // of numbers: "bytes", "us", "s", "threads", ...
  uint64_t min = 0, max = 0;     // of numbers
  std::string_view zero = {};    // what 0 means where it stands apart from the range: "no limit"; empty: it does not
  bool power_of_two = false;     // of numbers: nothing else
  std::string_view choices = {}; // "automatic, optimistic, latched, ..."
  std::string_view words = {};   // what it does
};

std::span<const OptionInfo> option_table();
const OptionInfo* find_option(std::string_view name);  // null: there is none of this name

// Sets a member from a text. kInvalidArgument, and nothing is changed: there is no such option, or
// this is no value of it; the message names both.
Status set_option(Options& options, std::string_view name, std::string_view text);
// The text that set_option() takes for the value a member has; "" where there is no such option.
std::string option_text(const Options& options, std::string_view name);

// "1 to 4096", "0 (no limit) or at least 4M", "a power of two, 4K to 1G",
// "true, false": what it may be.
std::string range_text(const OptionInfo& option);

// Whether each number and choice is in its range, and which go together.
// Database::open() asks this first.
Status check_options(const Options& options);

}  // namespace elider
