// Suspension: what a region can take out of its tracking for a while (DUMBO, sections 2.1 and 5),
// and the backends that say what theirs can.
//
//   kNone   nothing: Intel's RTM by itself
//   kLoads  suspend_loads(): reads are no longer part of the region; writes are (TSXLDTRK). What
//           the region has written by then is its own before the first such read: others who look
//           after it abort it
//   kAll    suspend_loads(); and suspend(): accesses happen at once and stay, whatever becomes of
//           the region. What it has accessed they must not write. An abort meanwhile is met in
//           track() (POWER)
//
// track() takes tracking up again, which must come before the commit.
// Thread safety: a region's thread's.
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

// Written as bytes, too: F2 0F 01 E8 and E9. Undefined instructions without TSXLDTRK (CPUID leaf 7,
// EDX bit 16).
struct RtmLoads : Rtm {
  static constexpr Suspension kSuspends = Suspension::kLoads;
  // XSUSLDTRK is no fence: earlier stores could still stand in the store buffer, and conflict with
  // nobody.
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
