// elider/processor.h for tests, which run on a processor that has all instruction sets. Without the
// check, an engine that was compiled for another processor would end with SIGILL inside a commit.
// Thread safety: call it before other threads exist.
#pragma once

#include "elider/processor.h"

namespace elider {

// Tests pretend that the library was also compiled to use this instruction set; null ends that.
void require_for_test(const char* instruction_set);

}  // namespace elider
