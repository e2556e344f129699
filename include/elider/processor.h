// Whether this processor can run the library. Database::open asks it; a program that is compiled
// for a certain processor itself may want to know before.
// Thread safety: all.
#pragma once

#include "elider/language.h"

#include <string>

namespace elider {

// The instruction sets that this library uses and this processor lacks, with commas; empty: it
// lacks none. The function itself runs on any x86-64 processor, whatever the rest was compiled for.
std::string missing_instruction_sets();

}  // namespace elider
