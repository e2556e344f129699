// What instructions the library was compiled to use, and whether this processor has them. An engine that was compiled for
// another processor would end with SIGILL somewhere in a commit.
// Thread safety: pure functions; require_for_test() before any other thread.
#pragma once

#include <string>

namespace elider {

// The instruction sets beyond x86-64's own that the library was compiled to use and this processor has not, with commas; empty:
// it has all. Compiled for any x86-64 processor, whatever the rest is compiled for.
std::string missing_instruction_sets();

// For tests: as if the library had been compiled to use this one, too; null: no longer.
void require_for_test(const char* instruction_set);

}  // namespace elider
