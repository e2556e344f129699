// Rtm: a backend that runs regions with Intel's Restricted Transactional Memory (Intel SDM volume
// 1, "Programming with Intel TSX"; DBX, section 2).
//
// The instructions are written as bytes, so they do not require compiler flags, and the library
// runs on every x86-64 processor. On a processor that lacks them they raise SIGILL, so htm/detect.h
// must first have detected RTM. The backend exists only on x86-64. Thread safety: the same as for
// any backend.
#pragma once

#if defined(__x86_64__)
#define ELIDER_HAVE_RTM 1
#else
#define ELIDER_HAVE_RTM 0
#endif

#if ELIDER_HAVE_RTM

#include <cstdint>
#include <string_view>

#include "htm/backend.h"
#include "htm/status.h"

namespace elider::htm {

struct Rtm {
  static constexpr std::string_view kName = "rtm";
  static constexpr bool kRunsRegions = true;
  static constexpr bool kFetchesCode = true;

  // Executes XBEGIN with the next instruction as the abort target. XBEGIN itself does not change
  // EAX. An abort restores memory, and all registers except EAX, to their state at this
  // instruction, so the compiler can treat XBEGIN as an ordinary instruction that sets EAX.
  [[gnu::always_inline]] static unsigned begin() {
    unsigned status = kStarted;
    asm volatile(".byte 0xc7, 0xf8, 0x00, 0x00, 0x00, 0x00" : "+a"(status) : : "memory");
    return status;
  }
  [[gnu::always_inline]] static void commit() { asm volatile(".byte 0x0f, 0x01, 0xd5" : : : "memory"); }
  // Must be called in a region. Outside a region XABORT does nothing, and the trap ends the
  // process.
  template <uint8_t Code>
  [[gnu::always_inline]] static void abort() {
    asm volatile(".byte 0xc6, 0xf8, %c0" : : "i"(Code) : "memory");
    __builtin_trap();
  }
  // XTEST clears ZF in a region.
  [[gnu::always_inline]] static bool active() {
    bool inside;
    asm volatile(".byte 0x0f, 0x01, 0xd6" : "=@ccnz"(inside) : : "memory");
    return inside;
  }
};
static_assert(Backend<Rtm>);

}  // namespace elider::htm

#endif  // ELIDER_HAVE_RTM
