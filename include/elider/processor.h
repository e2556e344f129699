// Whether this processor can run the library. Database::open asks it; a program that is compiled for a certain processor itself
// may want to know before.
// Thread safety: all.
#pragma once

#include "elider/language.h"

#include <string>

namespace elider {

// The instruction sets beyond x86-64's own that the library was compiled to use and this processor has not, with commas; empty:
// it has all. Compiled for any x86-64 processor, whatever the rest is compiled for.
std::string missing_instruction_sets();

}  // namespace elider
