// Functions of elider/processor.h that tests use to simulate another processor. Without the check,
// an engine that was compiled for another processor would end with SIGILL inside a commit. Thread
// safety: call them before other threads exist.
#pragma once

#include "elider/processor.h"

namespace elider {

// Simulates a library that was also compiled to use this instruction set. Null ends the simulation.
void require_for_test(const char* instruction_set);

}  // namespace elider
