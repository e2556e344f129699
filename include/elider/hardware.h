// Hardware: what this machine reports about hardware transactions, and what SyncPolicy::kAutomatic
// chooses. docs/lab/hardware-transactions.md explains the values.
// Thread safety: all functions may be called from any thread. Detection runs once per process.
#pragma once

#include "elider/language.h"

#include <array>
#include <cstdint>
#include <string>

#include "elider/elision.h"
#include "elider/options.h"

namespace elider {

struct Hardware {
  // The processor, according to CPUID. If it is not an x86-64 processor, `vendor` is empty and all
  // bits are false.
  std::string vendor, name;
  uint32_t family = 0, model = 0, stepping = 0;
  bool rtm = false;                // leaf 7, EBX[11]: XBEGIN, XEND, XABORT and XTEST exist
  bool hle = false;                // leaf 7, EBX[4]: the lock elision prefixes XACQUIRE and XRELEASE exist; not used
  bool rtm_always_aborts = false;  // leaf 7, EDX[11]: the instructions exist, but every region aborts
  bool tsx_force_abort = false;    // leaf 7, EDX[13]: the microcode fixes a memory-ordering defect
  bool tsxldtrk = false;           // leaf 7, EDX[16]: the tracking of loads can be suspended; the durable heap uses this
  std::string defect;              // the known defect for which this processor is refused; empty if none

  // The kernel's settings; empty if the kernel does not report them.
  std::string tsx_async_abort;  // /sys/devices/system/cpu/vulnerabilities/tsx_async_abort
  std::string tsx_parameter;    // tsx=... and tsx_async_abort=... of the kernel's command line

  // A self-test of about a thousand tiny regions. It runs only if the processor has RTM and the
  // values above do not rule it out.
  bool self_test_run = false;
  uint32_t self_test_regions = 0;
  uint32_t self_test_committed = 0;
  std::array<uint64_t, kRegionCauseCount> self_test_aborts{};

  bool usable = false;  // RTM works: SyncPolicy::kElided uses HtmBackend::kRtm by default
  std::string reason;   // why RTM is usable or not, in words
  SyncPolicy automatic = SyncPolicy::kOptimistic;
  std::string automatic_reason;                  // why `automatic` was chosen, in words
  HtmBackend automatic_htm = HtmBackend::kNone;  // the default backend for kElided

  std::string to_text() const;  // several lines of readable text
  std::string to_json() const;
};

const Hardware& hardware();

}  // namespace elider
