// Suspension: which accesses a region can temporarily exclude from its tracking (DUMBO, sections
// 2.1 and 5), and the backends that support this.
//
//   `kNone`   Nothing: Intel's RTM without extensions.
//   `kLoads`  After suspend_loads(), reads are not part of the region, but writes are (TSXLDTRK).
//             All earlier writes of the region are tracked before the first such read, so if
//             another thread accesses one of the written cache lines after that read, the region
//             aborts.
//   `kAll`    In addition, after suspend(), accesses take effect at once and remain even if the
//             region aborts. These accesses must not write to cache lines that the region has
//             accessed. If the region is aborted while tracking is suspended, the abort takes
//             effect in track() (POWER).
//
// track() resumes tracking, and must be called before the commit. Thread safety: called by the
// thread that runs the region.
#pragma once

#include <concepts>
#include <cstdint>

#include "htm/backend.h"
#include "htm/emulated.h"
#include "htm/rtm.h"

namespace elider::htm {

enum class Suspension : uint8_t { kNone, kLoads, kAll };

template <class B>
concept SuspendingBackend = Backend<B> && requires {
  { B::kSuspends } -> std::convertible_to<Suspension>;
};

struct AlwaysAbortsSuspending : AlwaysAborts {
  static constexpr Suspension kSuspends = Suspension::kNone;
};
static_assert(SuspendingBackend<AlwaysAbortsSuspending>);

#if ELIDER_HAVE_RTM
struct RtmAlone : Rtm {
  static constexpr Suspension kSuspends = Suspension::kNone;
};
static_assert(SuspendingBackend<RtmAlone>);

// Like those of Rtm, these instructions are written as bytes, F2 0F 01 E8 and E9. Without TSXLDTRK
// (CPUID leaf 7, EDX bit 16) they are undefined.
struct RtmLoads : Rtm {
  static constexpr Suspension kSuspends = Suspension::kLoads;
  // XSUSLDTRK is not a fence. Without a fence, the region's earlier stores could still be in the
  // store buffer, where other threads do not conflict with them.
  [[gnu::always_inline]] static void suspend_loads() {
    asm volatile("lock orl $0, (%%rsp)\n\t.byte 0xf2, 0x0f, 0x01, 0xe8" : : : "memory", "cc");
  }
  [[gnu::always_inline]] static void track() { asm volatile(".byte 0xf2, 0x0f, 0x01, 0xe9" : : : "memory"); }
};
static_assert(SuspendingBackend<RtmLoads>);
#endif

#if defined(ELIDER_EMULATOR)
extern "C" {
void elider_emulator_suspend(void);
void elider_emulator_suspend_loads(void);
void elider_emulator_track(void);
}

template <Suspension kWhat>
struct EmulatedSuspending : Emulated {
  static constexpr Suspension kSuspends = kWhat;
  static void suspend() { elider_emulator_suspend(); }
  static void suspend_loads() { elider_emulator_suspend_loads(); }
  static void track() { elider_emulator_track(); }
};
static_assert(SuspendingBackend<EmulatedSuspending<Suspension::kAll>>);
#endif

}  // namespace elider::htm
