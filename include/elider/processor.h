// Checks whether this processor can run the library. Database::open makes the same check.
// Thread safety: may be called from any thread.
#pragma once

#include "elider/language.h"

#include <string>

namespace elider {

// Returns the instruction sets that the library needs and this processor lacks, separated by
// commas, or an empty string. The function itself runs on any x86-64 processor.
std::string missing_instruction_sets();

}  // namespace elider
