#include "htm/detect.h"

#include <csetjmp>
#include <csignal>
#include <cstring>
#include <fstream>
#include <mutex>

#include "htm/rtm.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace elider::htm {

namespace {

std::string first_line_of(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Returns the words of the kernel's command line that relate to TSX.
std::string tsx_words_of(const std::string& command_line) {
  std::string found;
  size_t begin = 0;
  while (begin < command_line.size()) {
    size_t end = command_line.find(' ', begin);
    if (end == std::string::npos) end = command_line.size();
    const std::string word = command_line.substr(begin, end - begin);
    if (word.compare(0, 4, "tsx=") == 0 || word.compare(0, 16, "tsx_async_abort=") == 0) found += (found.empty() ? "" : " ") + word;
    begin = end + 1;
  }
  return found;
}

#if defined(__x86_64__)

void append_register(std::string& text, unsigned value) {
  char bytes[4];
  std::memcpy(bytes, &value, 4);
  text.append(bytes, 4);
}

void ask_processor(Hardware& found) {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(0, &eax, &ebx, &ecx, &edx) == 0) return;
  append_register(found.vendor, ebx);
  append_register(found.vendor, edx);
  append_register(found.vendor, ecx);
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0) {
    found.family = (eax >> 8) & 0xf;
    found.model = (eax >> 4) & 0xf;
    found.stepping = eax & 0xf;
    if (found.family == 6 || found.family == 15) found.model += (eax >> 12) & 0xf0;
    if (found.family == 15) found.family += (eax >> 20) & 0xff;
  }
  for (unsigned leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
    if (__get_cpuid(leaf, &eax, &ebx, &ecx, &edx) == 0) break;
    for (unsigned value : {eax, ebx, ecx, edx}) append_register(found.name, value);
  }
  found.name.resize(std::strlen(found.name.c_str()));
  const size_t last = found.name.find_last_not_of(' ');
  found.name.resize(last == std::string::npos ? 0 : last + 1);
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) {
    found.hle = (ebx >> 4 & 1) != 0;
    found.rtm = (ebx >> 11 & 1) != 0;
    found.rtm_always_aborts = (edx >> 11 & 1) != 0;
    found.tsx_force_abort = (edx >> 13 & 1) != 0;
    found.tsxldtrk = (edx >> 16 & 1) != 0;
  }
}

void try_xbegin() {
  if (Rtm::begin() == kStarted) Rtm::commit();
}

#else
void ask_processor(Hardware&) {}
#endif

// Set while the thread tries an instruction: the place to which the SIGILL handler jumps. Otherwise
// null.
thread_local sigjmp_buf* way_back = nullptr;
struct sigaction action_before {};  // the process's action for SIGILL before an instruction was tried

void take_sigill(int signal, siginfo_t* what, void* context) {
  if (way_back != nullptr) siglongjmp(*way_back, 1);
  if ((action_before.sa_flags & SA_SIGINFO) != 0) return action_before.sa_sigaction(signal, what, context);
  if (action_before.sa_handler != SIG_DFL && action_before.sa_handler != SIG_IGN) return action_before.sa_handler(signal);
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // takes effect when this handler returns
}

Hardware find_out() {
  Hardware found;
  ask_processor(found);
  found.tsx_async_abort = first_line_of("/sys/devices/system/cpu/vulnerabilities/tsx_async_abort");
  found.tsx_parameter = tsx_words_of(first_line_of("/proc/cmdline"));
  found.defect = known_defect(found.vendor, found.family, found.model, found.stepping, found.tsx_force_abort);
  if (!found.rtm) {
    found.reason = found.vendor.empty() ? "this is not an x86-64 processor"
                                        : "the processor does not have RTM, or it is disabled (CPUID leaf 7, EBX bit 11)";
  } else if (found.rtm_always_aborts) {
    found.reason = "the processor aborts every region (CPUID leaf 7, EDX bit 11)";
  } else if (!found.defect.empty()) {
    found.reason = "this processor has a known defect: " + found.defect;
  } else {
#if ELIDER_HAVE_RTM
    found.usable = self_test<Rtm>(found);
#endif
    found.reason = std::to_string(found.self_test_committed) + " of " + std::to_string(found.self_test_regions) +
                   " regions of the self-test committed";
  }
  return found;
}

}  // namespace

// Returns the known defect of a processor, or "". RTM of Haswell and early Broadwell can corrupt
// memory (errata HSD136, HSE44, HSM142, HSW136 and BDM53). Haswell-EX is correct from stepping 4
// on. On Skylake, its client successors and Skylake-SP, regions can violate the order of other
// processors' stores, unless microcode reports a fix (CPUID leaf 7, EDX bit 13).
std::string known_defect(const std::string& vendor, uint32_t family, uint32_t model, uint32_t stepping, bool fixed_by_microcode) {
  if (vendor != "GenuineIntel" || family != 6) return {};
  switch (model) {
    case 0x3c:
    case 0x45:
    case 0x46: return "hardware transactions can corrupt memory on Haswell";
    case 0x3f: return stepping >= 4 ? std::string() : "hardware transactions can corrupt memory on Haswell-EP";
    case 0x3d: return stepping > 4 ? std::string() : "hardware transactions can corrupt memory on early Broadwell";
    case 0x55:
      if (stepping > 5) return {};
      break;
    case 0x8e:
    case 0x9e:
      if (stepping > 0xc) return {};
      break;
    case 0x4e:
    case 0x5e: break;
    default: return {};
  }
  return fixed_by_microcode ? std::string() : "hardware transactions can violate the memory order, and the microcode does not report a fix";
}

const Hardware& detect() {
  static const Hardware found = find_out();
  return found;
}

bool runs_without_sigill(void (*instruction)()) {
  static std::mutex mutex;  // only one thread at a time may change the signal's action
  const std::lock_guard lock(mutex);
  struct sigaction ours {};
  ours.sa_sigaction = take_sigill;
  ours.sa_flags = SA_SIGINFO;
  sigemptyset(&ours.sa_mask);
  ::sigaction(SIGILL, nullptr, &action_before);  // before the handler is installed, because it reads this
  if (::sigaction(SIGILL, &ours, nullptr) != 0) return false;
  sigjmp_buf place;
  volatile bool exists = false;
  if (sigsetjmp(place, 1) == 0) {
    way_back = &place;
    instruction();
    exists = true;
  }
  way_back = nullptr;
  ::sigaction(SIGILL, &action_before, nullptr);
  return exists;
}

bool rtm_instructions_exist() {
#if defined(__x86_64__)
  static const bool exist = detect().rtm || runs_without_sigill(try_xbegin);
  return exist;
#else
  return false;
#endif
}

}  // namespace elider::htm
