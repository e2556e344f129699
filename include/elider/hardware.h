// Hardware: what this machine says about hardware transactions, and what SyncPolicy::kAutomatic
// makes of it. docs/lab/hardware-transactions.md explains each line.
// Thread safety: all; it is found out once a process.
#pragma once

#include "elider/language.h"

#include <array>
#include <cstdint>
#include <string>

#include "elider/elision.h"
#include "elider/options.h"

namespace elider {

struct Hardware {
  // The processor, by CPUID; on others than x86-64 the vendor is empty and all bits are false.
  std::string vendor, name;
  uint32_t family = 0, model = 0, stepping = 0;
  bool rtm = false;                // leaf 7, EBX[11]: XBEGIN, XEND, XABORT, XTEST exist
  bool hle = false;                // leaf 7, EBX[4]: lock prefixes that elide; not used
  bool rtm_always_aborts = false;  // leaf 7, EDX[11]: they exist, and every region aborts
  bool tsx_force_abort = false;    // leaf 7, EDX[13]: a microcode with the mend for a memory order defect
  bool tsxldtrk = false;           // leaf 7, EDX[16]: loads may be left out of the read set; not used
  std::string defect;              // why this stepping is refused; empty: it is not

  // The kernel; empty where it says nothing.
  std::string tsx_async_abort;  // /sys/devices/system/cpu/vulnerabilities/tsx_async_abort
  std::string tsx_parameter;    // tsx=... and tsx_async_abort=... of the kernel's command line

  // About a thousand tiny regions; run only if the processor has RTM and
  // nothing above speaks against it.
  bool self_test_run = false;
  uint32_t self_test_regions = 0;
  uint32_t self_test_committed = 0;
  std::array<uint64_t, kRegionCauseCount> self_test_aborts{};

  bool usable = false;  // all of the above: with SyncPolicy::kElided, HtmBackend::kRtm is chosen
  std::string reason;   // why, or why not, in words
  SyncPolicy automatic = SyncPolicy::kOptimistic;
  std::string automatic_reason;                  // in words
  HtmBackend automatic_htm = HtmBackend::kNone;  // where kElided is asked for

  std::string to_text() const;  // lines for people
  std::string to_json() const;
};

const Hardware& hardware();

}  // namespace elider
