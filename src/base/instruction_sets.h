// elider/processor.h for tests, which have a processor that has all. An engine that was compiled
// for another one would end with SIGILL somewhere in a commit.
// Thread safety: before any other thread.
#pragma once

#include "elider/processor.h"

namespace elider {

// For tests: as if the library had been compiled to use this one, too; null: no longer.
void require_for_test(const char* instruction_set);

}  // namespace elider
