// Environment: describes the machine and the build that produced a measurement. Values that cannot
// be determined are "unknown". Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

namespace elider::tools {

struct Environment {
  std::string commit;        // the source's commit when CMake ran; ends with "-dirty" if there were uncommitted changes
  std::string compiler;
  std::string build;         // "release" or "debug" (with assertions), and sanitizers
  std::string cpu;           // the processor's name
  uint32_t cpus = 0;         // number of processors that this process may use
  std::string system;        // kernel name and release
  std::string huge_pages;    // transparent huge pages: "always", "madvise" or "never"
  uint64_t memory_bytes = 0; // the machine's memory
};
// Returns how much memory programs can allocate before the system must swap, or 0 if the system
// does not report this.
uint64_t available_bytes();

Environment environment();
// Returns "<processor's name>, <n> processors".
std::string machine_line();
// Returns the output of --version.
std::string version_line();

// Returns the resident memory of this process, or 0 if the system does not report it.
uint64_t resident_bytes();
// Returns how much of the resident memory is in transparent huge pages.
uint64_t resident_huge_bytes();

}  // namespace elider::tools
