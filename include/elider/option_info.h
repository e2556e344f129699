// OptionInfo: what is known of one option, a member of Options or of HeapOptions that a text can
// set: its type, range, unit and words. The tables of them: option_table.h, heap_option_table.h.
// Thread safety: constants.
#pragma once

#include "elider/language.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace elider {

struct OptionInfo {
  enum class Type : uint8_t {
    kNumber,
    kBytes,    // a number; its text may also be 64K, 512M or 2G, in powers of 1024
    kFlag,     // true or false
    kChoice,   // one of `choices`
    kFolders,  // paths, with commas between
  };
  std::string_view name;  // the member's: "memory_limit_bytes", "elision.window_runs"
  Type type = Type::kNumber;
  std::string_view unit = {};     // of numbers: "bytes", "us", "s", "threads", ...
  uint64_t min = 0, max = 0;      // of numbers
  std::string_view zero = {};     // what 0 means where it stands apart from the range: "no limit"; empty: it does not
  bool power_of_two = false;      // of numbers: nothing else
  bool automatic = false;         // of numbers: "automatic" is one, 2^64 - 1
  std::string_view choices = {};  // "automatic, optimistic, latched, ..."
  std::string_view words = {};    // what it does
};

// "1 to 4096", "0 (no limit) or at least 4M", "a power of two, 4K to 1G",
// "true, false": what it may be.
std::string range_text(const OptionInfo& option);

}  // namespace elider
