#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace elider {

void check_failed(const char* condition, const char* words, const char* file, int line) {
  std::fprintf(stderr, "elider: %s (%s) at %s:%d\n", words, condition, file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace elider
