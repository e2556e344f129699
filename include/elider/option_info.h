// OptionInfo describes the type, range, unit and effect of an option. An option is a member of
// Options or HeapOptions that can be set from text. The tables are in option_table.h and
// heap_option_table.h.
// Thread safety: the descriptions are constants.
#pragma once

#include "elider/language.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace elider {

struct OptionInfo {
  enum class Type : uint8_t {
    kNumber,
    kBytes,    // a number; its text may also be 64K, 512M or 2G, where K is 1024
    kFlag,     // true or false
    kChoice,   // one of `choices`
    kFolders,  // paths separated by commas
  };
  std::string_view name;  // the name of the member: "memory_limit_bytes", "elision.window_runs"
  Type type = Type::kNumber;
  std::string_view unit = {};     // for numbers: "bytes", "us", "s", "threads", ...
  uint64_t min = 0, max = 0;      // for numbers
  std::string_view zero = {};     // what 0 means, such as "no limit", if 0 is allowed in addition to the range; otherwise empty
  bool power_of_two = false;      // for numbers: only powers of two are allowed
  bool automatic = false;         // for numbers: "automatic" is allowed, and is stored as 2^64 - 1
  std::string_view choices = {};  // "automatic, optimistic, latched, ..."
  std::string_view words = {};    // a sentence that describes the option
};

// Returns the allowed values as text: "1 to 4096", "0 (no limit) or at least 4M", "a power of two,
// 4K to 1G", "true, false".
std::string range_text(const OptionInfo& option);

}  // namespace elider
