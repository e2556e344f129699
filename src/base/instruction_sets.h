// A test hook for missing_instruction_sets() (elider/processor.h), which Database::open() calls.
// Without this call, a library that was compiled for another processor could end the process with
// SIGILL in the middle of a commit. Thread safety: call the function before other threads exist.
#pragma once

#include "elider/processor.h"

namespace elider {

// Makes missing_instruction_sets() also report `instruction_set`, as if the library had been
// compiled for it and the processor lacked it. A null pointer ends the simulation.
void require_for_test(const char* instruction_set);

}  // namespace elider
