#include "tools/common/environment.h"

#include <fstream>
#include <sstream>

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifndef ELIDER_COMMIT
#define ELIDER_COMMIT "unknown"
#endif
#ifndef ELIDER_VERSION
#define ELIDER_VERSION "unversioned"
#endif

namespace elider::tools {

namespace {

// Returns the value of the first line "key<separator>value" of a kernel file, or "".
std::string value_in(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const size_t colon = line.find(':');
    const size_t begin = colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return {};
}

uint64_t kilobytes_in(const char* path, const std::string& key) {
  uint64_t kilobytes = 0;
  std::istringstream(value_in(path, key)) >> kilobytes;
  return kilobytes << 10;
}

// Returns the word in brackets, as in "always [madvise] never".
std::string chosen_in(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const size_t begin = line.find('[');
  const size_t end = line.find(']');
  return begin == std::string::npos || end == std::string::npos ? "unknown" : line.substr(begin + 1, end - begin - 1);
}

std::string build_kind() {
#ifdef NDEBUG
  std::string kind = "release";
#else
  std::string kind = "debug";
#endif
#ifdef __SANITIZE_ADDRESS__
  kind += "+asan";
#endif
#ifdef __SANITIZE_THREAD__
  kind += "+tsan";
#endif
  return kind;
}

uint32_t usable_cpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return static_cast<uint32_t>(CPU_COUNT(&allowed));
  return static_cast<uint32_t>(::sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace

Environment environment() {
  Environment result;
  result.commit = ELIDER_COMMIT;
#ifdef __clang__
  result.compiler = "clang " __clang_version__;
#else
  result.compiler = "gcc " __VERSION__;
#endif
  result.build = build_kind();
  result.cpu = value_in("/proc/cpuinfo", "model name");
  if (result.cpu.empty()) result.cpu = "unknown";
  result.cpus = usable_cpus();
  utsname system{};
  result.system = ::uname(&system) == 0 ? std::string(system.sysname) + " " + system.release : "unknown";
  result.huge_pages = chosen_in("/sys/kernel/mm/transparent_hugepage/enabled");
  result.memory_bytes = kilobytes_in("/proc/meminfo", "MemTotal");
  return result;
}

std::string machine_line() {
  const Environment machine = environment();
  return machine.cpu + ", " + std::to_string(machine.cpus) + " processors";
}

std::string version_line() {
  const Environment build = environment();
  return std::string("elider ") + ELIDER_VERSION + " (commit " + build.commit + ", " + build.compiler + ", " + build.build + ")";
}

uint64_t available_bytes() { return kilobytes_in("/proc/meminfo", "MemAvailable"); }

uint64_t resident_bytes() { return kilobytes_in("/proc/self/status", "VmRSS"); }
uint64_t resident_huge_bytes() { return kilobytes_in("/proc/self/smaps_rollup", "AnonHugePages"); }

}  // namespace elider::tools
