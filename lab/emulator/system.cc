#include "lab/emulator/system.h"

#include <stdlib.h>
#include <sys/mman.h>

#include <cstdarg>
#include <cstdio>

namespace elider::emulator {

void* map_memory(size_t bytes) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  const long address = raw_syscall(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (address < 0 && address > -4096) die("cannot get %zu bytes of memory", bytes);
  return reinterpret_cast<void*>(address);
}

void die(const char* format, ...) {
  char words[512];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(words, sizeof(words), format, arguments);
  va_end(arguments);
  char line[600];
  const int bytes = snprintf(line, sizeof(line), "elider emulator: %.*s\n", length, words);
  raw_syscall(SYS_write, 2, reinterpret_cast<long>(line), bytes);
  abort();
}

}  // namespace elider::emulator
