// Environment: the machine and the build that a figure belongs to. What cannot be found out is
// "unknown", never an error. Thread safety: pure reads.
#pragma once

#include <cstdint>
#include <string>

namespace elider::tools {

struct Environment {
  std::string commit;        // of the source, when it was configured; "+" at its end: with changes
  std::string compiler;
  std::string build;         // "release" or "debug" (assertions on), and sanitizers
  std::string cpu;           // the processor's name
  uint32_t cpus = 0;         // processors that this process may use
  std::string system;        // kernel name and release
  std::string huge_pages;    // transparent huge pages: "always", "madvise" or "never"
  uint64_t memory_bytes = 0; // of the machine
};
// Memory that programs may still take without others being pushed out; 0
// where the system does not say.
uint64_t available_bytes();

Environment environment();
// Whom a figure is by: "<processor's name>, <n> processors".
std::string machine_line();
// What --version prints.
std::string version_line();

// Resident memory of this process, now; 0 where the system does not say.
uint64_t resident_bytes();
// The part of it that lies in transparent huge pages.
uint64_t resident_huge_bytes();

}  // namespace elider::tools
