// Environment: the machine and the build of a measurement. Values that cannot be determined are
// "unknown". Thread safety: pure reads.
#pragma once

#include <cstdint>
#include <string>

namespace elider::tools {

struct Environment {
  std::string commit;        // of the source at configuration time; ends with "+" if it had changes
  std::string compiler;
  std::string build;         // "release" or "debug" (with assertions), and sanitizers
  std::string cpu;           // the processor's name
  uint32_t cpus = 0;         // number of processors that this process may use
  std::string system;        // kernel name and release
  std::string huge_pages;    // transparent huge pages: "always", "madvise" or "never"
  uint64_t memory_bytes = 0; // of the machine
};
// Memory that programs can allocate without making the system evict other memory; 0 if the system
// does not report it.
uint64_t available_bytes();

Environment environment();
// Such as "<processor's name>, <n> processors".
std::string machine_line();
// The output of --version.
std::string version_line();

// Current resident memory of this process; 0 if the system does not report it.
uint64_t resident_bytes();
// The part of the resident memory that is in transparent huge pages.
uint64_t resident_huge_bytes();

}  // namespace elider::tools
