// This file is compiled for any x86-64 processor, and its check runs before all other constructors.
// If the program was compiled for a newer processor, the check prints what this processor lacks and
// ends the program, which would otherwise be killed by SIGILL at some point.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "elider/processor.h"

namespace {

[[gnu::constructor(101)]] void check_processor() {
  const std::string missing = elider::missing_instruction_sets();
  if (missing.empty()) return;
  std::fprintf(stderr, "elider: this program was compiled for another processor; this one lacks %s\n", missing.c_str());
  std::_Exit(1);
}

}  // namespace
